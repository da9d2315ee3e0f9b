//! `AlterPartitionReassignments`: begins moves, and calls them off where no replicas are named.

use kafka_wire::messages::alter_partition_reassignments::{
    ReassignablePartitionResponse, ReassignableTopic, ReassignableTopicResponse, Request, Response,
};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::command::{Command, Reassignment, Reply};
use machine::metadata::image::Image;
use model::BrokerId;

use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::{Failure, submit};
use crate::kafka::{Front, directory};

/// What became of one partition, in the order of the request.
type Outcome = Result<(), Failure>;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 1);

    async fn serve(self, call: Call) -> Answer<Response> {
        let decided = decide(&call.front, &self).await;
        let (error, outcomes) = match decided {
            Ok(outcomes) => (None, outcomes),
            // Nothing is known of any of them.
            Err(failure) => (Some(failure), Vec::new()),
        };
        let mut outcomes = outcomes.into_iter();
        let responses = self.topics.into_iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                let failed = outcomes.next().and_then(Result::err);
                let failed = failed.as_ref().or(error.as_ref());
                ReassignablePartitionResponse {
                    partition_index: partition.partition_index,
                    error_code: failed.map_or(ErrorCode::None, |f| f.code).code(),
                    error_message: failed.map(|f| f.message.as_str().into()),
                }
            });
            ReassignableTopicResponse {
                partitions: partitions.collect(),
                name: topic.name,
            }
        });
        Response {
            allow_replication_factor_change: self.allow_replication_factor_change,
            responses: responses.collect(),
            error_code: error.as_ref().map_or(ErrorCode::None, |f| f.code).code(),
            error_message: error.as_ref().map(|f| f.message.as_str().into()),
            ..Response::default()
        }
        .into()
    }
}

/// One command for all partitions that there are: they are decided by one image.
async fn decide(front: &Front, request: &Request) -> Result<Vec<Outcome>, Failure> {
    let image = front.metadata.image();
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut places = Vec::new();
    let mut partitions = Vec::new();
    for topic in &request.topics {
        for found in wanted(&image, topic) {
            match found {
                Ok(reassignment) => {
                    places.push(outcomes.len());
                    partitions.push(reassignment);
                    outcomes.push(Ok(()));
                }
                Err(failure) => outcomes.push(Err(failure)),
            }
        }
    }
    if partitions.is_empty() {
        return Ok(outcomes);
    }
    let command = Command::ReassignPartitions {
        partitions,
        allow_factor_change: request.allow_replication_factor_change,
    };
    if let Reply::Reassigned(refusals) = submit(front, command, request.timeout_ms, false).await? {
        for (place, refusal) in places.into_iter().zip(refusals) {
            if let (Some(outcome), Some(refusal)) = (outcomes.get_mut(place), refusal) {
                *outcome = Err(refusal.into());
            }
        }
    }
    Ok(outcomes)
}

fn wanted<'a>(
    image: &'a Image,
    asked: &'a ReassignableTopic,
) -> impl Iterator<Item = Result<Reassignment, Failure>> + 'a {
    let topic = directory::topic_named(image, &asked.name);
    asked.partitions.iter().map(move |partition| {
        let index = partition.partition_index;
        let unknown = |text| Failure::new(ErrorCode::UnknownTopicOrPartition, text);
        let Some(topic) = topic else {
            return Err(unknown(format!(
                "Unable to find a topic named {}.",
                asked.name
            )));
        };
        if directory::partition(topic, index).is_none() {
            return Err(unknown(format!(
                "Unable to find partition {}:{index}.",
                asked.name
            )));
        }
        let replicas = partition.replicas.as_ref();
        Ok(Reassignment {
            topic: topic.id,
            partition: index,
            replicas: replicas.map(|ids| ids.iter().copied().map(BrokerId).collect()),
        })
    })
}
