//! `OffsetDelete`.

use kafka_wire::messages::offset_delete::{
    OffsetDeleteRequestTopic, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic, Request,
    Response,
};
use kafka_wire::{ErrorCode, Versions};
use machine::group::{Command, Reply};

use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::groups::{shared, submit};
use crate::kafka::{directory, error_code};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 0);

    async fn serve(self, call: Call) -> Answer<Response> {
        let image = call.front.metadata.image();
        let exists = |topic: &OffsetDeleteRequestTopic, index: i32| {
            directory::topic_named(&image, &topic.name)
                .is_some_and(|found| directory::partition(found, index).is_some())
        };
        let asked = self.topics.iter().flat_map(|topic| {
            let indexes = topic.partitions.iter().map(|p| p.partition_index);
            indexes.map(move |index| (topic, index))
        });
        let partitions = asked
            .filter(|(topic, index)| exists(topic, *index))
            .map(|(topic, index)| (topic.name.as_str().into(), index))
            .collect();
        let command = Command::DeleteOffsets(partitions);
        let deleted = submit(
            &call,
            shared(&self.group_id),
            command,
            |reply| match reply {
                Reply::DeleteOffsets(result) => Some(result),
                _ => None,
            },
        )
        .await;
        let mut results = match deleted {
            Ok(results) => results.into_iter(),
            Err(failed) => {
                return Response {
                    error_code: failed.code().code(),
                    ..Response::default()
                }
                .into();
            }
        };
        let mut answer = |topic: &OffsetDeleteRequestTopic, partition: i32| {
            let code = if exists(topic, partition) {
                match results.next() {
                    Some(Err(error)) => error_code::group(&error),
                    _ => ErrorCode::None,
                }
            } else {
                ErrorCode::UnknownTopicOrPartition
            };
            OffsetDeleteResponsePartition {
                partition_index: partition,
                error_code: code.code(),
            }
        };
        let mut topics = Vec::with_capacity(self.topics.len());
        for topic in &self.topics {
            let indexes = topic.partitions.iter().map(|p| p.partition_index);
            topics.push(OffsetDeleteResponseTopic {
                name: topic.name.clone(),
                partitions: indexes.map(|index| answer(topic, index)).collect(),
            });
        }
        Response {
            topics,
            ..Response::default()
        }
        .into()
    }
}
