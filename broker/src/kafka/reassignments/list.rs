//! `ListPartitionReassignments`: the moves that are under way.

use kafka_wire::messages::list_partition_reassignments::{
    OngoingPartitionReassignment, OngoingTopicReassignment, Request, Response,
};
use kafka_wire::{Str, Versions};
use machine::metadata::image::{Partition, Topic};

use crate::kafka::directory;
use crate::kafka::dispatch::{Answer, Call, Serve};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 0);

    async fn serve(self, call: Call) -> Answer<Response> {
        let image = call.front.metadata.image();
        let topics: Vec<_> = match self.topics {
            None => image.topics.values().map(|topic| all(topic)).collect(),
            Some(asked) => asked
                .iter()
                .filter_map(|asked| {
                    let topic = directory::topic_named(&image, &asked.name)?;
                    let indexes = asked.partition_indexes.iter().copied();
                    Some(ongoing(topic, indexes))
                })
                .collect(),
        };
        let moves = |topic: &OngoingTopicReassignment| !topic.partitions.is_empty();
        Response {
            topics: topics.into_iter().filter(moves).collect(),
            ..Response::default()
        }
        .into()
    }
}

fn all(topic: &Topic) -> OngoingTopicReassignment {
    let indexes = (0..).zip(&topic.partitions).map(|(index, _)| index);
    ongoing(topic, indexes)
}

/// Those of the partitions that move; what does not exist does not move.
fn ongoing(topic: &Topic, indexes: impl Iterator<Item = i32>) -> OngoingTopicReassignment {
    let moving = |index| {
        let partition = directory::partition(topic, index)?;
        partition.is_moving().then(|| line(index, partition))
    };
    OngoingTopicReassignment {
        name: Str::from(&*topic.name),
        partitions: indexes.filter_map(moving).collect(),
    }
}

fn line(index: i32, partition: &Partition) -> OngoingPartitionReassignment {
    OngoingPartitionReassignment {
        partition_index: index,
        replicas: directory::ids(&partition.replicas),
        adding_replicas: directory::ids(&partition.adding),
        removing_replicas: directory::ids(&partition.removing),
    }
}
