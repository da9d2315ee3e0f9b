//! What a coordinator needs of the partition its records live in.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::{Epoch, Offset};

use crate::partition::{Acks, Append, AppendError, Handle, Limit, Origin, Progress, Read};

/// Bytes read at a time while loading.
const READ_BYTES: usize = 1 << 20;

/// The log of one partition of `__consumer_offsets`, as its leader sees it.
pub(super) trait Journal: Send + Sync + 'static {
    /// Appends one batch; resolves once every in-sync replica has it.
    fn append(&self, batch: Bytes) -> BoxFuture<'static, Result<(), AppendFailed>>;

    /// Whole batches from `from` on, committed or not; none at the end of the log. Blocks on the disk.
    fn read(&self, from: Offset) -> Result<Vec<Bytes>, ReadFailed>;

    fn start(&self) -> Offset;

    fn end(&self) -> Offset;

    /// Waits until all before `end` is committed. False when this broker leads no longer.
    fn committed(&self, end: Offset) -> BoxFuture<'static, bool>;
}

/// The records may still be committed later, by this leader or another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AppendFailed {
    #[error("this broker leads the partition no longer")]
    NotLeader,
    #[error("the append was not acknowledged by enough replicas: {0}")]
    Unacknowledged(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the offsets log cannot be read: {0}")]
pub(super) struct ReadFailed(pub(super) String);

/// The journal of one leadership of a partition.
pub(super) struct OfPartition {
    handle: Handle,
    epoch: Epoch,
    timeout: Duration,
}

impl OfPartition {
    pub(super) fn new(handle: Handle, epoch: Epoch, timeout: Duration) -> Self {
        Self {
            handle,
            epoch,
            timeout,
        }
    }
}

impl Journal for OfPartition {
    fn append(&self, batch: Bytes) -> BoxFuture<'static, Result<(), AppendFailed>> {
        let handle = self.handle.clone();
        let append = Append {
            batches: batch,
            acks: Acks::All,
            timeout: self.timeout,
            origin: Origin::Coordinator,
        };
        let epoch = self.epoch;
        Box::pin(async move {
            // Led again after another broker led: what that one wrote is not known here.
            if handle.status().leader_epoch != epoch {
                return Err(AppendFailed::NotLeader);
            }
            match handle.append(append).await {
                Ok(_) => Ok(()),
                Err(AppendError::NotLeader { .. } | AppendError::Stopping) => {
                    Err(AppendFailed::NotLeader)
                }
                Err(error) => Err(AppendFailed::Unacknowledged(error.to_string())),
            }
        })
    }

    fn read(&self, from: Offset) -> Result<Vec<Bytes>, ReadFailed> {
        let read = Read {
            offset: from,
            max_bytes: READ_BYTES,
            limit: Limit::LogEnd,
            leader_epoch: None,
            last_fetched_epoch: None,
        };
        self.handle
            .read(read)
            .map(|data| data.batches)
            .map_err(|error| ReadFailed(error.to_string()))
    }

    fn start(&self) -> Offset {
        self.handle.status().log_start
    }

    fn end(&self) -> Offset {
        self.handle.status().log_end
    }

    fn committed(&self, end: Offset) -> BoxFuture<'static, bool> {
        let mut progress = self.handle.progress();
        let epoch = self.epoch;
        Box::pin(async move {
            let settled =
                |p: &Progress| !p.leading || p.leader_epoch != epoch || p.high_watermark >= end;
            match progress.wait_for(settled).await {
                Ok(p) => p.leading && p.leader_epoch == epoch,
                Err(_closed) => false,
            }
        })
    }
}
