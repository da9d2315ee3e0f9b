//! Bytes of memory that the messages of this broker's queues take: one count, one bound.
//!
//! A message counts with all that is around it (`Message::memory_bytes`), so that many small ones weigh
//! what they take.
//! Whoever holds bodies counts them in once per batch through a [`Share`] (or, on their way to a host,
//! an `inflight::Permit`): classic caches, bodies of quorum shards, what is in flight. Above the *tight*
//! mark the classic caches give way to their logs; at the bound the broker is *short* of memory and
//! publishers wait (`pressure`). Consumers are never held back by it: they are what makes room.

mod available;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Part of the machine's memory that bodies may take when `millrace.queue.memory.bytes` is not given.
const PART_OF_MEMORY: (usize, usize) = (2, 5);

/// `millrace.queue.memory.bytes` when it is not given: two fifths of the memory of this machine or
/// container, RabbitMQ's long-standing high watermark.
pub(crate) fn default_bytes() -> usize {
    let (of, parts) = PART_OF_MEMORY;
    available::memory_bytes() / parts * of
}

/// The count. Relaxed throughout: a mark passed a moment late does no harm.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    bytes_max: usize,
    /// A mark was passed, in either direction.
    passed: Notify,
}

/// What one holder has counted in; counts it out when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            bytes_max,
            passed: Notify::new(),
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let passes = |mark: usize| before < mark && before + bytes >= mark;
        if passes(self.tight_at()) || passes(self.bytes_max) {
            self.passed.notify_one();
        }
    }

    pub(crate) fn remove(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        let relief = self.relief_at();
        if before >= relief && before - bytes < relief {
            self.passed.notify_one();
        }
    }

    /// Caches shall give way.
    pub(crate) fn is_tight(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.tight_at()
    }

    /// Whether the broker is short of memory, if it `was` before: shortage begins at the bound and ends a
    /// tenth below it, so that it does not flicker.
    pub(crate) fn is_short(&self, was: bool) -> bool {
        let mark = if was {
            self.relief_at()
        } else {
            self.bytes_max
        };
        self.used.load(Ordering::Relaxed) >= mark
    }

    /// Waits until a mark is passed; one passed since the last call counts.
    pub(crate) async fn passed(&self) {
        self.passed.notified().await;
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn tight_at(&self) -> usize {
        self.bytes_max / 5 * 4
    }

    fn relief_at(&self) -> usize {
        self.bytes_max / 10 * 9
    }
}

impl Share {
    pub(crate) fn of(budget: &Arc<Budget>) -> Self {
        Self {
            budget: budget.clone(),
            bytes: 0,
        }
    }

    /// What the holder holds now.
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.budget.add(bytes - self.bytes);
        } else {
            self.budget.remove(self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.remove(self.bytes);
    }
}

#[cfg(test)]
mod tests;
