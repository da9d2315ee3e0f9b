//! `DescribeTopicPartitions`: topics in pages, by name (KIP-966).

use kafka_wire::messages::describe_topic_partitions::{
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic, Request,
    Response, ResponseCursor,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::{Image, Partition, Topic};

use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::{directory, topics};

/// `max.request.partition.size.limit`: partitions of one page.
const PARTITIONS_MAX: i32 = 2_000;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 0);

    async fn serve(self, call: Call) -> Answer<Response> {
        if self.cursor.as_ref().is_some_and(|c| c.partition_index < 0) {
            return refused(self).into();
        }
        let image = call.front.metadata.image();
        let mut names: Vec<Str> = if self.topics.is_empty() {
            image
                .topic_names
                .keys()
                .map(|name| Str::from(&**name))
                .collect()
        } else {
            self.topics.iter().map(|topic| topic.name.clone()).collect()
        };
        names.sort();
        names.dedup();
        let (first, mut from) = match &self.cursor {
            Some(cursor) => (cursor.topic_name.clone(), cursor.partition_index),
            None => (Str::default(), 0),
        };
        let mut room = self.response_partition_limit.clamp(1, PARTITIONS_MAX) as usize;
        let mut response = Response::default();
        for name in names.into_iter().filter(|name| *name >= first) {
            let start = if name == first {
                std::mem::take(&mut from)
            } else {
                0
            };
            let Some(topic) = directory::topic_named(&image, &name) else {
                response.topics.push(unknown(name));
                continue;
            };
            if room == 0 {
                response.next_cursor = cursor(name, start);
                break;
            }
            let page = describe(&image, topic, start, room);
            room -= page.partitions.len();
            let next = start.saturating_add(page.partitions.len() as i32);
            let complete = next as usize >= topic.partitions.len();
            response.topics.push(page);
            if !complete {
                response.next_cursor = cursor(name, next);
                break;
            }
        }
        response.into()
    }
}

fn cursor(topic_name: Str, partition_index: i32) -> Option<ResponseCursor> {
    Some(ResponseCursor {
        topic_name,
        partition_index,
    })
}

fn unknown(name: Str) -> DescribeTopicPartitionsResponseTopic {
    let code = match topics::check_name(&name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    DescribeTopicPartitionsResponseTopic {
        error_code: code.code(),
        name: Some(name),
        topic_authorized_operations: directory::operations::TOPIC,
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}

/// A cursor that no page can have ended at.
fn refused(request: Request) -> Response {
    let topics = request.topics.into_iter();
    Response {
        topics: topics
            .map(|topic| DescribeTopicPartitionsResponseTopic {
                error_code: ErrorCode::InvalidRequest.code(),
                name: Some(topic.name),
                ..DescribeTopicPartitionsResponseTopic::default()
            })
            .collect(),
        ..Response::default()
    }
}

fn describe(
    image: &Image,
    topic: &Topic,
    from: i32,
    room: usize,
) -> DescribeTopicPartitionsResponseTopic {
    let start = from as usize;
    DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::None.code(),
        name: Some(Str::from(&*topic.name)),
        topic_id: topic.id.0,
        is_internal: topic.internal,
        partitions: (from..)
            .zip(topic.partitions.iter().skip(start).take(room))
            .map(|(index, partition)| describe_partition(image, index, partition))
            .collect(),
        topic_authorized_operations: directory::operations::TOPIC,
    }
}

fn describe_partition(
    image: &Image,
    index: i32,
    partition: &Partition,
) -> DescribeTopicPartitionsResponsePartition {
    let (in_sync, eligible) = partition.shown_in_sync(image);
    DescribeTopicPartitionsResponsePartition {
        error_code: super::availability(image, partition).code(),
        partition_index: index,
        leader_id: super::leader(image, partition),
        leader_epoch: partition.leader_epoch.0,
        replica_nodes: directory::ids(&partition.replicas),
        isr_nodes: directory::ids(&in_sync),
        eligible_leader_replicas: Some(directory::ids(&eligible)),
        last_known_elr: Some(directory::ids(&partition.last_known_elr)),
        offline_replicas: directory::offline(image, partition),
    }
}
