//! The Kafka front of whole brokers, spoken to in frames: what every client relies on, by code.

pub(crate) mod client;
mod delayed;
mod fetch;
mod moving;
mod produce;

use bytes::Bytes;
use kafka_wire::Str;
use kafka_wire::messages::{create_topics, metadata};
use machine::metadata::image::{Image, Topic};
use model::batch::Builder;
use model::{BrokerId, Offset};

use crate::cluster::Cluster;
use client::Client;

/// 2026 in milliseconds: timestamps of the records.
const T0: i64 = 1_780_000_000_000;

/// A batch as a producer sends it, one record a millisecond from [`T0`] on.
fn batch(values: &[&str]) -> Bytes {
    batch_of(Builder::new(Offset(0)), values)
}

fn batch_of(mut builder: Builder, values: &[&str]) -> Bytes {
    for (timestamp, value) in (T0..).zip(values) {
        builder.push(timestamp, Some(b"k"), Some(value.as_bytes()));
    }
    builder.build().unwrap()
}

/// Creates a topic by broker 0 and waits until every broker knows it and each partition can be used.
async fn create(
    cluster: &Cluster,
    name: &str,
    partitions: i32,
    replication_factor: i16,
    configs: &[(&str, &str)],
) {
    let mut client = Client::connect(cluster, 0).await;
    let topic = create_topics::CreatableTopic {
        name: Str::from(name),
        num_partitions: partitions,
        replication_factor,
        configs: configs
            .iter()
            .map(|(name, value)| create_topics::CreatableTopicConfig {
                name: Str::from(*name),
                value: Some(Str::from(*value)),
            })
            .collect(),
        ..create_topics::CreatableTopic::default()
    };
    let request = create_topics::Request {
        topics: vec![topic],
        ..create_topics::Request::default()
    };
    let created = client.call(7, &request).await;
    assert_eq!(created.topics[0].error_code, 0, "{:?}", created.topics[0]);
    for id in cluster.here() {
        cluster
            .sees(id, |image| topic_of(image, name).is_some())
            .await;
    }
}

fn topic_of<'a>(image: &'a Image, name: &str) -> Option<&'a Topic> {
    image
        .topics
        .get(image.topic_names.get(name)?)
        .map(|topic| &**topic)
}

/// The first partition of a topic that a broker leads.
fn led_by(image: &Image, topic: &str, broker: i32) -> Option<i32> {
    let partitions = &topic_of(image, topic)?.partitions;
    let led = partitions
        .iter()
        .position(|partition| partition.leader == Some(BrokerId(broker)))?;
    i32::try_from(led).ok()
}

/// Who leads partition 0 of a topic.
fn leader(cluster: &Cluster, topic: &str) -> usize {
    let image = cluster.metadata(0).image();
    let leader = topic_of(&image, topic).unwrap().partitions[0].leader;
    usize::try_from(leader.unwrap().0).unwrap()
}

#[tokio::test]
async fn a_topic_appears_after_the_first_answer_that_there_is_none() {
    let cluster = Cluster::start(1).await;
    let mut client = Client::connect(&cluster, 0).await;
    let request = metadata::Request {
        topics: Some(vec![metadata::MetadataRequestTopic {
            name: Some(Str::from_static("first-use")),
            ..metadata::MetadataRequestTopic::default()
        }]),
        ..metadata::Request::default()
    };
    let first = client.call(12, &request).await;
    assert_eq!(first.topics[0].error_code, 3);
    cluster
        .sees(0, |image| topic_of(image, "first-use").is_some())
        .await;
    let second = client.call(12, &request).await;
    assert_eq!(second.topics[0].error_code, 0);
    assert_eq!(second.topics[0].partitions[0].leader_id, 0);
}
