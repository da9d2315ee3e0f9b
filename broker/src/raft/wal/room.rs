//! Whether the log can take more: room on the disk ahead of the need, and how much waits to be written.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// What the disk has left for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::raft) enum Room {
    /// The next file is there before it is needed.
    Ample,
    /// There is none for a next file. What is left of the present one is kept for votes and for the
    /// metadata, by which space is freed.
    Last,
    /// The present file is full too: nothing is written until there is room.
    Nothing,
}

/// Bytes that were given to the writer and are not durable yet.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: AtomicUsize,
    pub(super) drained: Notify,
}

impl Backlog {
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn drain(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.drained.notify_waiters();
    }
}
