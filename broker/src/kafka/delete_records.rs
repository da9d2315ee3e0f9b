//! `DeleteRecords`: the beginning of a partition, moved by hand.

use std::time::Duration;

use futures::future::join_all;
use kafka_wire::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsTopicResult, Request,
    Response,
};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::image::Image;
use model::Offset;
use uuid::Uuid;

use super::dispatch::{Answer, Call, Serve};
use super::{Front, error_code, replicas};

/// Stands for the end of what consumers can read.
const ALL: i64 = -1;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        let image = call.front.metadata.image();
        let patience = Duration::from_millis(u64::try_from(self.timeout_ms).unwrap_or_default());
        let mut topics = Vec::with_capacity(self.topics.len());
        for topic in self.topics {
            let partitions = topic.partitions.iter().map(|asked| async {
                let deleted = delete(&call.front, &image, &topic.name, asked);
                let deleted = tokio::time::timeout(patience, deleted).await;
                line(asked, deleted.unwrap_or(Err(ErrorCode::RequestTimedOut)))
            });
            let partitions = join_all(partitions).await;
            topics.push(DeleteRecordsTopicResult {
                name: topic.name,
                partitions,
            });
        }
        Response {
            topics,
            ..Response::default()
        }
        .into()
    }
}

/// The new beginning of the partition.
async fn delete(
    front: &Front,
    image: &Image,
    topic: &str,
    asked: &DeleteRecordsPartition,
) -> Result<Offset, ErrorCode> {
    let replica = replicas::find(front, image, topic, Uuid::nil(), asked.partition_index)
        .map_err(|missing| missing.code)?;
    let status = replicas::leading(&replica, -1)?;
    if !replica.deletes() {
        return Err(ErrorCode::PolicyViolation);
    }
    let before = match asked.offset {
        ALL => status.readable_end,
        offset if offset < 0 => return Err(ErrorCode::OffsetOutOfRange),
        offset => Offset(offset),
    };
    if before <= status.log_start {
        return Ok(status.log_start);
    }
    replica
        .delete_records(before)
        .await
        .map_err(|error| error_code::delete(&error))
}

fn line(
    asked: &DeleteRecordsPartition,
    deleted: Result<Offset, ErrorCode>,
) -> DeleteRecordsPartitionResult {
    let (code, low_watermark) = match deleted {
        Ok(start) => (ErrorCode::None, start.0),
        Err(code) => (code, -1),
    };
    DeleteRecordsPartitionResult {
        partition_index: asked.partition_index,
        low_watermark,
        error_code: code.code(),
    }
}
