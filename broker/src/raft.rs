//! Raft groups: the metadata group and the queue shards, over one write-ahead log per node.
//!
//! The only module, with its children, that knows openraft. Groups have no ticks and no heartbeats:
//! the mesh's failure detector starts elections. A leader has one entry in flight and gathers what
//! waits meanwhile, so cost follows rounds of fsync and not commands.

use std::io::{self, Read, Write};

use bytes::Bytes;
use model::{BrokerId, ShardId};

use applier::Applier;
use types::TypeConfig;

mod applier;
mod codec;
mod compaction;
mod config;
mod election;
mod formation;
mod group;
mod groups;
mod halt;
mod local;
mod membership;
mod network;
mod proposer;
mod rejoin;
mod server;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;
mod types;
mod wal;

pub use config::Config;
pub use group::{Group, ProposeError, Status};
pub use groups::Groups;

/// The Raft of one group.
type Raft = openraft::Raft<TypeConfig, Applier>;

/// Number of a group, the same on every broker, part of the disk format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    pub const METADATA: Self = Self(0);

    /// The group that carries a queue shard.
    pub fn shard(shard: ShardId) -> Self {
        Self(shard.0.saturating_add(1))
    }
}

/// Who carries a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    pub voters: Vec<BrokerId>,
    /// Who should lead when it is up: it campaigns first, and leadership is handed to it.
    pub preferred: BrokerId,
    /// Whether this broker is known to have the data directory that it had when the group was made: an
    /// empty log is a new one then. Otherwise it may be a lost one.
    pub original: bool,
}

/// One committed entry.
#[derive(Clone, Debug)]
pub struct Entry {
    pub index: u64,
    pub term: u64,
    /// The proposing leader's clock, milliseconds since 1970; never goes back along the log.
    pub now_ms: i64,
    pub commands: Vec<Bytes>,
    /// Whether this broker leads the group while it applies the entry.
    pub leading: bool,
}

/// Writes one snapshot; captured at an index, run later and elsewhere, again after a failure.
pub type Snapshot = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + Send>;

/// A committed command that this build cannot read: one of a newer build. To leave it out would part
/// this member's state from the others' for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownCommand(pub String);

/// What a group replicates. `apply` must be deterministic in the entry (but for `leading`).
pub trait StateMachine: Send + 'static {
    /// Applies one entry; one reply per command, in order.
    ///
    /// # Errors
    /// [`UnknownCommand`] stops the group here, and with it the broker ([`Groups::halted`]).
    fn apply(&mut self, entry: &Entry) -> Result<Vec<Bytes>, UnknownCommand>;

    /// This broker began or ceased to lead. `true` comes after all entries of earlier terms are applied.
    fn leadership(&mut self, leading: bool, term: u64);

    /// Captures the state, cheaply; the result is written by a thread for slow work.
    fn snapshot(&self) -> Snapshot;

    /// Replaces the state by a snapshot that another broker, or an earlier life, wrote.
    fn restore(&mut self, snapshot: &mut dyn Read) -> io::Result<()>;
}
