//! Raft groups: the metadata group and the queue shards, over one write-ahead log per node.
//!
//! The only module, with its children, that knows openraft. Groups have no ticks and no heartbeats:
//! the mesh's failure detector starts elections. A leader has one entry in flight and gathers what
//! waits meanwhile, so cost follows rounds of fsync and not commands.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{BrokerId, ShardId};
use openraft::rt::WatchReceiver;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::peer::{Mesh, Service};
use applier::Applier;
use server::Server;
use snapshot::Shelf;
use store::Store;
use types::TypeConfig;
use wal::Wal;

mod applier;
mod codec;
mod compaction;
mod election;
mod formation;
mod local;
mod network;
mod proposer;
mod server;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;
mod types;
mod wal;

/// How long a stopping broker waits for one group to be led by another.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(2);

/// The Raft of one group.
type Raft = openraft::Raft<TypeConfig, Applier>;

/// Bounds and times of the groups and of their write-ahead log.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.wal.file.bytes`: size of one pre-written, recycled file.
    pub wal_file_bytes: usize,
    /// `millrace.wal.files`: more of them, and the oldest is freed by writing again what is live in it.
    pub wal_files_max: usize,
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
            wal_files_max: 8,
            snapshot_log_bytes: 16 << 20,
            pace: Duration::from_millis(2),
            entry_commands_max: 4096,
            entry_bytes_max: 256 << 10,
            waiting_commands_max: 65_536,
        }
    }
}

impl Config {
    /// Largest command that a group takes: half of what a file of the log and a frame of the mesh hold.
    /// The other half is for what stands beside it. A larger one would stop every member that has to
    /// write it, again at each start.
    pub fn command_bytes_max(&self, frame_bytes_max: usize) -> usize {
        self.wal_file_bytes.min(frame_bytes_max) / 2
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
pub type Snapshot = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// What a group replicates. `apply` must be deterministic in the entry (but for `leading`).
pub trait StateMachine: Send + 'static {
    /// Applies one entry; one reply per command, in order.
    fn apply(&mut self, entry: &Entry) -> Vec<Bytes>;

    /// This broker began or ceased to lead. `true` comes after all entries of earlier terms are applied.
    fn leadership(&mut self, leading: bool, term: u64);

    /// Captures the state, cheaply; the result is written by a thread for slow work.
    fn snapshot(&self) -> Snapshot;

    /// Replaces the state by a snapshot that another broker, or an earlier life, wrote.
    fn restore(&mut self, snapshot: &mut dyn Read) -> io::Result<()>;
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
    /// Surely without effect, and will be each time.
    #[error(
        "a command of {bytes} bytes is larger than the limit of {max}; raise millrace.wal.file.bytes"
    )]
    TooLarge { bytes: usize, max: usize },
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
    command_bytes_max: usize,
    leader: watch::Receiver<Option<BrokerId>>,
    replicated: Option<Replicated>,
}

/// What stands behind a group that is not in memory only.
#[derive(Clone)]
struct Replicated {
    raft: Raft,
    applier: Applier,
    store: Store,
}

/// State of one group as this broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub leader: Option<BrokerId>,
    pub term: u64,
    pub last_index: u64,
    pub applied: u64,
    pub voters: Vec<BrokerId>,
    pub learners: Vec<BrokerId>,
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

    /// [`ProposeError::TooLarge`] if no group of this configuration could ever write the command.
    pub fn check_size(&self, command: &Bytes) -> Result<(), ProposeError> {
        let (bytes, max) = (command.len(), self.command_bytes_max);
        if bytes > max {
            return Err(ProposeError::TooLarge { bytes, max });
        }
        Ok(())
    }

    /// As [`Group::propose`], but queues at once and in order; the receiver yields the outcome.
    pub fn enqueue(
        &self,
        command: Bytes,
    ) -> Result<oneshot::Receiver<Result<Bytes, ProposeError>>, ProposeError> {
        self.check_size(&command)?;
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

    /// Index of the last entry applied here; for a group in memory always 0.
    pub fn applied(&self) -> watch::Receiver<u64> {
        match &self.replicated {
            Some(replicated) => replicated.applier.applied(),
            None => watch::channel(0).1,
        }
    }

    pub fn status(&self) -> Status {
        let leader = *self.leader.borrow();
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return Status {
                leader,
                term: 1,
                ..Status::default()
            };
        };
        let metrics = raft.metrics();
        let seen = metrics.borrow_watched();
        let membership = seen.membership_config.membership();
        Status {
            leader,
            term: seen.current_term,
            last_index: seen.last_log_index.unwrap_or(0),
            applied: seen.last_applied.map_or(0, |id| id.index),
            voters: membership.voter_ids().map(types::broker_id).collect(),
            learners: membership.learner_ids().map(types::broker_id).collect(),
        }
    }

    /// Makes a broker follow the log without a vote. Only on the leader; no error if it does already.
    pub async fn add_learner(&self, broker: BrokerId) -> Result<(), ProposeError> {
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return Ok(());
        };
        let node = openraft::EmptyNode::new();
        match raft.add_learner(types::node_id(broker), node, false).await {
            Ok(_) => Ok(()),
            Err(openraft::errors::RaftError::Fatal(_)) => Err(ProposeError::Stopped),
            Err(openraft::errors::RaftError::APIError(_)) => {
                Err(ProposeError::NotLeader { hint: None })
            }
        }
    }

    /// How far each member's log is known to agree with the leader's; empty unless this broker leads.
    pub fn progress(&self) -> Vec<(BrokerId, u64)> {
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return Vec::new();
        };
        let metrics = raft.metrics();
        let seen = metrics.borrow_watched();
        seen.replication
            .iter()
            .flatten()
            .map(|(node, matched)| (types::broker_id(*node), matched.map_or(0, |id| id.index)))
            .collect()
    }

    /// Payload bytes in the group's log, snapshotted ones not counted.
    pub fn log_bytes(&self) -> u64 {
        match &self.replicated {
            Some(replicated) => replicated.store.log().lock().bytes(),
            None => 0,
        }
    }
}

/// Every group of this broker. Cheap to clone.
#[derive(Clone)]
pub struct Groups(Arc<Shared>);

struct Shared {
    this: BrokerId,
    config: Arc<Config>,
    /// `None`: groups live in memory only.
    durable: Option<Durable>,
    tasks: Mutex<Vec<(GroupId, JoinHandle<()>)>>,
}

struct Durable {
    mesh: Mesh,
    wal: Wal,
    shelf: Arc<Shelf>,
    server: Arc<Server>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Groups {
    /// Groups that live in memory only, led by this broker. For tests of what stands on a group.
    pub fn in_memory(this: BrokerId, config: Config) -> Self {
        Self(Arc::new(Shared {
            this,
            config: Arc::new(config),
            durable: None,
            tasks: Mutex::default(),
        }))
    }

    /// Opens the write-ahead log and the snapshots in `dir` and serves [`Service::Raft`]. `keep` (the
    /// lock of the data directory) is held until the log's thread has ended.
    pub fn open(
        dir: &Path,
        config: Config,
        mesh: Mesh,
        keep: impl Send + 'static,
    ) -> io::Result<Self> {
        let wal_config = wal::Config {
            file_bytes: config.wal_file_bytes,
            files_max: config.wal_files_max,
        };
        let (wal, writer) = Wal::open(&dir.join("wal"), wal_config, keep)?;
        let shelf = Arc::new(Shelf::open(&dir.join("snapshots"))?);
        let server = Arc::new(Server::default());
        mesh.serve(Service::Raft, Arc::clone(&server) as _);
        Ok(Self(Arc::new(Shared {
            this: mesh.this_broker(),
            config: Arc::new(config),
            durable: Some(Durable {
                mesh,
                wal,
                shelf,
                server,
                writer: Mutex::new(Some(writer)),
            }),
            tasks: Mutex::default(),
        })))
    }

    /// Largest command that a group of this broker takes, in bytes.
    pub fn command_bytes_max(&self) -> usize {
        let durable = self.0.durable.as_ref();
        let frame = durable.map_or(usize::MAX, |durable| durable.mesh.frame_bytes_max());
        self.0.config.command_bytes_max(frame)
    }

    /// Starts carrying a group: recovers what snapshot and log hold of it. A group of which its voters
    /// know nothing begins once a majority of them has started it; brokers that are no voters follow.
    pub async fn start_group(
        &self,
        id: GroupId,
        members: Members,
        machine: impl StateMachine,
    ) -> io::Result<Group> {
        let config = &self.0.config;
        let Some(durable) = &self.0.durable else {
            let bytes_max = self.command_bytes_max();
            return Ok(local::start(config, bytes_max, self.0.this, machine));
        };
        let store = Store::open(id, durable.wal.clone());
        let log = Arc::clone(store.log());
        let applier = Applier::open(
            id,
            self.0.this,
            Arc::clone(&log),
            Arc::clone(&durable.shelf),
            Box::new(machine),
        )?;
        let raft = Raft::new(
            types::node_id(self.0.this),
            Arc::new(openraft_config(id)?),
            network::Factory {
                group: id,
                mesh: durable.mesh.clone(),
            },
            store.clone(),
            applier.clone(),
        )
        .await
        .map_err(io::Error::other)?;
        durable
            .server
            .add(id, raft.clone(), Arc::clone(&durable.shelf));
        let (proposals, waiting) = mpsc::channel(config.waiting_commands_max);
        let (leading, leader) = watch::channel(None);
        let mesh = &durable.mesh;
        let mut tasks = self.0.tasks.lock();
        let mut run = |task: JoinHandle<()>| tasks.push((id, task));
        run(tokio::spawn(formation::form(
            raft.clone(),
            id,
            members.clone(),
            mesh.clone(),
        )));
        run(tokio::spawn(election::supervise(
            raft.clone(),
            applier.clone(),
            mesh.clone(),
            members,
            leading,
        )));
        run(tokio::spawn(proposer::run(
            raft.clone(),
            applier.clone(),
            Arc::clone(config),
            waiting,
        )));
        run(tokio::spawn(compaction::supervise(
            raft.clone(),
            applier.clone(),
            log,
            config.snapshot_log_bytes as u64,
        )));
        Ok(Group {
            proposals,
            command_bytes_max: self.command_bytes_max(),
            leader,
            replicated: Some(Replicated {
                raft,
                applier,
                store,
            }),
        })
    }

    /// Stops carrying a group; what it has on disk stays.
    pub async fn stop_group(&self, id: GroupId) {
        self.0.tasks.lock().retain(|(group, task)| {
            let other = *group != id;
            if !other {
                task.abort();
            }
            other
        });
        if let Some(durable) = &self.0.durable
            && let Some(raft) = durable.server.remove(id)
            && let Err(error) = raft.shutdown().await
        {
            tracing::warn!(group = id.0, %error, "group did not stop cleanly");
        }
    }

    /// Gives away the leadership of every group led here that has another voter in reach, and waits
    /// until it is taken.
    pub async fn hand_over(&self) {
        let Some(durable) = &self.0.durable else {
            return;
        };
        for raft in durable.server.rafts() {
            let to = {
                let metrics = raft.server_metrics();
                let seen = metrics.borrow_watched();
                let alive = durable.mesh.alive();
                let alive = alive.borrow();
                seen.membership_config
                    .voter_ids()
                    .find(|node| alive.is_alive(types::broker_id(*node)))
                    .filter(|_| seen.state == openraft::ServerState::Leader)
            };
            let Some(to) = to else {
                continue;
            };
            let mut metrics = raft.server_metrics();
            if raft.trigger().transfer_leader(to).await.is_err() {
                continue;
            }
            let taken = async {
                while metrics.borrow_watched().state == openraft::ServerState::Leader {
                    if metrics.changed().await.is_err() {
                        return;
                    }
                }
            };
            // Not taken in time: the others will notice that this broker is gone.
            let _late = tokio::time::timeout(HAND_OVER_TIMEOUT, taken).await;
        }
    }

    /// Stops every group, then the write-ahead log once all it was given is durable.
    pub async fn close(&self) {
        let Some(durable) = &self.0.durable else {
            return;
        };
        for group in durable.server.groups() {
            self.stop_group(group).await;
        }
        durable.wal.stop();
        let writer = durable.writer.lock().take();
        if let Some(writer) = writer
            && tokio::task::spawn_blocking(move || writer.join())
                .await
                .is_ok_and(|ended| ended.is_err())
        {
            tracing::error!("the write-ahead log's thread panicked");
        }
    }

    /// Turns true when the disk under the write-ahead log failed: the broker must stop.
    pub fn failed(&self) -> watch::Receiver<bool> {
        match &self.0.durable {
            Some(durable) => durable.wal.failed(),
            None => watch::channel(false).1,
        }
    }
}

fn openraft_config(id: GroupId) -> io::Result<openraft::Config> {
    openraft::Config {
        cluster_name: id.0.to_string(),
        // Also the lease during which voters refuse a candidate after they last heard the leader.
        election_timeout_min: 90,
        election_timeout_max: 100,
        heartbeat_interval: 40,
        enable_tick: false,
        enable_heartbeat: false,
        enable_elect: false,
        // A leader that restarts has forgotten what it had committed: it must be elected anew.
        enable_leader_restore: Some(false),
        snapshot_policy: openraft::SnapshotPolicy::Never,
        max_payload_entries: 1024,
        max_in_snapshot_log_to_keep: 256,
        purge_batch_size: 64,
        replication_lag_threshold: 1 << 20,
        install_snapshot_timeout: 60_000,
        backoff: "20ms 50ms 100ms ..500ms".to_owned(),
        ..openraft::Config::default()
    }
    .validate()
    .map_err(io::Error::other)
}
