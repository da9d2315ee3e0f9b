//! `DescribeQuorum`: the metadata group in Kafka's words, as its leader sees it.

use kafka_wire::messages::describe_quorum::{
    Listener, Node, ReplicaState, Request, RequestTopicData, Response, ResponsePartitionData,
    ResponseTopicData,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::{self, Image};
use uuid::Uuid;

use super::dispatch::{Answer, Call, Serve};
use super::error_code;
use crate::metadata::{Member, QuorumStatus};

/// The topic that stands for the metadata log; it has one partition.
const METADATA_TOPIC: &str = "__cluster_metadata";

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        if !is_metadata_log(&self.topics) {
            return Response {
                topics: self.topics.iter().map(unknown).collect(),
                ..Response::default()
            }
            .into();
        }
        let metadata = &call.front.metadata;
        let quorum = match metadata.quorum().await {
            Ok(quorum) => quorum,
            Err(unavailable) => {
                return Response {
                    error_message: (call.version >= 2).then(|| unavailable.to_string().into()),
                    error_code: error_code::unavailable(unavailable).code(),
                    ..Response::default()
                }
                .into();
            }
        };
        let image = metadata.image();
        let told = call.version >= 2;
        Response {
            topics: vec![describe(&quorum, &image, told)],
            nodes: if told {
                nodes(&image, &quorum)
            } else {
                Vec::new()
            },
            ..Response::default()
        }
        .into()
    }
}

fn is_metadata_log(topics: &[RequestTopicData]) -> bool {
    let [topic] = topics else {
        return false;
    };
    let [partition] = topic.partitions.as_slice() else {
        return false;
    };
    topic.topic_name == METADATA_TOPIC && partition.partition_index == 0
}

fn unknown(asked: &RequestTopicData) -> ResponseTopicData {
    let partitions = asked.partitions.iter();
    let partitions = partitions.map(|partition| ResponsePartitionData {
        partition_index: partition.partition_index,
        error_code: ErrorCode::UnknownTopicOrPartition.code(),
        ..ResponsePartitionData::default()
    });
    ResponseTopicData {
        topic_name: asked.topic_name.clone(),
        partitions: partitions.collect(),
    }
}

fn describe(quorum: &QuorumStatus, image: &Image, with_directories: bool) -> ResponseTopicData {
    let states = |members: &[Member]| {
        let state = |member: &Member| ReplicaState {
            replica_id: member.id.0,
            replica_directory_id: if with_directories {
                directory_id(image, member)
            } else {
                Uuid::nil()
            },
            log_end_offset: signed(member.log_end),
            last_fetch_timestamp: member.heard_ms.unwrap_or(-1),
            last_caught_up_timestamp: member.caught_up_ms.unwrap_or(-1),
        };
        members.iter().map(state).collect()
    };
    ResponseTopicData {
        topic_name: Str::from_static(METADATA_TOPIC),
        partitions: vec![ResponsePartitionData {
            leader_id: quorum.leader.map_or(-1, |id| id.0),
            leader_epoch: i32::try_from(quorum.term).unwrap_or(i32::MAX),
            high_watermark: signed(Some(quorum.high_watermark)),
            current_voters: states(&quorum.voters),
            observers: states(&quorum.observers),
            ..ResponsePartitionData::default()
        }],
    }
}

/// The directory that a member registered with; none before it did.
fn directory_id(image: &Image, member: &Member) -> Uuid {
    let broker = image.brokers.get(&member.id);
    broker.map_or_else(Uuid::nil, |broker| broker.incarnation)
}

fn signed(offset: Option<u64>) -> i64 {
    offset.map_or(-1, |offset| i64::try_from(offset).unwrap_or(i64::MAX))
}

/// Where the voters are reached by each other, as Kafka tells of its controllers.
fn nodes(image: &Image, quorum: &QuorumStatus) -> Vec<Node> {
    let brokers = quorum.voters.iter();
    let brokers = brokers.filter_map(|voter| image.brokers.get(&voter.id));
    brokers
        .map(|broker| Node {
            node_id: broker.id.0,
            listeners: broker
                .endpoints
                .iter()
                .filter(|endpoint| endpoint.listener == image::Listener::Peer)
                .map(|endpoint| Listener {
                    name: Str::from_static("PEER"),
                    host: Str::from(endpoint.host.as_str()),
                    port: endpoint.port,
                })
                .collect(),
        })
        .collect()
}
