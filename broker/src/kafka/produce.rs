//! `Produce`: batches to the leaders of their partitions.
//!
//! Opens no batch: what is in one is checked where it is appended.

use std::time::Duration;

use futures::future::join_all;
use kafka_wire::messages::produce::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceData,
    PartitionProduceResponse, Request, Response, TopicProduceResponse,
};
use kafka_wire::{ErrorCode, Records, Str, Versions};
use machine::metadata::image::Image;
use model::batch::Header;
use model::{BrokerId, TopicPartition};

use super::dispatch::{Answer, Call, Serve};
use super::{Front, directory, error_code};
use crate::partition::{Acks, Append, AppendError, Appended, Origin};

/// First version whose answer to a wrong broker names the right one (KIP-951).
const LEADER_HINTS_FROM: i16 = 10;
const TOPIC_IDS_FROM: i16 = 13;
/// First version whose clients are expected to read zstd (KIP-110), and its codec.
const ZSTD_FROM: i16 = 7;
const ZSTD: u8 = 4;

impl Serve for Request {
    /// Versions 0 to 2 are offered and not served, as Kafka does it: librdkafka takes compression
    /// for granted only where it sees version 0.
    const OFFERED: Versions = Versions::new(0, 13);
    const CONCURRENT: bool = true;

    async fn serve(self, call: Call) -> Answer<Response> {
        let acks = match self.acks {
            0 => Ok(Acks::None),
            1 => Ok(Acks::Leader),
            -1 => Ok(Acks::All),
            _ => Err(Failed::code(ErrorCode::InvalidRequiredAcks)),
        };
        // Transactions are not offered, so nobody can have begun one.
        let refused = match &self.transactional_id {
            Some(_) => Err(Failed::code(ErrorCode::TransactionalIdAuthorizationFailed)),
            None => Ok(()),
        };
        let terms = refused.and(acks).map(|acks| Terms {
            acks,
            timeout: Duration::from_millis(u64::try_from(self.timeout_ms).unwrap_or_default()),
            version: call.version,
        });
        let image = call.front.metadata.image();
        // All appends are handed over before the first is waited for: that keeps the order of a
        // pipelining client, and lets the partitions work side by side.
        let topics = self.topic_data.into_iter().map(|topic| {
            let known = directory::topic(&image, &topic.name, topic.topic_id).map(|known| known.id);
            let unknown = match call.version {
                TOPIC_IDS_FROM.. => ErrorCode::UnknownTopicId,
                _ => ErrorCode::UnknownTopicOrPartition,
            };
            let topic_id = known.ok_or_else(|| Failed::code(unknown));
            let partitions = topic.partition_data.into_iter().map(|partition| {
                let target = topic_id.clone().map(|topic| TopicPartition {
                    topic,
                    partition: partition.index,
                });
                append(&call.front, &image, terms.clone(), target, partition)
            });
            let partitions = join_all(partitions);
            async move {
                TopicProduceResponse {
                    name: topic.name,
                    topic_id: topic.topic_id,
                    partition_responses: partitions.await,
                }
            }
        });
        let responses = join_all(topics).await;
        if self.acks == 0 {
            let failed = responses
                .iter()
                .flat_map(|topic| &topic.partition_responses)
                .any(|partition| partition.error_code != ErrorCode::None.code());
            return if failed {
                Answer::Close
            } else {
                Answer::Silent
            };
        }
        let node_endpoints = endpoints(&call.front.metadata.image(), &responses);
        let elsewhere = responses
            .iter()
            .flat_map(|topic| &topic.partition_responses)
            .any(|partition| partition.error_code == ErrorCode::NotLeaderOrFollower.code());
        let response = Response {
            responses,
            node_endpoints,
            ..Response::default()
        };
        // A client asks for the leader where it sent most of late: here, and this broker would name itself.
        if elsewhere && !call.front.metadata.contact().is_informed() {
            return Answer::Last(response);
        }
        response.into()
    }
}

/// What holds for every partition of a request.
#[derive(Clone)]
struct Terms {
    acks: Acks,
    timeout: Duration,
    version: i16,
}

/// Why nothing was appended to one partition.
#[derive(Clone)]
struct Failed {
    code: ErrorCode,
    message: Option<String>,
    /// Records of the batch that are at fault.
    records: Vec<i32>,
    /// Tell where the log starts, as Kafka does of what came as far as the log.
    at_log: bool,
    leader: Option<LeaderIdAndEpoch>,
}

impl Failed {
    fn code(code: ErrorCode) -> Self {
        Self {
            code,
            message: None,
            records: Vec::new(),
            at_log: false,
            leader: None,
        }
    }

    fn invalid_record(message: &str) -> Self {
        Self {
            message: Some(message.to_owned()),
            ..Self::code(ErrorCode::InvalidRecord)
        }
    }
}

impl From<AppendError> for Failed {
    fn from(error: AppendError) -> Self {
        let records = match &error {
            AppendError::InvalidRecord { indexes, .. }
            | AppendError::InvalidTimestamp { indexes, .. }
            | AppendError::DeliveryTooFar { indexes, .. } => indexes.clone(),
            _ => Vec::new(),
        };
        let at_log = !matches!(
            error,
            AppendError::NotLeader { .. }
                | AppendError::CutOff
                | AppendError::Stopping
                | AppendError::NotOneBatch(_)
                | AppendError::CorruptMessage
                | AppendError::MessageTooLarge { .. }
                | AppendError::RecordListTooLarge { .. }
                | AppendError::Storage(_)
        );
        Self {
            records,
            at_log,
            message: Some(error.to_string()),
            ..Self::code(error_code::append(&error))
        }
    }
}

async fn append(
    front: &Front,
    image: &Image,
    terms: Result<Terms, Failed>,
    target: Result<TopicPartition, Failed>,
    partition: PartitionProduceData,
) -> PartitionProduceResponse {
    let version = terms.as_ref().ok().map(|terms| terms.version);
    let appended = match (terms, &target) {
        (Err(failed), _) => Err(failed),
        (_, Err(failed)) => Err(failed.clone()),
        (Ok(terms), Ok(target)) => {
            append_to(front, image, &terms, *target, partition.records).await
        }
    };
    match appended {
        Ok(appended) => PartitionProduceResponse {
            index: partition.index,
            error_code: ErrorCode::None.code(),
            base_offset: appended.base_offset.0,
            log_append_time_ms: appended.log_append_time.unwrap_or(-1),
            log_start_offset: appended.log_start.0,
            ..PartitionProduceResponse::default()
        },
        Err(failed) => {
            let hints = version.is_some_and(|version| version >= LEADER_HINTS_FROM);
            failure(front, &target, partition.index, failed, hints)
        }
    }
}

async fn append_to(
    front: &Front,
    image: &Image,
    terms: &Terms,
    target: TopicPartition,
    records: Option<Records>,
) -> Result<Appended, Failed> {
    let known = image
        .topics
        .get(&target.topic)
        .and_then(|topic| directory::partition(topic, target.partition));
    let Some(known) = known else {
        return Err(Failed::code(ErrorCode::UnknownTopicOrPartition));
    };
    let Some(records) = records else {
        return Err(Failed::invalid_record("records are null"));
    };
    let records = records.into_bytes();
    check_offered(&records, terms.version)?;
    let Some(replica) = front.roster.get(target) else {
        return Err(Failed {
            leader: hint(known.leader, known.leader_epoch.0),
            ..Failed::code(ErrorCode::NotLeaderOrFollower)
        });
    };
    let append = Append {
        batches: records,
        acks: terms.acks,
        timeout: terms.timeout,
        origin: Origin::Client,
    };
    replica.append(append).await.map_err(|error| {
        let leader = match &error {
            AppendError::NotLeader { leader, epoch } => hint(*leader, epoch.0),
            _ => None,
        };
        Failed {
            leader,
            ..Failed::from(error)
        }
    })
}

/// What this request must not bring, whatever the topic allows. Bytes that are no batch are the log's to refuse.
fn check_offered(records: &[u8], version: i16) -> Result<(), Failed> {
    let Ok(header) = Header::parse(records) else {
        return Ok(());
    };
    if header.is_transactional() {
        return Err(Failed::code(ErrorCode::TransactionalIdAuthorizationFailed));
    }
    if header.compression() == ZSTD && version < ZSTD_FROM {
        return Err(Failed::code(ErrorCode::UnsupportedCompressionType));
    }
    Ok(())
}

fn hint(leader: Option<BrokerId>, leader_epoch: i32) -> Option<LeaderIdAndEpoch> {
    let leader = leader?;
    Some(LeaderIdAndEpoch {
        leader_id: leader.0,
        leader_epoch,
    })
}

fn failure(
    front: &Front,
    target: &Result<TopicPartition, Failed>,
    index: i32,
    failed: Failed,
    hints: bool,
) -> PartitionProduceResponse {
    let message = failed.message.map(Str::from);
    let record_errors = failed
        .records
        .iter()
        .map(|record| BatchIndexAndErrorMessage {
            batch_index: *record,
            batch_index_error_message: message.clone(),
        });
    let log_start_offset = match target {
        Ok(target) if failed.at_log => front
            .roster
            .get(*target)
            .map_or(-1, |replica| replica.status().log_start.0),
        _ => -1,
    };
    PartitionProduceResponse {
        index,
        error_code: failed.code.code(),
        base_offset: -1,
        log_append_time_ms: -1,
        log_start_offset,
        record_errors: record_errors.collect(),
        error_message: message,
        current_leader: failed.leader.filter(|_| hints).unwrap_or_default(),
    }
}

/// Addresses of the leaders that the response names.
fn endpoints(image: &Image, responses: &[TopicProduceResponse]) -> Vec<NodeEndpoint> {
    let leaders = responses
        .iter()
        .flat_map(|topic| &topic.partition_responses)
        .map(|partition| partition.current_leader.leader_id);
    directory::reachable_of(image, leaders)
        .map(|(broker, endpoint)| NodeEndpoint {
            node_id: broker.id.0,
            host: Str::from(endpoint.host.as_str()),
            port: i32::from(endpoint.port),
            rack: directory::rack(broker),
        })
        .collect()
}
