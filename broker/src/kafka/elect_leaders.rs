//! `ElectLeaders`: back to the preferred replicas.

use kafka_wire::messages::elect_leaders::{
    PartitionResult, ReplicaElectionResult, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::Command;
use machine::metadata::image::{Image, Partition};
use model::TopicId;

use super::dispatch::{Answer, Call, Serve};
use super::{directory, topics};

/// `election_type`: the only kind that loses nothing.
const PREFERRED: i8 = 0;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        if self.election_type != PREFERRED {
            return Response {
                error_code: ErrorCode::InvalidRequest.code(),
                ..Response::default()
            }
            .into();
        }
        let before = call.front.metadata.image();
        let all = self.topic_partitions.is_none();
        let mut wanted = match self.topic_partitions {
            Some(topics) => topics
                .into_iter()
                .map(|topic| {
                    let id = directory::topic_named(&before, &topic.topic).map(|topic| topic.id);
                    let partitions = topic.partitions.into_iter();
                    let results = partitions.map(|index| result(&before, id, index)).collect();
                    (id, topic.topic, results)
                })
                .collect(),
            None => every_topic(&before),
        };
        let elections: Vec<(TopicId, i32)> = wanted
            .iter()
            .filter_map(|(id, _, results)| Some(((*id)?, results)))
            .flat_map(|(id, results)| results.iter().map(move |result| (id, result)))
            .filter(|(_, result)| result.error_code == ErrorCode::None.code())
            .map(|(id, result)| (id, result.partition_id))
            .collect();
        let mut error_code = ErrorCode::None;
        if !elections.is_empty() {
            let command = Command::ElectPreferred {
                partitions: Some(elections),
            };
            match topics::submit(&call.front, command, self.timeout_ms, false).await {
                Ok(_) => settle(&call.front.metadata.image(), &mut wanted),
                Err(failure) => error_code = failure.code,
            }
        }
        Response {
            error_code: error_code.code(),
            replica_election_results: wanted
                .into_iter()
                .map(|(_, topic, mut partition_result)| {
                    if all {
                        partition_result
                            .retain(|r| r.error_code != ErrorCode::ElectionNotNeeded.code());
                    }
                    ReplicaElectionResult {
                        topic,
                        partition_result,
                    }
                })
                .filter(|topic| !all || !topic.partition_result.is_empty())
                .collect(),
            ..Response::default()
        }
        .into()
    }
}

type Wanted = (Option<TopicId>, Str, Vec<PartitionResult>);

fn every_topic(image: &Image) -> Vec<Wanted> {
    image
        .topics
        .values()
        .map(|topic| {
            let indexes = (0..).zip(&topic.partitions).map(|(index, _)| index);
            let results = indexes.map(|index| result(image, Some(topic.id), index));
            (Some(topic.id), Str::from(&*topic.name), results.collect())
        })
        .collect()
}

/// NONE for a partition whose preferred replica can be elected.
fn result(image: &Image, topic: Option<TopicId>, index: i32) -> PartitionResult {
    let partition = topic
        .and_then(|id| image.topics.get(&id))
        .and_then(|topic| directory::partition(topic, index));
    let code = match partition {
        None => ErrorCode::UnknownTopicOrPartition,
        Some(partition) if is_preferred(partition) => ErrorCode::ElectionNotNeeded,
        Some(partition) if may_lead(image, partition) => ErrorCode::None,
        Some(_) => ErrorCode::PreferredLeaderNotAvailable,
    };
    PartitionResult {
        partition_id: index,
        error_code: code.code(),
        error_message: message(code),
    }
}

fn message(code: ErrorCode) -> Option<Str> {
    let text = match code {
        ErrorCode::None => return None,
        ErrorCode::UnknownTopicOrPartition => "No such topic or partition.",
        ErrorCode::ElectionNotNeeded => "Leader election not needed for topic partition.",
        _ => "The preferred leader was not available.",
    };
    Some(Str::from_static(text))
}

fn is_preferred(partition: &Partition) -> bool {
    partition.leader.is_some() && partition.leader == partition.replicas.first().copied()
}

fn may_lead(image: &Image, partition: &Partition) -> bool {
    partition
        .replicas
        .first()
        .is_some_and(|id| partition.isr.contains(id) && directory::is_reachable(image, *id))
}

/// Looks at what became of the elections.
fn settle(image: &Image, wanted: &mut [Wanted]) {
    for (id, _, results) in wanted {
        for result in results.iter_mut().filter(|r| r.error_code == 0) {
            let elected = id
                .and_then(|id| image.topics.get(&id))
                .and_then(|topic| directory::partition(topic, result.partition_id))
                .is_some_and(|partition| is_preferred(partition));
            if !elected {
                let code = ErrorCode::PreferredLeaderNotAvailable;
                result.error_code = code.code();
                result.error_message = message(code);
            }
        }
    }
}
