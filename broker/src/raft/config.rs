//! Bounds and times of the groups, and what openraft is told of them.

use std::io;
use std::time::Duration;

use super::GroupId;

/// Bounds and times of the groups and of their write-ahead log.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.wal.file.bytes`: size of one pre-written, recycled file.
    pub wal_file_bytes: usize,
    /// `millrace.wal.files`: more of them, and the oldest is freed by writing again what is live in it.
    pub wal_files_max: usize,
    /// `millrace.wal.waiting.bytes`: while more waits to be written, proposals wait too.
    pub wal_waiting_bytes_max: usize,
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
    /// `millrace.raft.waiting.bytes`: bytes of them; a single larger command may wait alone.
    pub waiting_bytes_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wal_file_bytes: 64 << 20,
            wal_files_max: 8,
            wal_waiting_bytes_max: 64 << 20,
            snapshot_log_bytes: 16 << 20,
            pace: Duration::from_millis(2),
            entry_commands_max: 4096,
            entry_bytes_max: 256 << 10,
            waiting_commands_max: 65_536,
            waiting_bytes_max: 64 << 20,
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

/// Votes that take longer are lost. No longer than that either: a leader that is killed just after it was
/// heard keeps its voters from electing another for about this time.
pub(super) const VOTE_TIMEOUT_MS: u64 = 170;

/// What openraft is told about one group.
pub(super) fn openraft_config(id: GroupId) -> io::Result<openraft::Config> {
    openraft::Config {
        cluster_name: id.0.to_string(),
        // How long a candidate waits for a vote, which waits for the voter's disk.
        election_timeout_min: VOTE_TIMEOUT_MS,
        // Also the lease during which voters refuse a candidate after they last heard the leader.
        election_timeout_max: VOTE_TIMEOUT_MS + 5,
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
        // Nothing tells the replication that a follower is back, and a try that fails costs a look-up:
        // the mesh knows who is connected.
        backoff: "20ms 50ms 100ms ..100ms".to_owned(),
        // A member that lost its disk has less than it said (see [`super::rejoin`]).
        allow_log_reversion: Some(true),
        ..openraft::Config::default()
    }
    .validate()
    .map_err(io::Error::other)
}
