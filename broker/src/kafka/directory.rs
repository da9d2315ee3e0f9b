//! What clients are told of brokers and topics, looked up in the metadata image.

use kafka_wire::Str;
use machine::metadata::image::{Broker, Endpoint, Image, Listener, Partition, Topic};
use model::{BrokerId, TopicId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A broker's address for Kafka clients.
pub(super) fn endpoint(broker: &Broker) -> Option<&Endpoint> {
    broker
        .endpoints
        .iter()
        .find(|endpoint| endpoint.listener == Listener::Kafka)
}

/// Brokers that clients may connect to.
pub(super) fn reachable(image: &Image) -> impl Iterator<Item = (&Broker, &Endpoint)> {
    image
        .brokers
        .values()
        .filter(|broker| !broker.fenced)
        .filter_map(|broker| Some((&**broker, endpoint(broker)?)))
}

/// Of these ids, which may be -1 or come twice, the brokers that clients can reach.
pub(super) fn reachable_of(
    image: &Image,
    ids: impl Iterator<Item = i32>,
) -> impl Iterator<Item = (&Broker, &Endpoint)> {
    let ids: BTreeSet<i32> = ids.collect();
    reachable(image).filter(move |(broker, _)| ids.contains(&broker.id.0))
}

pub(super) fn is_reachable(image: &Image, id: BrokerId) -> bool {
    image.brokers.get(&id).is_some_and(|broker| !broker.fenced)
}

pub(super) fn topic_named<'a>(image: &'a Image, name: &str) -> Option<&'a Arc<Topic>> {
    image.topics.get(image.topic_names.get(name)?)
}

/// A topic as a request names it: by id when it has one (from some version on), else by name.
pub(super) fn topic<'a>(image: &'a Image, name: &str, id: uuid::Uuid) -> Option<&'a Arc<Topic>> {
    if id.is_nil() {
        topic_named(image, name)
    } else {
        image.topics.get(&TopicId(id))
    }
}

pub(super) fn partition(topic: &Topic, index: i32) -> Option<&Arc<Partition>> {
    topic.partitions.get(usize::try_from(index).ok()?)
}

pub(super) fn rack(broker: &Broker) -> Option<Str> {
    broker.rack.as_deref().map(Str::from)
}

/// `BrokerId`s as the wire has them.
pub(super) fn ids(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|id| id.0).collect()
}

/// Replicas on brokers that are not reachable.
pub(super) fn offline(image: &Image, partition: &Partition) -> Vec<i32> {
    partition
        .replicas
        .iter()
        .filter(|id| !is_reachable(image, **id))
        .map(|id| id.0)
        .collect()
}

/// Bits of the operations that anybody may do while there are no access rules, as Kafka counts them
/// (KIP-430).
pub(super) mod operations {
    pub(in crate::kafka) const TOPIC: i32 = 0b1101_1111_1000;
    pub(in crate::kafka) const CLUSTER: i32 = 0b1_1111_1010_0000;
}
