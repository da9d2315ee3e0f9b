//! Consumer groups and how far behind they are.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupSummary {
    pub id: String,
    /// Kafka's name of the state: `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Stable`,
    /// `Dead`.
    pub state: String,
    pub protocol_type: String,
    pub members: usize,
    /// Records behind, over every partition it committed on.
    pub lag_records: i64,
    /// Worst partition's age of the first uncommitted record, in seconds; 0 when nothing is
    /// uncommitted, absent when it never committed.
    pub lag_seconds: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    #[serde(flatten)]
    pub summary: GroupSummary,
    /// Broker that coordinates it.
    pub coordinator: i32,
    /// Assignor the members agreed on; empty without members.
    pub protocol: String,
    pub membership: Vec<GroupMember>,
    /// Those on which it has committed.
    pub partitions: Vec<GroupPartition>,
}

impl Group {
    /// Topic and number of the partitions that its members read and on which it has committed nothing. How
    /// far behind it is there nobody knows but the members: `auto.offset.reset` is theirs.
    #[must_use]
    pub fn uncommitted(&self) -> BTreeSet<(&str, i32)> {
        let assigned = self.membership.iter().flat_map(|m| &m.assigned);
        let mut found: BTreeSet<_> = assigned
            .flat_map(|of| of.partitions.iter().map(|p| (of.topic.as_str(), *p)))
            .collect();
        for known in &self.partitions {
            found.remove(&(known.topic.as_str(), known.partition));
        }
        found
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupMember {
    pub member_id: String,
    pub instance_id: Option<String>,
    pub client_id: String,
    pub host: String,
    /// Assigned partitions; empty when the assignment is not Kafka's consumer protocol.
    pub assigned: Vec<MemberPartitions>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberPartitions {
    pub topic: String,
    pub partitions: Vec<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPartition {
    pub topic: String,
    pub partition: i32,
    /// Next offset to read.
    pub committed: i64,
    /// High watermark; absent while the partition's leader cannot be asked.
    pub end: Option<i64>,
    pub lag_records: Option<i64>,
    pub lag_seconds: Option<f64>,
}
