//! `CreatePartitions`.

use std::collections::HashSet;

use kafka_wire::messages::create_partitions::{
    CreatePartitionsTopic, CreatePartitionsTopicResult, Request, Response,
};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::command::Command;
use model::BrokerId;

use super::{Failure, submit};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::quotas::Mutations;
use crate::kafka::{Front, directory};

/// First version whose clients know what to do when a quota is used up (KIP-599).
const STRICT_FROM: i16 = 3;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 3);

    async fn serve(self, call: Call) -> Answer<Response> {
        let mut seen = HashSet::new();
        let mut results = Vec::with_capacity(self.topics.len());
        let quota = call.mutations(STRICT_FROM);
        let times = |name| self.topics.iter().filter(|t| t.name == name).count();
        for topic in &self.topics {
            // One that is named twice is refused, and told once.
            if !seen.insert(topic.name.clone()) {
                continue;
            }
            let grown = if times(topic.name.clone()) == 1 {
                grow(
                    &call.front,
                    &quota,
                    topic,
                    self.timeout_ms,
                    self.validate_only,
                )
                .await
            } else {
                Err(Failure::new(
                    ErrorCode::InvalidRequest,
                    "Duplicate topic name.",
                ))
            };
            let (error_code, error_message) = match grown {
                Ok(()) => (ErrorCode::None, None),
                Err(failure) => (failure.code, Some(failure.message.into())),
            };
            results.push(CreatePartitionsTopicResult {
                name: topic.name.clone(),
                error_code: error_code.code(),
                error_message,
            });
        }
        Response {
            results,
            ..Response::default()
        }
        .into()
    }
}

async fn grow(
    front: &Front,
    quota: &Mutations<'_>,
    wanted: &CreatePartitionsTopic,
    timeout_ms: i32,
    validate_only: bool,
) -> Result<(), Failure> {
    let image = front.metadata.image();
    let Some(topic) = directory::topic_named(&image, &wanted.name) else {
        return Err(Failure::new(
            ErrorCode::UnknownTopicOrPartition,
            "This server does not host this topic-partition.",
        ));
    };
    let now = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let added = wanted.count.saturating_sub(now);
    quota.take(usize::try_from(added).unwrap_or_default())?;
    let assignments = wanted.assignments.iter().flatten();
    let command = Command::CreatePartitions {
        topic: topic.id,
        count: wanted.count,
        assignments: assignments
            .map(|partition| partition.broker_ids.iter().copied().map(BrokerId).collect())
            .collect(),
    };
    submit(front, command, timeout_ms, validate_only)
        .await
        .map(drop)
}
