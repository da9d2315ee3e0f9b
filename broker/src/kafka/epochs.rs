//! `OffsetForLeaderEpoch`: where an epoch ended, for clients that check whether their log still
//! holds (KIP-320).

use kafka_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderPartition, OffsetForLeaderTopicResult, Request, Response,
};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::image::Image;
use model::Epoch;
use uuid::Uuid;

use super::dispatch::{Answer, Call, Serve};
use super::{Front, replicas};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(2, 4);

    async fn serve(self, call: Call) -> Answer<Response> {
        let image = call.front.metadata.image();
        let topics = self
            .topics
            .into_iter()
            .map(|topic| OffsetForLeaderTopicResult {
                partitions: topic
                    .partitions
                    .iter()
                    .map(|asked| end(&call.front, &image, &topic.topic, asked))
                    .collect(),
                topic: topic.topic,
            });
        Response {
            topics: topics.collect(),
            ..Response::default()
        }
        .into()
    }
}

fn end(
    front: &Front,
    image: &Image,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> EpochEndOffset {
    let found = replicas::find(front, image, topic, Uuid::nil(), asked.partition)
        .map_err(|missing| missing.code)
        .and_then(|replica| {
            replicas::leading(&replica, asked.current_leader_epoch)?;
            Ok(replica.epoch_end(Epoch(asked.leader_epoch)))
        });
    match found {
        Ok((epoch, offset)) => EpochEndOffset {
            error_code: ErrorCode::None.code(),
            partition: asked.partition,
            leader_epoch: epoch.0,
            end_offset: offset.0,
        },
        Err(code) => EpochEndOffset {
            error_code: code.code(),
            partition: asked.partition,
            ..EpochEndOffset::default()
        },
    }
}
