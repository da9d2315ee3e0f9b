//! `DeleteTopics`.

use std::collections::{HashMap, HashSet};

use futures::{StreamExt, stream};
use kafka_wire::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::Command;
use machine::metadata::image::Image;
use model::TopicId;
use uuid::Uuid;

use super::{Failure, submit};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::quotas::Mutations;
use crate::kafka::{Front, directory};

/// First version whose clients know what to do when a quota is used up (KIP-599).
const STRICT_FROM: i16 = 5;
/// Topics of one request that are being deleted at a time.
const AT_ONCE_MAX: usize = 64;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 6);

    async fn serve(self, call: Call) -> Answer<Response> {
        let by_name = self.topic_names.into_iter().map(|name| DeleteTopicState {
            name: Some(name),
            ..DeleteTopicState::default()
        });
        let (front, timeout_ms, version) = (&call.front, self.timeout_ms, call.version);
        let wanted = self.topics.into_iter().chain(by_name).collect();
        let quota = &call.mutations(STRICT_FROM);
        let results =
            once_each(&front.metadata.image(), wanted)
                .into_iter()
                .map(|topic| async move {
                    match topic {
                        Wanted::Once(topic) => {
                            delete(front, quota, topic, timeout_ms, version).await
                        }
                        Wanted::Again(topic) => told(topic.name, topic.topic_id, Err(again())),
                    }
                });
        Response {
            responses: stream::iter(results).buffered(AT_ONCE_MAX).collect().await,
            ..Response::default()
        }
        .into()
    }
}

/// A topic as the request names it.
enum Wanted {
    Once(DeleteTopicState),
    /// Named more than once: it stays, and is told once.
    Again(DeleteTopicState),
}

fn once_each(image: &Image, wanted: Vec<DeleteTopicState>) -> Vec<Wanted> {
    let key = |topic: &DeleteTopicState| (topic.name.clone(), topic.topic_id);
    let mut named: HashMap<_, usize> = HashMap::new();
    for topic in &wanted {
        *named.entry(key(topic)).or_default() += 1;
    }
    // The same topic may be named once by name and once by id.
    let find = |topic: &DeleteTopicState| {
        let name = topic.name.clone().unwrap_or_default();
        directory::topic(image, &name, topic.topic_id)
    };
    let mut of_topic: HashMap<TopicId, usize> = HashMap::new();
    for topic in wanted
        .iter()
        .filter(|topic| named.get(&key(topic)) == Some(&1))
    {
        if let Some(found) = find(topic) {
            *of_topic.entry(found.id).or_default() += 1;
        }
    }
    let mut told = HashSet::new();
    let mut result = Vec::with_capacity(wanted.len());
    for topic in wanted {
        let times = named.get(&key(&topic)).copied().unwrap_or_default();
        let found = find(&topic);
        let twice = found.filter(|found| of_topic.get(&found.id).is_some_and(|n| *n > 1));
        let topic = match twice {
            Some(found) if times == 1 => Wanted::Again(DeleteTopicState {
                name: Some(Str::from(&*found.name)),
                topic_id: found.id.0,
            }),
            _ if times > 1 => Wanted::Again(topic),
            _ => Wanted::Once(topic),
        };
        if let Wanted::Again(again) = &topic
            && !told.insert(key(again))
        {
            continue;
        }
        result.push(topic);
    }
    result
}

fn again() -> Failure {
    Failure::new(
        ErrorCode::InvalidRequest,
        "Duplicate topic name or topic ID.",
    )
}

fn told(name: Option<Str>, topic_id: Uuid, outcome: Result<(), Failure>) -> DeletableTopicResult {
    let (code, message) = match outcome {
        Ok(()) => (ErrorCode::None, None),
        Err(failure) => (failure.code, Some(failure.message.into())),
    };
    DeletableTopicResult {
        name,
        topic_id,
        error_code: code.code(),
        error_message: message,
    }
}

async fn delete(
    front: &Front,
    quota: &Mutations<'_>,
    wanted: DeleteTopicState,
    timeout_ms: i32,
    version: i16,
) -> DeletableTopicResult {
    let mut named = wanted.clone();
    let outcome = try_delete(front, quota, &wanted, timeout_ms, &mut named).await;
    if version < 6 {
        named.name.get_or_insert_default();
    }
    told(named.name, named.topic_id, outcome)
}

async fn try_delete(
    front: &Front,
    quota: &Mutations<'_>,
    wanted: &DeleteTopicState,
    timeout_ms: i32,
    named: &mut DeleteTopicState,
) -> Result<(), Failure> {
    if wanted.name.is_some() != wanted.topic_id.is_nil() {
        return Err(Failure::new(
            ErrorCode::InvalidRequest,
            "Topic name and topic ID can not both be specified.",
        ));
    }
    let image = front.metadata.image();
    let name = wanted.name.clone().unwrap_or_default();
    let Some(topic) = directory::topic(&image, &name, wanted.topic_id) else {
        return Err(if wanted.topic_id.is_nil() {
            Failure::new(
                ErrorCode::UnknownTopicOrPartition,
                "This server does not host this topic-partition.",
            )
        } else {
            Failure::new(
                ErrorCode::UnknownTopicId,
                "This server does not host this topic ID.",
            )
        });
    };
    named.name = Some(Str::from(&*topic.name));
    named.topic_id = topic.id.0;
    quota.take(topic.partitions.len())?;
    let command = Command::DeleteTopic { id: topic.id };
    submit(front, command, timeout_ms, false).await.map(drop)
}
