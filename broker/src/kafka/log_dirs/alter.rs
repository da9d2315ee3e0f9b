//! `AlterReplicaLogDirs`: a replica that is here is in the one directory already, and to another it
//! cannot go.

use std::collections::HashMap;
use std::path::Path;

use kafka_wire::messages::alter_replica_log_dirs::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use model::TopicPartition;

use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::{Front, directory};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        let mut results: Vec<AlterReplicaLogDirTopicResult> = Vec::new();
        let mut places: HashMap<Str, usize> = HashMap::new();
        for dir in self.dirs {
            let known = Path::new(&*dir.path) == call.front.config.log_dir;
            for topic in dir.topics {
                let partitions = topic.partitions.iter().map(|index| {
                    let code = answer(&call.front, known, &topic.name, *index);
                    AlterReplicaLogDirPartitionResult {
                        partition_index: *index,
                        error_code: code.code(),
                    }
                });
                let partitions: Vec<_> = partitions.collect();
                if partitions.is_empty() {
                    continue;
                }
                // A topic may be named under several directories, and is answered once.
                let place = *places.entry(topic.name.clone()).or_insert(results.len());
                match results.get_mut(place) {
                    Some(result) => result.partitions.extend(partitions),
                    None => results.push(AlterReplicaLogDirTopicResult {
                        topic_name: topic.name,
                        partitions,
                    }),
                }
            }
        }
        Response {
            results,
            ..Response::default()
        }
        .into()
    }
}

/// Kafka's codes: what is assigned but not here may be asked for again, what is nowhere may not.
fn answer(front: &Front, known_dir: bool, topic: &str, index: i32) -> ErrorCode {
    if !known_dir {
        return ErrorCode::LogDirNotFound;
    }
    let image = front.metadata.image();
    let found = directory::topic_named(&image, topic)
        .filter(|topic| directory::partition(topic, index).is_some());
    let Some(found) = found else {
        return ErrorCode::UnknownTopicOrPartition;
    };
    let here = front.roster.get(TopicPartition {
        topic: found.id,
        partition: index,
    });
    here.map_or(ErrorCode::ReplicaNotAvailable, |_| ErrorCode::None)
}
