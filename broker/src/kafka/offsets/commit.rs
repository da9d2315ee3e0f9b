//! `OffsetCommit`.

use kafka_wire::messages::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
    Request, Response,
};
use kafka_wire::{ErrorCode, Versions};
use machine::group::{Command, Commit, CommitPartition, Error, Reply};
use machine::metadata::image::{Image, Topic};

use super::topic;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::groups::{Failed, shared, shared_option, submit};
use crate::kafka::{directory, error_code};

/// From here on an unknown group is told apart from an old generation (KIP-848).
const GROUP_NOT_FOUND_FROM: i16 = 9;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(2, 10);

    async fn serve(self, call: Call) -> Answer<Response> {
        let image = call.front.metadata.image();
        let (mut response, partitions) = sort_out(&self, call.version, &image);
        if partitions.is_empty() {
            return response.into();
        }
        let command = Command::Commit(Commit {
            member_id: shared(&self.member_id),
            instance_id: shared_option(self.group_instance_id.as_ref()),
            generation: self.generation_id_or_member_epoch,
            retention_ms: (self.retention_time_ms >= 0).then_some(self.retention_time_ms),
            partitions,
        });
        let committed = submit(
            &call,
            shared(&self.group_id),
            command,
            |reply| match reply {
                Reply::Commit(result) => Some(result),
                _ => None,
            },
        )
        .await;
        match committed {
            Ok(results) => fill(&mut response, results.iter().map(code_of)),
            Err(failed) => {
                let code = refused(&failed, call.version);
                fill(&mut response, std::iter::repeat(code));
            }
        }
        response.into()
    }
}

/// Stands in a response for a partition whose result is still to come.
const OPEN: i16 = i16::MIN;

/// The response with the partitions that do not exist answered, and the commits to ask the group for.
fn sort_out(request: &Request, version: i16, image: &Image) -> (Response, Vec<CommitPartition>) {
    let mut response = Response::default();
    let mut commits = Vec::new();
    for asked in &request.topics {
        let found = topic(image, version, &asked.name, asked.topic_id);
        let mut answered = OffsetCommitResponseTopic {
            name: asked.name.clone(),
            topic_id: asked.topic_id,
            partitions: Vec::with_capacity(asked.partitions.len()),
        };
        for partition in &asked.partitions {
            let error_code = match found {
                Err(code) => code.code(),
                Ok(topic) if directory::partition(topic, partition.partition_index).is_none() => {
                    ErrorCode::UnknownTopicOrPartition.code()
                }
                Ok(topic) => {
                    commits.push(commit(topic, partition));
                    OPEN
                }
            };
            answered.partitions.push(OffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code,
            });
        }
        response.topics.push(answered);
    }
    (response, commits)
}

fn commit(topic: &Topic, partition: &OffsetCommitRequestPartition) -> CommitPartition {
    CommitPartition {
        topic: topic.name.clone(),
        topic_id: topic.id,
        partition: partition.partition_index,
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition
            .committed_metadata
            .as_ref()
            .map_or_else(|| "".into(), shared),
    }
}

fn fill(response: &mut Response, mut codes: impl Iterator<Item = ErrorCode>) {
    let partitions = response.topics.iter_mut().flat_map(|t| &mut t.partitions);
    for open in partitions.filter(|p| p.error_code == OPEN) {
        let code = codes.next().unwrap_or(ErrorCode::UnknownServerError);
        open.error_code = code.code();
    }
}

fn code_of(result: &Result<(), Error>) -> ErrorCode {
    result
        .as_ref()
        .err()
        .map_or(ErrorCode::None, error_code::group)
}

fn refused(failed: &Failed, version: i16) -> ErrorCode {
    match failed {
        Failed::Refused(Error::GroupNotFound) if version < GROUP_NOT_FOUND_FROM => {
            ErrorCode::IllegalGeneration
        }
        _ => failed.code(),
    }
}
