//! `Fetch`: batches from the leaders of their partitions, at once or when there are enough.
//!
//! Copies nothing: what the log hands out goes to the socket as it is.

mod nearby;
mod poll;
mod session;

use kafka_wire::messages::fetch::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData, Request,
    Response,
};
use kafka_wire::{ErrorCode, Records, Str, Versions};
use machine::metadata::image::Image;
use model::{BrokerId, Epoch};
use std::time::Duration;
use tokio::time::Instant;

use self::nearby::Nearby;
use self::poll::{Terms, Watched};
use self::session::{Key, Told};
use super::directory;
use super::dispatch::{Answer, Call, Serve};
use crate::partition::{Limit, ReadData};

pub(super) use self::session::Sessions;

const READ_COMMITTED: i8 = 1;
/// The client reads where it is.
const NOWHERE_ELSE: i32 = -1;
/// First version whose answer to a wrong broker names the right one, and first that gives its address.
const LEADERS_FROM: i16 = 12;
const ENDPOINTS_FROM: i16 = 16;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(4, 18);

    async fn serve(self, call: Call) -> Answer<Response> {
        let front = &call.front;
        let begun = match front
            .fetch_sessions
            .begin(&self, call.version, Instant::now())
        {
            Ok(begun) => begun,
            Err(code) => {
                return Response {
                    error_code: code.code(),
                    ..Response::default()
                }
                .into();
            }
        };
        let committed = self.isolation_level == READ_COMMITTED;
        let of_all = begun
            .wanted
            .iter()
            .map(|wanted| usize::try_from(wanted.from.partition_max_bytes).unwrap_or_default());
        let by_quota = call.fetch_bytes_max();
        let terms = Terms {
            min_bytes: usize::try_from(self.min_bytes)
                .unwrap_or_default()
                .min(by_quota),
            max_bytes: usize::try_from(self.max_bytes)
                .unwrap_or_default()
                .min(front.limits.load().fetch_bytes_max)
                .min(by_quota)
                .min(of_all.fold(0, usize::saturating_add)),
            patience: Duration::from_millis(u64::try_from(self.max_wait_ms).unwrap_or_default()),
            limit: if committed {
                Limit::LastStable
            } else {
                Limit::HighWatermark
            },
        };
        let image = front.metadata.image();
        let nearby = Nearby::of(&self, call.version, &front.config);
        let watched = begun
            .wanted
            .iter()
            .map(|wanted| Watched::find(front, &image, wanted, nearby))
            .collect();
        let (readers, stop) = (front.roster.readers(), &front.stop);
        let (requests, replies) = (&front.requests, &front.replies);
        let (polled, claim) = poll::poll(watched, terms, readers, requests, replies, stop).await;

        let lines: Vec<(Key, PartitionData)> = polled
            .into_iter()
            .zip(&begun.wanted)
            .map(|(watched, wanted)| (wanted.key.clone(), line(watched, committed, call.version)))
            .collect();
        let told: Vec<_> = lines
            .iter()
            .map(|(key, line)| (key.clone(), told(line)))
            .collect();
        let keep = front.fetch_sessions.tell(&begun, &told);
        let lines = lines
            .into_iter()
            .zip(keep)
            .filter_map(|(line, keep)| keep.then_some(line));
        let responses = by_topic(lines);
        let node_endpoints = if call.version >= ENDPOINTS_FROM {
            endpoints(&front.metadata.image(), &responses)
        } else {
            Vec::new()
        };
        let response = Response {
            session_id: begun.session_id,
            responses,
            node_endpoints,
            ..Response::default()
        };
        let mut partitions = response
            .responses
            .iter()
            .flat_map(|topic| &topic.partitions);
        let elsewhere =
            partitions.any(|line| line.error_code == ErrorCode::NotLeaderOrFollower.code());
        // As for produce: the client would ask here who leads.
        if elsewhere && !front.metadata.contact().is_informed() {
            return Answer::Last(response);
        }
        Answer::Counted(response, claim)
    }
}

fn line(watched: Watched, committed: bool, version: i16) -> PartitionData {
    let partition_index = watched.partition;
    match watched.outcome {
        Ok(data) => PartitionData {
            preferred_read_replica: watched.preferred.map_or(NOWHERE_ELSE, |id| id.0),
            ..success(partition_index, data, committed, version)
        },
        Err(failed) => PartitionData {
            partition_index,
            error_code: failed.code.code(),
            high_watermark: -1,
            current_leader: failed
                .leader
                .filter(|_| version >= LEADERS_FROM)
                .map(leader)
                .unwrap_or_default(),
            // Where there is no such partition nothing was looked for; where it failed there is no list.
            aborted_transactions: matches!(
                failed.code,
                ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId
            )
            .then(Vec::new),
            records: Some(Records::default()),
            ..PartitionData::default()
        },
    }
}

fn leader((id, epoch): (BrokerId, Epoch)) -> LeaderIdAndEpoch {
    LeaderIdAndEpoch {
        leader_id: id.0,
        leader_epoch: epoch.0,
    }
}

fn success(partition_index: i32, data: ReadData, committed: bool, version: i16) -> PartitionData {
    let diverging = data.diverging.filter(|_| version >= LEADERS_FROM);
    PartitionData {
        partition_index,
        error_code: ErrorCode::None.code(),
        high_watermark: data.high_watermark.0,
        last_stable_offset: data.last_stable_offset.0,
        log_start_offset: data.log_start.0,
        diverging_epoch: diverging
            .map(|(epoch, end)| EpochEndOffset {
                epoch: epoch.0,
                end_offset: end.0,
            })
            .unwrap_or_default(),
        // Null unless the client asked for committed records only.
        aborted_transactions: committed.then(Vec::new),
        records: Some(Records::from(data.batches)),
        ..PartitionData::default()
    }
}

fn told(line: &PartitionData) -> Told {
    let has_news = line.error_code != ErrorCode::None.code()
        || line.diverging_epoch != EpochEndOffset::default()
        || line.preferred_read_replica != NOWHERE_ELSE
        || line
            .records
            .as_ref()
            .is_some_and(|records| !records.is_empty());
    Told {
        has_news,
        high_watermark: line.high_watermark,
        log_start: line.log_start_offset,
    }
}

/// Lines of one topic that follow each other share its header.
fn by_topic(lines: impl Iterator<Item = (Key, PartitionData)>) -> Vec<FetchableTopicResponse> {
    let mut topics: Vec<FetchableTopicResponse> = Vec::new();
    for (key, line) in lines {
        match topics.last_mut() {
            Some(last) if last.topic == key.topic && last.topic_id == key.topic_id => {
                last.partitions.push(line);
            }
            _ => topics.push(FetchableTopicResponse {
                topic: key.topic,
                topic_id: key.topic_id,
                partitions: vec![line],
            }),
        }
    }
    topics
}

/// Addresses of the leaders that the response names.
fn endpoints(image: &Image, responses: &[FetchableTopicResponse]) -> Vec<NodeEndpoint> {
    let leaders = responses
        .iter()
        .flat_map(|topic| &topic.partitions)
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
