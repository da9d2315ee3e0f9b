//! What a coordinator needs of the partition its records live in.

use bytes::Bytes;
use futures::future::BoxFuture;
use model::Offset;

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
