//! `__consumer_offsets`: which of its partitions a group belongs to, who leads it, and its making.

#[cfg(test)]
mod tests;

use machine::metadata::command::{Assignment, Command, Refusal, Reply};
use machine::metadata::image::{Image, Topic};
use model::{BrokerId, TopicId};
use uuid::Uuid;

use super::{Config, Unavailable};
use crate::metadata;

pub const NAME: &str = "__consumer_offsets";

/// The partition of `group` among `partitions`: Java's string hash, made positive as Kafka does, so
/// that tools that compute it themselves agree.
pub fn partition_of(group: &str, partitions: usize) -> i32 {
    let hash = group
        .encode_utf16()
        .fold(0_i32, |h, c| h.wrapping_mul(31).wrapping_add(i32::from(c)));
    let count = i32::try_from(partitions).unwrap_or(i32::MAX).max(1);
    // The one value without a positive counterpart becomes 0.
    hash.checked_abs().unwrap_or(0) % count
}

pub(super) fn topic(image: &Image) -> Option<&Topic> {
    let id = image.topic_names.get(NAME)?;
    image.topics.get(id).map(|topic| &**topic)
}

/// The broker that coordinates `group`.
pub(super) fn leader(image: &Image, group: &str) -> Result<BrokerId, Unavailable> {
    let topic = topic(image).ok_or(Unavailable::NotAvailable)?;
    let partition = partition_of(group, topic.partitions.len());
    usize::try_from(partition)
        .ok()
        .and_then(|index| topic.partitions.get(index))
        .and_then(|partition| partition.leader)
        .ok_or(Unavailable::NotAvailable)
}

/// Makes the topic unless it is there.
///
/// A cluster that is still coming up must not get a topic with too few replicas for the rest of its
/// life: as many brokers as the quorum names, at least, have to be registered first.
pub(super) async fn ensure(
    metadata: &metadata::Handle,
    config: &Config,
) -> Result<(), Unavailable> {
    let image = metadata.image();
    if topic(&image).is_some() {
        return Ok(());
    }
    let registered = image.brokers.len();
    let expected = metadata.voters().len().max(registered);
    let replicas = usize::try_from(config.replication_factor)
        .unwrap_or(1)
        .clamp(1, expected.max(1));
    if registered < replicas {
        return Err(Unavailable::NotAvailable);
    }
    let create = Command::CreateTopic {
        name: NAME.to_owned(),
        id: TopicId(Uuid::new_v4()),
        assignment: Assignment::Spread {
            partitions: config.partitions,
            replication_factor: i16::try_from(replicas).unwrap_or(i16::MAX),
        },
        configs: vec![
            ("cleanup.policy".to_owned(), "compact".to_owned()),
            ("compression.type".to_owned(), "producer".to_owned()),
            ("segment.bytes".to_owned(), config.segment_bytes.to_string()),
        ],
    };
    match metadata.submit(create).await {
        Ok(Reply::Refused(Refusal::TopicExists(_)) | Reply::TopicCreated { .. }) => Ok(()),
        Ok(other) => {
            tracing::warn!(reply = ?other, "the offsets topic cannot be created");
            Err(Unavailable::NotAvailable)
        }
        Err(metadata::Unavailable) => Err(Unavailable::NotAvailable),
    }
}
