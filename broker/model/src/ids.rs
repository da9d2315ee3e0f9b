//! Identifiers as types of their own, so that an offset is never passed where an epoch is meant.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Kafka's `node.id` / `broker.id`: the ordinal of the pod in its StatefulSet. Never negative for a
/// registered broker; `-1` means "none" on the wire only.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BrokerId(pub i32);

/// Position of a record in a partition, from 0. `-1` is Kafka's "unknown".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Offset(pub i64);

/// Leader epoch of a partition: raised by one at each election (KIP-101). `-1` is "unknown".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub i32);

/// Number of a queue shard: one Raft group that carries many quorum queues.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ShardId(pub u32);

/// Identity of a topic over its whole life; a topic created again under the same name gets another
/// one (KIP-516).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TopicId(pub Uuid);

/// One partition of one topic.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct TopicPartition {
    pub topic: TopicId,
    pub partition: i32,
}

impl Offset {
    pub const UNKNOWN: Self = Self(-1);
}

impl Epoch {
    pub const UNKNOWN: Self = Self(-1);
}

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}
