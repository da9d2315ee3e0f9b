//! `DeleteTopics`.

use futures::future::join_all;
use kafka_wire::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::Command;

use super::{Failure, submit};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::quotas::Mutations;
use crate::kafka::{Front, directory};

/// First version whose clients know what to do when a quota is used up (KIP-599).
const STRICT_FROM: i16 = 5;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 6);

    async fn serve(self, call: Call) -> Answer<Response> {
        let by_name = self.topic_names.into_iter().map(|name| DeleteTopicState {
            name: Some(name),
            ..DeleteTopicState::default()
        });
        let front = &call.front;
        let wanted = self.topics.into_iter().chain(by_name);
        let quota = call.mutations(STRICT_FROM);
        let results =
            wanted.map(|topic| delete(front, &quota, topic, self.timeout_ms, call.version));
        Response {
            responses: join_all(results).await,
            ..Response::default()
        }
        .into()
    }
}

async fn delete(
    front: &Front,
    quota: &Mutations<'_>,
    wanted: DeleteTopicState,
    timeout_ms: i32,
    version: i16,
) -> DeletableTopicResult {
    let mut result = DeletableTopicResult {
        name: wanted.name.clone(),
        topic_id: wanted.topic_id,
        ..DeletableTopicResult::default()
    };
    if let Err(failure) = try_delete(front, quota, &wanted, timeout_ms, &mut result).await {
        result.error_code = failure.code.code();
        result.error_message = Some(failure.message.into());
    }
    if version < 6 {
        result.name.get_or_insert_default();
    }
    result
}

async fn try_delete(
    front: &Front,
    quota: &Mutations<'_>,
    wanted: &DeleteTopicState,
    timeout_ms: i32,
    result: &mut DeletableTopicResult,
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
    result.name = Some(Str::from(&*topic.name));
    result.topic_id = topic.id.0;
    quota.take(topic.partitions.len())?;
    let command = Command::DeleteTopic { id: topic.id };
    submit(front, command, timeout_ms, false).await.map(drop)
}
