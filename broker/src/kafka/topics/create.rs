//! `CreateTopics`.

use std::collections::HashSet;

use api::config::{Layers, Scope, catalogue};
use futures::future::join_all;
use kafka_wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfigs, CreatableTopicResult,
    Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::{Assignment, Command};
use machine::metadata::image::ConfigResource;
use model::{BrokerId, TopicId};
use uuid::Uuid;

use super::{Failure, submit};
use crate::config::effective::with_layers;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::quotas::Mutations;
use crate::kafka::{Front, configs, directory};

/// First version whose clients know what to do when a quota is used up (KIP-599).
const STRICT_FROM: i16 = 6;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(2, 7);

    async fn serve(self, call: Call) -> Answer<Response> {
        let mut seen = HashSet::new();
        let twice: HashSet<Str> = self
            .topics
            .iter()
            .filter(|topic| !seen.insert(topic.name.clone()))
            .map(|topic| topic.name.clone())
            .collect();
        let (timeout_ms, validate_only) = (self.timeout_ms, self.validate_only);
        let front = &call.front;
        let quota = &call.mutations(STRICT_FROM);
        // One that is named twice is refused, and told once.
        let mut told = HashSet::new();
        let once = |topic: &CreatableTopic| told.insert(topic.name.clone());
        let results = self.topics.into_iter().filter(once).map(|topic| {
            let twice = twice.contains(&topic.name);
            async move {
                let name = topic.name.clone();
                let created = if twice {
                    Err(Failure::new(
                        ErrorCode::InvalidRequest,
                        "Duplicate topic name.",
                    ))
                } else {
                    create(front, quota, topic, timeout_ms, validate_only).await
                };
                created.unwrap_or_else(|failure| failed(name, failure))
            }
        });
        Response {
            topics: join_all(results).await,
            ..Response::default()
        }
        .into()
    }
}

fn failed(name: Str, failure: Failure) -> CreatableTopicResult {
    CreatableTopicResult {
        name,
        error_code: failure.code.code(),
        error_message: Some(failure.message.into()),
        configs: Some(Vec::new()),
        ..CreatableTopicResult::default()
    }
}

async fn create(
    front: &Front,
    quota: &Mutations<'_>,
    topic: CreatableTopic,
    timeout_ms: i32,
    validate_only: bool,
) -> Result<CreatableTopicResult, Failure> {
    super::check_name(&topic.name)?;
    let assignment = assignment(front, &topic)?;
    let (num_partitions, replication_factor) = counts(&assignment);
    let given = configs(&topic)?;
    configs::check_together(front, &topic.name, &given)?;
    if directory::topic_named(&front.metadata.image(), &topic.name).is_none() {
        quota.take(usize::try_from(num_partitions).unwrap_or_default())?;
    }
    let id = TopicId(Uuid::new_v4());
    let command = Command::CreateTopic {
        name: topic.name.to_string(),
        id,
        assignment,
        configs: given.clone(),
    };
    submit(front, command, timeout_ms, validate_only).await?;
    Ok(CreatableTopicResult {
        topic_id: id.0,
        error_code: ErrorCode::None.code(),
        error_message: None,
        num_partitions,
        replication_factor,
        configs: Some(effective(front, &topic.name, &given)),
        name: topic.name,
        ..CreatableTopicResult::default()
    })
}

fn counts(assignment: &Assignment) -> (i32, i16) {
    match assignment {
        Assignment::Spread {
            partitions,
            replication_factor,
        } => (*partitions, *replication_factor),
        Assignment::Manual(replicas) => (
            i32::try_from(replicas.len()).unwrap_or(i32::MAX),
            replicas
                .first()
                .map_or(-1, |first| i16::try_from(first.len()).unwrap_or(i16::MAX)),
        ),
    }
}

/// The counts asked for, -1 being the broker's default, or the replicas the client chose.
fn assignment(front: &Front, topic: &CreatableTopic) -> Result<Assignment, Failure> {
    if !topic.assignments.is_empty() {
        return manual(topic);
    }
    let (default_partitions, default_factor) = super::defaults(front);
    let partitions = match topic.num_partitions {
        -1 => default_partitions,
        count if count > 0 => count,
        _ => {
            return Err(Failure::new(
                ErrorCode::InvalidPartitions,
                "Number of partitions was set to an invalid non-positive value.",
            ));
        }
    };
    let replication_factor = match topic.replication_factor {
        -1 => default_factor,
        factor if factor > 0 => factor,
        _ => {
            return Err(Failure::new(
                ErrorCode::InvalidReplicationFactor,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            ));
        }
    };
    Ok(Assignment::Spread {
        partitions,
        replication_factor,
    })
}

fn manual(topic: &CreatableTopic) -> Result<Assignment, Failure> {
    if topic.num_partitions != -1 {
        return Err(Failure::new(
            ErrorCode::InvalidRequest,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ));
    }
    if topic.replication_factor != -1 {
        return Err(Failure::new(
            ErrorCode::InvalidRequest,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ));
    }
    let mut given: Vec<&CreatableReplicaAssignment> = topic.assignments.iter().collect();
    given.sort_by_key(|assignment| assignment.partition_index);
    if !(0..)
        .zip(&given)
        .all(|(n, given)| given.partition_index == n)
    {
        return Err(Failure::new(
            ErrorCode::InvalidReplicaAssignment,
            "partitions should be a consecutive 0-based integer sequence",
        ));
    }
    let replicas = |given: &&CreatableReplicaAssignment| {
        given.broker_ids.iter().copied().map(BrokerId).collect()
    };
    Ok(Assignment::Manual(given.iter().map(replicas).collect()))
}

/// The last value of a key that is given more than once counts.
fn configs(topic: &CreatableTopic) -> Result<Vec<(String, String)>, Failure> {
    let later = |n: usize| topic.configs.iter().skip(n + 1);
    let stated = topic.configs.iter().enumerate();
    stated
        .filter(|(n, config)| !later(*n).any(|other| other.name == config.name))
        .map(|(_, config)| {
            let Some(value) = &config.value else {
                return Err(Failure::new(
                    ErrorCode::InvalidConfig,
                    format!(
                        "Null value not supported for topic configs: {}",
                        config.name
                    ),
                ));
            };
            configs::check(Scope::Topic, &config.name, value)?;
            Ok((config.name.to_string(), value.to_string()))
        })
        .collect()
}

/// Every public key of the new topic with its value, for clients that show what they got.
fn effective(front: &Front, name: &str, given: &[(String, String)]) -> Vec<CreatableTopicConfigs> {
    let catalogue = catalogue(Scope::Topic);
    let own = |key: &str| {
        let (_, value) = given.iter().find(|(name, _)| name == key)?;
        Some(value.clone())
    };
    let image = front.metadata.image();
    let resource = ConfigResource::Topic(name.into());
    with_layers(&front.config, &image, &resource, |layers| {
        let layers = Layers {
            resource: &own,
            ..layers
        };
        catalogue
            .public()
            .map(|definition| {
                let effective = catalogue.effective(definition, layers);
                CreatableTopicConfigs {
                    name: Str::from_static(definition.name),
                    value: effective.value.map(Str::from),
                    read_only: false,
                    config_source: effective.source as i8,
                    is_sensitive: definition.is_sensitive(),
                }
            })
            .collect()
    })
}
