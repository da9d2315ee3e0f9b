//! What fronts and coordinators hold of one replica.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use model::{BrokerId, Epoch, Offset};
use parking_lot::RwLock;
use tokio::sync::watch;

/// One batch to append to a partition.
#[derive(Clone, Debug)]
pub struct Append {
    /// One record batch, base offset 0.
    pub batches: Bytes,
    pub acks: Acks,
    /// How long to wait for the in-sync replicas; of use with [`Acks::All`].
    pub timeout: Duration,
    pub origin: Origin,
}

/// When an append is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// As soon as it is written; the caller tells nobody.
    None,
    /// As soon as the leader has it.
    Leader,
    /// When every in-sync replica has it, and at least `min.insync.replicas`.
    All,
}

/// Who appends: coordinators may write control batches and are not held to the topic's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Client,
    Coordinator,
}

/// Where an append went. A batch that was there already is answered with its first place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub base_offset: Offset,
    pub last_offset: Offset,
    pub log_start: Offset,
    /// Milliseconds since 1970, when the broker's time replaced the producer's or the batch was a
    /// duplicate (then the first one's timestamp).
    pub log_append_time: Option<i64>,
}

/// Why an append was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    #[error("this broker does not lead the partition")]
    NotLeader {
        leader: Option<BrokerId>,
        epoch: Epoch,
    },
    /// `index` names the record inside the batch when one is at fault.
    #[error("{message}")]
    InvalidRecord { index: Option<i32>, message: String },
    #[error("batch was damaged on its way")]
    CorruptMessage,
    /// Larger than `max.message.bytes`.
    #[error("batch of {size} bytes, at most {max} allowed")]
    MessageTooLarge { size: usize, max: usize },
    /// Larger than a segment.
    #[error("batch of {size} bytes, a segment holds {max}")]
    RecordListTooLarge { size: usize, max: usize },
    #[error("timestamp {timestamp} of record {index} is out of range")]
    InvalidTimestamp { index: i32, timestamp: i64 },
    #[error("compression codec {0} is unknown")]
    UnsupportedCompression(u8),
    /// Nothing was written.
    #[error("{in_sync} replicas are in sync, {required} required")]
    NotEnoughReplicas { in_sync: usize, required: usize },
    /// Written, and may yet be committed.
    #[error("written, but only {in_sync} replicas are in sync, {required} required")]
    NotEnoughReplicasAfterAppend { in_sync: usize, required: usize },
    /// Written, but not by every in-sync replica in time.
    #[error("replicas did not follow in time")]
    Timeout,
    #[error("sequence {given} of producer {producer}, {expected} expected")]
    OutOfOrderSequence {
        producer: i64,
        given: i32,
        expected: i32,
    },
    #[error("epoch {given} of producer {producer}, {current} is current")]
    InvalidProducerEpoch {
        producer: i64,
        given: i16,
        current: i16,
    },
    /// The disk refused. Nothing was acknowledged.
    #[error("{0}")]
    Storage(String),
    #[error("the broker stops")]
    Stopping,
}

/// A range to read.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub offset: Offset,
    /// The first batch comes whole however small this is.
    pub max_bytes: usize,
    pub limit: Limit,
    /// What the caller believes the leader epoch to be; checked when given.
    pub leader_epoch: Option<Epoch>,
    /// Epoch of the last record the caller has; looked at for divergence when given.
    pub last_fetched_epoch: Option<Epoch>,
}

/// How far a read may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    HighWatermark,
    LastStable,
    LogEnd,
}

#[derive(Clone, Debug)]
pub struct ReadData {
    /// Each one whole batch or a run of them.
    pub batches: Vec<Bytes>,
    pub high_watermark: Offset,
    pub last_stable_offset: Offset,
    pub log_start: Offset,
    /// The caller's log parted from this one: largest epoch at or below the asked one, and its end.
    /// No batches then.
    pub diverging: Option<(Epoch, Offset)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("this broker does not lead the partition")]
    NotLeader {
        leader: Option<BrokerId>,
        epoch: Epoch,
    },
    #[error("offset is outside [{start}, {end}]")]
    OffsetOutOfRange { start: Offset, end: Offset },
    /// The caller's leader epoch is older than this replica's.
    #[error("leader epoch is old, {0} is current")]
    FencedEpoch(Epoch),
    /// The caller's leader epoch is newer than this replica's.
    #[error("leader epoch is not known here yet, {0} is current")]
    UnknownEpoch(Epoch),
    /// A new leader does not know yet how far its predecessor had come.
    #[error("offset is not available yet")]
    NotAvailable,
    #[error("{0}")]
    Storage(String),
}

/// Why records could not be deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    #[error("this broker does not lead the partition")]
    NotLeader {
        leader: Option<BrokerId>,
        epoch: Epoch,
    },
    #[error("offset is outside [{start}, {high_watermark}]")]
    OffsetOutOfRange {
        start: Offset,
        high_watermark: Offset,
    },
    #[error("{0}")]
    Storage(String),
    #[error("the broker stops")]
    Stopping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Leader,
    Follower,
}

/// A replica at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub role: Role,
    /// Who leads as far as this broker knows.
    pub leader: Option<BrokerId>,
    pub leader_epoch: Epoch,
    pub partition_epoch: i32,
    pub log_start: Offset,
    pub high_watermark: Offset,
    pub last_stable_offset: Offset,
    pub log_end: Offset,
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    /// The smaller of `min.insync.replicas` and the number of replicas.
    pub min_isr: usize,
    pub size_bytes: u64,
}

/// What a long poll waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub high_watermark: Offset,
    pub last_stable_offset: Offset,
    pub log_end: Offset,
    pub log_start: Offset,
    pub leader_epoch: Epoch,
    /// False on a follower.
    pub leading: bool,
}

/// A record found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOffset {
    pub offset: Offset,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    pub epoch: Epoch,
}

/// One replica of one partition on this broker. Cheap to clone.
#[derive(Clone)]
pub struct Handle(Arc<Inner>);

struct Inner {
    progress: watch::Sender<Progress>,
    status: RwLock<Status>,
}

impl Handle {
    pub fn status(&self) -> Status {
        self.0.status.read().clone()
    }

    /// Appends one batch and waits as its `acks` say.
    ///
    /// # Errors
    /// See [`AppendError`]; only where a variant says so may the batch have been written.
    pub async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        drop(append);
        Err(AppendError::Stopping)
    }

    /// Reads whole batches. Never waits for appends.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(&self, read: Read) -> Result<ReadData, ReadError> {
        Err(ReadError::NotLeader {
            leader: None,
            epoch: read.leader_epoch.unwrap_or(Epoch::UNKNOWN),
        })
    }

    /// Follows the ends of the log; a fetch long poll waits on it.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.0.progress.subscribe()
    }

    /// The first record with a timestamp of `timestamp` (milliseconds since 1970) or later.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    pub fn offset_for_time(&self, timestamp: i64) -> Result<Option<TimedOffset>, ReadError> {
        let _ = timestamp;
        Ok(None)
    }

    /// The record with the newest timestamp.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    pub fn max_timestamp(&self) -> Result<Option<TimedOffset>, ReadError> {
        Ok(None)
    }

    /// The largest epoch at or below `asked` and its end; (-1, -1) when `asked` is not known here.
    pub fn epoch_end(&self, asked: Epoch) -> (Epoch, Offset) {
        let _ = asked;
        (Epoch::UNKNOWN, Offset::UNKNOWN)
    }

    /// Deletes records below `before`, at most the high watermark. Answers the new start.
    ///
    /// # Errors
    /// See [`DeleteError`].
    pub async fn delete_records(&self, before: Offset) -> Result<Offset, DeleteError> {
        let _ = before;
        Err(DeleteError::Stopping)
    }
}
