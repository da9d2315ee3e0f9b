//! May a broker stop now, who may stop it, and moving its leaderships away first.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::PartitionName;

/// Longest life of a permit, in milliseconds; a longer one asked for is cut to this.
pub const PERMIT_TTL_MS_MAX: u64 = 30 * 60 * 1000;

/// What stopping one broker at this moment would do. Computed from the metadata at `index`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub broker: i32,
    pub index: u64,
    /// True when `would_block_writes`, `would_go_offline` and `quorum_critical` are empty.
    pub may_stop: bool,
    /// Led by the broker: records acknowledged with `acks=1` and not fetched yet would be lost.
    /// Empty after a drain. Does not forbid the stop.
    pub would_lose_acks: Vec<PartitionName>,
    /// The ISR without the broker would be below `min.insync.replicas`.
    pub would_block_writes: Vec<PartitionName>,
    /// No in-sync replica would be left.
    pub would_go_offline: Vec<PartitionName>,
    /// Raft groups that would be left without a majority.
    pub quorum_critical: Vec<QuorumGroup>,
    /// Partitions whose replication factor is not above `min.insync.replicas`, RF 1 included: no
    /// order of restarts spares them, so they do not forbid the stop.
    pub tolerated: Vec<PartitionName>,
    /// Raft groups of one or two members, tolerated for the same reason.
    pub tolerated_groups: Vec<QuorumGroup>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuorumGroup {
    Metadata,
    Shard(u32),
}

impl fmt::Display for QuorumGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata => f.write_str("metadata"),
            Self::Shard(id) => write!(f, "shard-{id}"),
        }
    }
}

/// Progress of a drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    pub broker: i32,
    /// Partitions the broker still leads.
    pub leaders: usize,
    /// Of those, partitions with no other replica in sync: no drain moves them.
    pub stuck: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermitRequest {
    pub broker: i32,
    /// Who asks, stable over its own restarts. Asking again for the same broker renews the permit
    /// and returns the same token.
    pub holder: String,
    /// Milliseconds from the moment the metadata group grants it; at most [`PERMIT_TTL_MS_MAX`].
    pub ttl_ms: u64,
}

/// Leave to stop one broker. At most one is live in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    pub token: String,
    pub broker: i32,
    pub holder: String,
    /// Milliseconds since 1970 by the controller's clock.
    pub expires_at_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermitRelease {
    pub token: String,
}
