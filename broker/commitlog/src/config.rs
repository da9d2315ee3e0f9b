//! What one log is told about its size, age and limits.

use std::sync::Arc;

use crate::{Budget, Descriptors, Disk, Policy, System};

/// Settings of one log, in the log's own words.
#[derive(Clone, Debug)]
pub struct Config {
    /// A segment is closed before it grows beyond this many bytes. A batch never spans two.
    pub segment_bytes: u64,
    /// A segment is closed this many milliseconds after its first record, by its records' time as they come
    /// and by the clock when none come.
    pub segment_ms: i64,
    /// Segments are closed by time up to this many milliseconds earlier, each by another part of it, so that
    /// many logs do not roll at once.
    pub segment_jitter_ms: i64,
    /// Bytes of the offset index at which a segment is closed; the time index has half as much again.
    pub index_bytes_max: usize,
    /// Bytes of the active segment after which its indexes are synced with it: what a start after a crash
    /// reads of each log at most, but for what was not synced.
    pub index_sync_bytes: u64,
    /// Bytes of log between two index entries.
    pub index_interval_bytes: u64,
    /// A segment is deleted when its newest record is older than this many milliseconds.
    pub retention_ms: Option<i64>,
    /// Oldest segments are deleted while the rest alone holds this many bytes.
    pub retention_bytes: Option<u64>,
    /// When to leave of each key its newest record only; `None` = never.
    pub compaction: Option<Policy>,
    /// Deleted files stay under another name for this many milliseconds, for readers that hold them.
    pub delete_delay_ms: i64,
    /// Bytes of the newest batches kept in memory for this log.
    pub tail_bytes_max: usize,
    /// How the last process left the data directory.
    pub opened_after: Shutdown,
    /// Shared by all logs of the process.
    pub resources: Resources,
}

/// How the last process left: only what was synced is sure after [`Shutdown::Unclean`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    Clean,
    Unclean,
}

/// What all logs of a process share.
#[derive(Clone, Debug)]
pub struct Resources {
    pub descriptors: Arc<Descriptors>,
    pub tail: Arc<Budget>,
    pub disk: Arc<dyn Disk>,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            descriptors: Arc::default(),
            tail: Arc::default(),
            disk: Arc::new(System),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 24 * 3_600_000,
            segment_jitter_ms: 0,
            index_bytes_max: 10 << 20,
            index_sync_bytes: 64 << 20,
            index_interval_bytes: 4096,
            retention_ms: Some(7 * 24 * 3_600_000),
            retention_bytes: None,
            compaction: None,
            delete_delay_ms: 60_000,
            tail_bytes_max: 2 << 20,
            opened_after: Shutdown::Unclean,
            resources: Resources::default(),
        }
    }
}
