//! `OffsetFetch`. A partition without a commit answers offset -1 and no error, so that the client
//! applies its `auto.offset.reset`.

use std::sync::Arc;

use futures::future::join_all;
use kafka_wire::messages::offset_fetch::{
    OffsetFetchRequestTopics, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics, Request,
    Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::group::{Committed, State};
use machine::metadata::image::{Image, Topic};
use model::TopicId;

use super::{TOPIC_IDS_FROM, topic};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::{directory, error_code};

/// From here on one request asks for several groups.
const GROUPS_FROM: i16 = 8;
/// From here on a response has a code for the whole group.
const GROUP_CODE_FROM: i16 = 2;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 10);

    async fn serve(self, call: Call) -> Answer<Response> {
        if call.version >= GROUPS_FROM {
            let fetched = self
                .groups
                .into_iter()
                .map(|group| fetch(&call, group.group_id, group.topics));
            return Response {
                groups: join_all(fetched).await,
                ..Response::default()
            }
            .into();
        }
        let topics = self.topics.map(|topics| {
            let asked = topics.into_iter().map(|topic| OffsetFetchRequestTopics {
                name: topic.name,
                partition_indexes: topic.partition_indexes,
                ..OffsetFetchRequestTopics::default()
            });
            asked.collect::<Vec<_>>()
        });
        let asked = topics.clone().unwrap_or_default();
        let group = fetch(&call, self.group_id, topics).await;
        single(group, &asked, call.version).into()
    }
}

async fn fetch(
    call: &Call,
    group: Str,
    topics: Option<Vec<OffsetFetchRequestTopics>>,
) -> OffsetFetchResponseGroup {
    let image = call.front.metadata.image();
    let version = call.version;
    let id = group.clone();
    let found = call
        .front
        .groups
        .query(&group, move |state| match topics {
            Some(topics) => asked(state, &id, &topics, version, &image),
            None => all(state, &id, version, &image),
        })
        .await;
    let (topics, code) = match found {
        Ok(topics) => (topics, ErrorCode::None),
        // Never an empty success: the client would start from its reset policy.
        Err(unavailable) => (Vec::new(), error_code::coordinator(&unavailable)),
    };
    OffsetFetchResponseGroup {
        group_id: group,
        topics,
        error_code: code.code(),
    }
}

fn asked(
    state: &State,
    group: &str,
    topics: &[OffsetFetchRequestTopics],
    version: i16,
    image: &Image,
) -> Vec<OffsetFetchResponseTopics> {
    let answer = |asked: &OffsetFetchRequestTopics| {
        let found = topic(image, version, &asked.name, asked.topic_id);
        // A topic that is named but gone has no offsets; an id that is unknown is an error.
        let code = match found {
            Err(code) if version >= TOPIC_IDS_FROM => code,
            _ => ErrorCode::None,
        };
        let partitions = asked.partition_indexes.iter().map(|partition| {
            let committed = found
                .ok()
                .and_then(|topic| current(state, group, topic, *partition));
            position(*partition, committed, code)
        });
        OffsetFetchResponseTopics {
            name: asked.name.clone(),
            topic_id: asked.topic_id,
            partitions: partitions.collect(),
        }
    };
    topics.iter().map(answer).collect()
}

fn all(state: &State, group: &str, version: i16, image: &Image) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
    for (name, partition, _) in state.offsets(group) {
        let Some(topic) = directory::topic_named(image, name) else {
            continue;
        };
        let Some(committed) = current(state, group, topic, partition) else {
            continue;
        };
        let position = position(partition, Some(committed), ErrorCode::None);
        match topics.last_mut().filter(|last| *last.name == **name) {
            Some(last) => last.partitions.push(position),
            None => topics.push(OffsetFetchResponseTopics {
                name: Str::from(&**name),
                topic_id: topic.id.0,
                partitions: vec![position],
            }),
        }
    }
    if version >= TOPIC_IDS_FROM {
        for topic in &mut topics {
            topic.name = Str::default();
        }
    }
    topics
}

/// The offset, unless it is one of an earlier topic of the same name.
fn current<'a>(
    state: &'a State,
    group: &str,
    topic: &Arc<Topic>,
    partition: i32,
) -> Option<&'a Committed> {
    let committed = state.committed(group, &topic.name, partition)?;
    let same = committed.topic_id == topic.id || committed.topic_id == TopicId::default();
    same.then_some(committed)
}

fn position(
    partition: i32,
    committed: Option<&Committed>,
    code: ErrorCode,
) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: partition,
        committed_offset: committed.map_or(-1, |c| c.offset),
        committed_leader_epoch: committed.map_or(-1, |c| c.leader_epoch),
        metadata: Some(committed.map_or_else(Str::default, |c| Str::from(&*c.metadata))),
        error_code: code.code(),
    }
}

/// The shape of the versions that ask for one group.
fn single(
    group: OffsetFetchResponseGroup,
    asked: &[OffsetFetchRequestTopics],
    version: i16,
) -> Response {
    let mut topics: Vec<_> = group.topics.into_iter().map(single_topic).collect();
    if version < GROUP_CODE_FROM && group.error_code != 0 {
        topics = asked.iter().map(|t| failed(t, group.error_code)).collect();
    }
    Response {
        topics,
        error_code: group.error_code,
        ..Response::default()
    }
}

fn single_topic(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partitions = topic.partitions.into_iter();
    OffsetFetchResponseTopic {
        name: topic.name,
        partitions: partitions
            .map(|p| OffsetFetchResponsePartition {
                partition_index: p.partition_index,
                committed_offset: p.committed_offset,
                committed_leader_epoch: p.committed_leader_epoch,
                metadata: p.metadata,
                error_code: p.error_code,
            })
            .collect(),
    }
}

fn failed(topic: &OffsetFetchRequestTopics, error_code: i16) -> OffsetFetchResponseTopic {
    let partition = |index: &i32| OffsetFetchResponsePartition {
        partition_index: *index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(Str::default()),
        error_code,
    };
    OffsetFetchResponseTopic {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(partition).collect(),
    }
}
