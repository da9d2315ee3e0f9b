//! Topics, their partitions and their configs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    pub name: String,
    /// UUID; a topic made again under the same name has another one.
    pub id: String,
    /// `__consumer_offsets` and its kin.
    pub internal: bool,
    /// Index in the vector = partition number.
    pub partitions: Vec<Partition>,
    /// Configs set on the topic; a key not listed has its default.
    pub configs: BTreeMap<String, String>,
    /// `min.insync.replicas` in effect.
    pub min_insync_replicas: i32,
}

impl Topic {
    /// Replicas of its first partition, which is what Kafka's own tools print.
    #[must_use]
    pub fn replication_factor(&self) -> usize {
        self.partitions.first().map_or(0, |p| p.replicas.len())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    pub partition: i32,
    /// First one is the preferred leader.
    pub replicas: Vec<i32>,
    pub isr: Vec<i32>,
    /// Absent = offline.
    pub leader: Option<i32>,
    pub leader_epoch: i32,
}

/// What `PUT` makes of a topic: it is created, or grown and its configs changed. Fewer partitions
/// than it has, or another replication factor, are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicSpec {
    /// Absent: the cluster's `num.partitions` for a new topic, unchanged for an old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<i32>,
    /// Absent: the cluster's `default.replication.factor` for a new topic, unchanged for an old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication_factor: Option<i16>,
    /// Keys to set; `null` removes a key. Keys not named stay as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configs: BTreeMap<String, Option<String>>,
}

/// A partition as people write it: `topic-3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartitionName {
    pub topic: String,
    pub partition: i32,
}

impl fmt::Display for PartitionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}
