//! `DescribeQuorum`: the metadata group in Kafka's words.

use kafka_wire::messages::describe_quorum::{
    Listener, Node, ReplicaState, Request, RequestTopicData, Response, ResponsePartitionData,
    ResponseTopicData,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::Image;
use model::BrokerId;

use super::directory;
use super::dispatch::{Answer, Call, Serve};
use crate::metadata::QuorumStatus;

/// The topic that stands for the metadata log.
const METADATA_TOPIC: &str = "__cluster_metadata";

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        let quorum = call.front.metadata.quorum();
        let this = call.front.metadata.this_broker();
        let image = call.front.metadata.image();
        let nodes = if call.version >= 2 {
            nodes(&image, &quorum)
        } else {
            Vec::new()
        };
        Response {
            topics: self
                .topics
                .iter()
                .map(|topic| describe(topic, &quorum, this))
                .collect(),
            nodes,
            ..Response::default()
        }
        .into()
    }
}

fn describe(asked: &RequestTopicData, quorum: &QuorumStatus, this: BrokerId) -> ResponseTopicData {
    let partitions = asked.partitions.iter().map(|partition| {
        if asked.topic_name != METADATA_TOPIC || partition.partition_index != 0 {
            return ResponsePartitionData {
                partition_index: partition.partition_index,
                error_code: ErrorCode::UnknownTopicOrPartition.code(),
                ..ResponsePartitionData::default()
            };
        }
        ResponsePartitionData {
            partition_index: 0,
            leader_id: quorum.leader.map_or(-1, |id| id.0),
            leader_epoch: i32::try_from(quorum.term).unwrap_or(i32::MAX),
            high_watermark: signed(quorum.applied),
            current_voters: states(&quorum.voters, quorum, this),
            observers: states(&quorum.learners, quorum, this),
            ..ResponsePartitionData::default()
        }
    });
    ResponseTopicData {
        topic_name: asked.topic_name.clone(),
        partitions: partitions.collect(),
    }
}

/// How far the others have come is known to the leader only, and not told here: -1.
fn states(members: &[BrokerId], quorum: &QuorumStatus, this: BrokerId) -> Vec<ReplicaState> {
    members
        .iter()
        .map(|id| ReplicaState {
            replica_id: id.0,
            log_end_offset: if *id == this {
                signed(quorum.last_index)
            } else {
                -1
            },
            ..ReplicaState::default()
        })
        .collect()
}

fn signed(index: u64) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn nodes(image: &Image, quorum: &QuorumStatus) -> Vec<Node> {
    quorum
        .voters
        .iter()
        .filter_map(|id| image.brokers.get(id))
        .map(|broker| Node {
            node_id: broker.id.0,
            listeners: directory::endpoint(broker)
                .map(|endpoint| Listener {
                    name: Str::from_static("KAFKA"),
                    host: Str::from(endpoint.host.as_str()),
                    port: endpoint.port,
                })
                .into_iter()
                .collect(),
        })
        .collect()
}
