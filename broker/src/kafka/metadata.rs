//! `Metadata`, `DescribeCluster` and `DescribeTopicPartitions`: where everything is.

mod cluster;
mod topic_partitions;

use std::collections::HashSet;

use kafka_wire::messages::metadata::{
    MetadataRequestTopic, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
    Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::{Image, Partition, Topic};

use super::dispatch::{Answer, Call, Serve};
use super::{directory, topics};

/// First version that looks topics up by id. Older ones carry the field, to be left alone.
const TOPIC_IDS_FROM: i16 = 12;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 13);

    async fn serve(self, call: Call) -> Answer<Response> {
        if call.version < TOPIC_IDS_FROM && names_an_id(&self) {
            return refused(self).into();
        }
        let image = call.front.metadata.image();
        // All that are up are on their way in. A client that is told of no broker has nobody left to ask:
        // librdkafka then forgets those it knew and asks nobody again. Kafka serves nobody before it is in.
        if directory::reachable(&image).next().is_none() {
            return Answer::Close;
        }
        let asks_all = match &self.topics {
            None => true,
            // Version 0 had no null: an empty list meant all.
            Some(topics) => call.version == 0 && topics.is_empty(),
        };
        let described: Vec<MetadataResponseTopic> = if asks_all {
            image
                .topics
                .values()
                .map(|topic| describe(&image, topic))
                .collect()
        } else {
            let wanted = self.topics.unwrap_or_default();
            let mut seen = HashSet::new();
            wanted
                .iter()
                .filter(|topic| seen.insert((topic.name.as_ref(), topic.topic_id)))
                .map(|topic| find(&image, topic, self.allow_auto_topic_creation, &call))
                .collect()
        };
        // A topic that is asked for by name and by id is told once.
        let mut told = HashSet::new();
        let described = described
            .into_iter()
            .filter(|topic| topic.topic_id.is_nil() || told.insert(topic.topic_id))
            .collect();
        let mut response = Response {
            brokers: directory::reachable(&image)
                .map(|(broker, endpoint)| MetadataResponseBroker {
                    node_id: broker.id.0,
                    host: Str::from(endpoint.host.as_str()),
                    port: i32::from(endpoint.port),
                    rack: directory::rack(broker),
                })
                .collect(),
            cluster_id: Some(Str::from(call.front.config.cluster_id.as_str())),
            controller_id: any_controller(&call, &image),
            topics: described,
            ..Response::default()
        };
        if self.include_topic_authorized_operations {
            for topic in response.topics.iter_mut().filter(|t| t.error_code == 0) {
                topic.topic_authorized_operations = directory::operations::TOPIC;
            }
        }
        if self.include_cluster_authorized_operations {
            response.cluster_authorized_operations = directory::operations::CLUSTER;
        }
        response.into()
    }
}

fn names_an_id(request: &Request) -> bool {
    request
        .topics
        .iter()
        .flatten()
        .any(|topic| topic.name.is_none() || !topic.topic_id.is_nil())
}

/// Nothing but the topics as they were named.
fn refused(request: Request) -> Response {
    let topics = request.topics.into_iter().flatten();
    Response {
        topics: topics
            .map(|topic| MetadataResponseTopic {
                error_code: ErrorCode::InvalidRequest.code(),
                name: Some(topic.name.unwrap_or_default()),
                topic_id: topic.topic_id,
                ..MetadataResponseTopic::default()
            })
            .collect(),
        ..Response::default()
    }
}

/// The broker that admin clients send changes to. Any will do, since each hands commands on; naming
/// the real leader of the metadata group saves the hop.
pub(super) fn any_controller(call: &Call, image: &Image) -> i32 {
    call.front
        .metadata
        .controller()
        .filter(|id| directory::is_reachable(image, *id))
        .or_else(|| {
            directory::reachable(image)
                .map(|(broker, _)| broker.id)
                .next()
        })
        .map_or(-1, |id| id.0)
}

fn find(
    image: &Image,
    wanted: &MetadataRequestTopic,
    create: bool,
    call: &Call,
) -> MetadataResponseTopic {
    let Some(name) = &wanted.name else {
        let by_id = directory::topic(image, "", wanted.topic_id);
        return by_id.map_or_else(
            || MetadataResponseTopic {
                topic_id: wanted.topic_id,
                ..failed(ErrorCode::UnknownTopicId, None)
            },
            |topic| describe(image, topic),
        );
    };
    if let Some(topic) = directory::topic_named(image, name) {
        return describe(image, topic);
    }
    if topics::check_name(name).is_err() {
        return failed(ErrorCode::InvalidTopicException, Some(name));
    }
    // The first answer is that there is none; it appears a moment later, and clients ask again.
    if create {
        topics::create_on_first_use(&call.front, name);
    }
    failed(ErrorCode::UnknownTopicOrPartition, Some(name))
}

fn failed(code: ErrorCode, name: Option<&Str>) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: code.code(),
        name: name.cloned(),
        ..MetadataResponseTopic::default()
    }
}

fn describe(image: &Image, topic: &Topic) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: ErrorCode::None.code(),
        name: Some(Str::from(&*topic.name)),
        topic_id: topic.id.0,
        is_internal: topic.internal,
        partitions: (0..)
            .zip(&topic.partitions)
            .map(|(index, partition)| describe_partition(image, index, partition))
            .collect(),
        ..MetadataResponseTopic::default()
    }
}

fn describe_partition(
    image: &Image,
    index: i32,
    partition: &Partition,
) -> MetadataResponsePartition {
    MetadataResponsePartition {
        error_code: availability(image, partition).code(),
        partition_index: index,
        leader_id: leader(image, partition),
        leader_epoch: partition.leader_epoch.0,
        replica_nodes: directory::ids(&partition.replicas),
        isr_nodes: directory::ids(&partition.shown_in_sync(image).0),
        offline_replicas: directory::offline(image, partition),
    }
}

/// -1 while nobody leads whom clients can reach.
fn leader(image: &Image, partition: &Partition) -> i32 {
    partition
        .leader
        .filter(|id| directory::is_reachable(image, *id))
        .map_or(-1, |id| id.0)
}

fn availability(image: &Image, partition: &Partition) -> ErrorCode {
    if leader(image, partition) < 0 {
        ErrorCode::LeaderNotAvailable
    } else {
        ErrorCode::None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use machine::metadata::command::Command;
    use model::BrokerId;

    use super::*;
    use crate::kafka::testing::{self, Client};

    #[tokio::test]
    async fn client_is_told_of_a_broker_or_of_nothing() {
        let server = testing::serve("").await;
        let request = Request::default();
        let mut client = Client::connect(&server).await;
        assert_eq!(client.call(12, &request).await.brokers.len(), 1);
        let id = BrokerId(1);
        let fence = Command::FenceBroker { id, epoch: 1 };
        server.front.metadata.submit(fence).await.unwrap();
        assert_eq!(client.try_call(12, &request).await, None);
    }
}
