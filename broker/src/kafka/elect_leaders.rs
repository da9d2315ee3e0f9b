//! `ElectLeaders`: back to the preferred replicas, or to any that is left.

use kafka_wire::messages::elect_leaders::{
    PartitionResult, ReplicaElectionResult, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::Command;
use machine::metadata::image::{Image, Partition};
use model::{BrokerId, TopicId};

use super::dispatch::{Answer, Call, Serve};
use super::{directory, topics};

#[cfg(test)]
mod tests;

/// `election_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Election {
    /// Where the preferred replica does not lead; loses nothing.
    Preferred,
    /// Where nobody leads: whoever asks gives up what the new leader lacks.
    Unclean,
}

impl Election {
    fn of(election_type: i8) -> Option<Self> {
        match election_type {
            0 => Some(Self::Preferred),
            1 => Some(Self::Unclean),
            _ => None,
        }
    }

    fn command(self, partitions: Vec<(TopicId, i32)>) -> Command {
        match self {
            Self::Preferred => Command::ElectPreferred {
                partitions: Some(partitions),
            },
            Self::Unclean => Command::ElectUnclean { partitions },
        }
    }

    fn is_done(self, partition: &Partition) -> bool {
        match self {
            Self::Preferred => is_preferred(partition),
            Self::Unclean => partition.leader.is_some(),
        }
    }

    fn is_possible(self, image: &Image, partition: &Partition) -> bool {
        let reachable = |id: &BrokerId| directory::is_reachable(image, *id);
        match self {
            Self::Preferred => partition
                .replicas
                .first()
                .is_some_and(|id| partition.isr.contains(id) && reachable(id)),
            Self::Unclean => partition.replicas.iter().any(reachable),
        }
    }

    /// What Kafka says where it cannot be done.
    fn impossible(self) -> ErrorCode {
        match self {
            Self::Preferred => ErrorCode::PreferredLeaderNotAvailable,
            Self::Unclean => ErrorCode::EligibleLeadersNotAvailable,
        }
    }
}

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        let Some(election) = Election::of(self.election_type) else {
            return refused(self).into();
        };
        let before = call.front.metadata.image();
        let all = self.topic_partitions.is_none();
        let mut wanted = match self.topic_partitions {
            Some(topics) => topics
                .into_iter()
                .map(|topic| {
                    let id = directory::topic_named(&before, &topic.topic).map(|topic| topic.id);
                    let partitions = topic.partitions.into_iter();
                    let results = partitions.map(|index| result(election, &before, id, index));
                    (id, topic.topic, results.collect())
                })
                .collect(),
            None => every_topic(election, &before),
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
            let command = election.command(elections);
            match topics::submit(&call.front, command, self.timeout_ms, false).await {
                Ok(_) => settle(election, &call.front.metadata.image(), &mut wanted),
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

/// Every partition that was named, with what is wrong with the request.
fn refused(request: Request) -> Response {
    let code = ErrorCode::InvalidRequest.code();
    let topics = request.topic_partitions.into_iter().flatten();
    let results = topics.map(|topic| ReplicaElectionResult {
        topic: topic.topic,
        partition_result: topic
            .partitions
            .into_iter()
            .map(|partition_id| PartitionResult {
                partition_id,
                error_code: code,
                error_message: Some(Str::from_static("Unknown election type.")),
            })
            .collect(),
    });
    Response {
        error_code: code,
        replica_election_results: results.collect(),
        ..Response::default()
    }
}

type Wanted = (Option<TopicId>, Str, Vec<PartitionResult>);

fn every_topic(election: Election, image: &Image) -> Vec<Wanted> {
    image
        .topics
        .values()
        .map(|topic| {
            let indexes = (0..).zip(&topic.partitions).map(|(index, _)| index);
            let results = indexes.map(|index| result(election, image, Some(topic.id), index));
            (Some(topic.id), Str::from(&*topic.name), results.collect())
        })
        .collect()
}

/// NONE for a partition whose election is needed and can be held.
fn result(
    election: Election,
    image: &Image,
    topic: Option<TopicId>,
    index: i32,
) -> PartitionResult {
    let partition = topic
        .and_then(|id| image.topics.get(&id))
        .and_then(|topic| directory::partition(topic, index));
    let code = match partition {
        None => ErrorCode::UnknownTopicOrPartition,
        Some(partition) if election.is_done(partition) => ErrorCode::ElectionNotNeeded,
        Some(partition) if election.is_possible(image, partition) => ErrorCode::None,
        Some(_) => election.impossible(),
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
        ErrorCode::EligibleLeadersNotAvailable => {
            "Eligible topic partition leaders are not available."
        }
        _ => "The preferred leader was not available.",
    };
    Some(Str::from_static(text))
}

fn is_preferred(partition: &Partition) -> bool {
    partition.leader.is_some() && partition.leader == partition.replicas.first().copied()
}

/// Looks at what became of the elections.
fn settle(election: Election, image: &Image, wanted: &mut [Wanted]) {
    for (id, _, results) in wanted {
        for result in results.iter_mut().filter(|r| r.error_code == 0) {
            let elected = id
                .and_then(|id| image.topics.get(&id))
                .and_then(|topic| directory::partition(topic, result.partition_id))
                .is_some_and(|partition| election.is_done(partition));
            if !elected {
                let code = election.impossible();
                result.error_code = code.code();
                result.error_message = message(code);
            }
        }
    }
}
