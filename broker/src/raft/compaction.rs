//! When a group is snapshotted: by the bytes of its log, since entries differ in size by thousands.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Raft;
use super::applier::Applier;
use super::wal::log::Log;

/// Entries applied between two looks at the log's size.
const LOOK_EVERY: u64 = 64;

/// Triggers snapshots of one group for as long as it runs.
pub(super) async fn supervise(
    raft: Raft,
    applier: Applier,
    log: Arc<Mutex<Log>>,
    snapshot_log_bytes: u64,
) {
    let mut applied = applier.applied();
    let mut looked = *applied.borrow();
    loop {
        let due = looked + LOOK_EVERY;
        let Ok(reached) = applied.wait_for(|index| *index >= due).await.map(|i| *i) else {
            return;
        };
        looked = reached;
        if log.lock().bytes() >= snapshot_log_bytes && raft.trigger().snapshot().await.is_err() {
            return;
        }
    }
}
