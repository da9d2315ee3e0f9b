//! Creating, growing and deleting topics, by the rules of Kafka's controller; the texts are its own.

use std::sync::Arc;

use model::{BrokerId, TopicId};

use super::command::{Assignment, Refusal, Reply};
use super::image::{ConfigResource, Image, Topic};
use super::{config, partition};
use crate::placement;

/// Kafka's own limit; file names are made of topic names.
const NAME_LEN_MAX: usize = 249;

/// Partitions that one command may create, as Kafka's controller has it: every broker holds them all in
/// memory, and a number is quickly written.
pub(super) const NEW_PARTITIONS_MAX: usize = 10_000;

pub(super) fn create(
    image: &mut Image,
    name: &str,
    id: TopicId,
    assignment: Assignment,
    configs: Vec<(String, String)>,
) -> Result<Reply, Refusal> {
    check_name(name)?;
    if let Some(present) = image.topic_names.get(name) {
        // The same command again, sent by one that did not hear the answer.
        if *present == id {
            return Ok(Reply::TopicCreated { id });
        }
        return Err(Refusal::TopicExists(name.to_owned()));
    }
    if let Some(other) = colliding(image, name) {
        return Err(Refusal::InvalidTopicName(format!(
            "Topic '{name}' collides with existing topic: {other}"
        )));
    }
    let assignment = match assignment {
        Assignment::Spread {
            partitions,
            replication_factor,
        } => {
            if partitions < 1 {
                return Err(Refusal::InvalidPartitions(
                    "Number of partitions was set to an invalid non-positive value.".to_owned(),
                ));
            }
            place(image, partitions, replication_factor)?
        }
        Assignment::Manual(assignment) => {
            check_count(assignment.len())?;
            check_manual(image, &assignment)?;
            assignment
        }
    };
    let name: Arc<str> = name.into();
    let partitions = assignment
        .into_iter()
        .map(|replicas| Arc::new(partition::fresh(image, replicas)))
        .collect();
    image.topics.insert(
        id,
        Arc::new(Topic {
            id,
            name: Arc::clone(&name),
            internal: matches!(name.as_ref(), "__consumer_offsets" | "__transaction_state"),
            partitions,
        }),
    );
    image.topic_names.insert(Arc::clone(&name), id);
    if !configs.is_empty() {
        let changes = configs
            .into_iter()
            .map(|(key, value)| (key, Some(value)))
            .collect();
        config::alter(image, ConfigResource::Topic(name), changes)?;
    }
    Ok(Reply::TopicCreated { id })
}

pub(super) fn delete(image: &mut Image, id: TopicId) -> Result<Reply, Refusal> {
    let topic = image.topics.remove(&id).ok_or(Refusal::UnknownTopic)?;
    image.topic_names.remove(&topic.name);
    image
        .configs
        .remove(&ConfigResource::Topic(Arc::clone(&topic.name)));
    Ok(Reply::Done)
}

pub(super) fn create_partitions(
    image: &mut Image,
    id: TopicId,
    count: i32,
    assignments: Vec<Vec<BrokerId>>,
) -> Result<Reply, Refusal> {
    let topic = image.topics.get(&id).ok_or(Refusal::UnknownTopic)?;
    let present = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let factor = topic.partitions.front().map_or(1, |p| p.target().count());
    if count == present {
        return Err(Refusal::InvalidPartitions(format!(
            "Topic already has {present} partition(s)."
        )));
    }
    if count < present {
        return Err(Refusal::InvalidPartitions(format!(
            "The topic {} currently has {present} partition(s); {count} would not be an increase.",
            topic.name
        )));
    }
    let added = count - present;
    let assignments = if assignments.is_empty() {
        place(image, added, i16::try_from(factor).unwrap_or(i16::MAX))?
    } else {
        if assignments.len() != usize::try_from(added).unwrap_or(0) {
            return Err(Refusal::InvalidReplicaAssignment(format!(
                "Attempted to add {added} additional partition(s), but only {} assignment(s) were specified.",
                assignments.len()
            )));
        }
        check_count(assignments.len())?;
        check_manual(image, &assignments)?;
        if assignments.iter().any(|replicas| replicas.len() != factor) {
            return Err(Refusal::InvalidReplicaAssignment(format!(
                "The manual partition assignment must have {factor} replica(s) as the other partitions have."
            )));
        }
        assignments
    };
    let fresh: Vec<_> = assignments
        .into_iter()
        .map(|replicas| Arc::new(partition::fresh(image, replicas)))
        .collect();
    if let Some(topic) = image.topics.get_mut(&id) {
        Arc::make_mut(topic).partitions.extend(fresh);
    }
    Ok(Reply::Done)
}

fn place(
    image: &Image,
    partitions: i32,
    replication_factor: i16,
) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    let Some(factor) = usize::try_from(replication_factor).ok().filter(|f| *f > 0) else {
        return Err(Refusal::InvalidReplicationFactor(
            "Replication factor must be larger than 0, or -1 to use the default value.".to_owned(),
        ));
    };
    let partitions = usize::try_from(partitions).unwrap_or(0);
    check_count(partitions)?;
    placement::spread(image, partitions, factor).map_err(
        |placement::TooFewBrokers { active, registered }| {
            let reason = if active == 0 {
                "no broker is available to lead".to_owned()
            } else {
                format!("only {registered} broker(s) are registered")
            };
            Refusal::InvalidReplicationFactor(format!(
                "Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be reached because {reason}."
            ))
        },
    )
}

fn check_count(partitions: usize) -> Result<(), Refusal> {
    if partitions > NEW_PARTITIONS_MAX {
        return Err(Refusal::TooManyPartitions);
    }
    Ok(())
}

fn check_manual(image: &Image, assignment: &[Vec<BrokerId>]) -> Result<(), Refusal> {
    let refuse = |text: String| Err(Refusal::InvalidReplicaAssignment(text));
    let Some(first) = assignment.first() else {
        return refuse("The manual partition assignment is empty.".to_owned());
    };
    for replicas in assignment {
        check_replicas(image, replicas)?;
        if replicas.len() != first.len() {
            return refuse(format!(
                "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with previous partitions, which have {} replica(s).",
                replicas.len(),
                first.len()
            ));
        }
    }
    if !assignment
        .iter()
        .all(|replicas| replicas.iter().any(|id| image.is_active(*id)))
    {
        return refuse(
            "All brokers specified in the manual partition assignment for a partition are fenced or in controlled shutdown.".to_owned(),
        );
    }
    Ok(())
}

/// Whether a partition may have just these replicas.
pub(super) fn check_replicas(image: &Image, replicas: &[BrokerId]) -> Result<(), Refusal> {
    let refuse = |text: String| Err(Refusal::InvalidReplicaAssignment(text));
    if replicas.is_empty() {
        return refuse(
            "The manual partition assignment includes an empty replica list.".to_owned(),
        );
    }
    for (place, id) in replicas.iter().enumerate() {
        if !image.brokers.contains_key(id) {
            return refuse(format!(
                "The manual partition assignment includes broker {id}, but no such broker is registered."
            ));
        }
        if replicas.iter().take(place).any(|earlier| earlier == id) {
            return refuse(format!(
                "The manual partition assignment includes the broker {id} more than once."
            ));
        }
    }
    Ok(())
}

/// Kafka's rules for topic names, and its texts.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let refuse = |text: String| Err(Refusal::InvalidTopicName(text));
    if name.is_empty() {
        return refuse("Topic name is invalid: the empty string is not allowed".to_owned());
    }
    if name == "." || name == ".." {
        return refuse(format!("Topic name is invalid: '{name}' is not allowed"));
    }
    if name.len() > NAME_LEN_MAX {
        return refuse(format!(
            "Topic name is invalid: the length of '{name}' is longer than the max allowed length {NAME_LEN_MAX}"
        ));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !name.chars().all(legal) {
        return refuse(format!(
            "Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ));
    }
    Ok(())
}

/// Metric names replace `.` by `_`, so two topics may not differ in these only.
fn colliding<'a>(image: &'a Image, name: &str) -> Option<&'a Arc<str>> {
    if !name.contains(['.', '_']) {
        return None;
    }
    let flat = name.replace('.', "_");
    image
        .topic_names
        .keys()
        .find(|other| other.replace('.', "_") == flat)
}
