//! The newest batches in memory, so that followers and consumers at the end of the log cost no read.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use model::{Offset, batch::Header};

/// Bytes of tails kept over all logs when nothing else is said.
const TAILS_BYTES_MAX: usize = 64 << 20;

/// When more logs than this keep something, batches are copied before they are kept. Each is a part of a
/// request or an answer of megabytes, which stays as long as the last of its parts: with thousands of logs,
/// most of them quiet, some part always does.
const SHARING_LOGS_MAX: usize = 256;

/// Bound on the tails of all logs of a process.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    used: AtomicUsize,
    /// Logs that keep something.
    logs: AtomicUsize,
}

/// Consecutive batches up to the end of the log.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes_max: usize,
    bytes: usize,
    batches: VecDeque<Kept>,
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct Kept {
    base: Offset,
    last: Offset,
    bytes: Bytes,
}

// === impl Budget ===

impl Default for Budget {
    fn default() -> Self {
        Self::new(TAILS_BYTES_MAX)
    }
}

impl Budget {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            used: AtomicUsize::new(0),
            logs: AtomicUsize::new(0),
        }
    }

    /// Bytes that all tails hold now.
    pub fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

// === impl Tail ===

impl Tail {
    pub(crate) fn new(bytes_max: usize, budget: Arc<Budget>) -> Self {
        Self {
            bytes_max,
            bytes: 0,
            batches: VecDeque::new(),
            budget,
        }
    }

    /// Adds the batch that was just written and drops the oldest ones beyond the bounds.
    pub(crate) fn push(&mut self, header: &Header, bytes: Bytes) {
        self.add(bytes.len());
        if self.batches.is_empty() {
            self.budget.logs.fetch_add(1, Ordering::Relaxed);
        }
        let bytes = if self.budget.logs.load(Ordering::Relaxed) > SHARING_LOGS_MAX {
            Bytes::copy_from_slice(&bytes)
        } else {
            bytes
        };
        self.batches.push_back(Kept {
            base: header.base_offset,
            last: header.last_offset(),
            bytes,
        });
        while self.bytes > self.bytes_max || self.budget.used_bytes() > self.budget.bytes_max {
            if !self.drop_oldest() {
                return;
            }
        }
    }

    /// Whole batches from the one that holds `from`, all below `limit`, the first one whatever its
    /// size and then up to `bytes_max`; `None` when `from` is older than what is kept.
    pub(crate) fn read(&self, from: Offset, limit: Offset, bytes_max: usize) -> Option<Vec<Bytes>> {
        if self.batches.front().is_none_or(|k| from < k.base) {
            return None;
        }
        let first = self.batches.partition_point(|k| k.last < from);
        let mut found = Vec::new();
        let mut left = bytes_max;
        for kept in self.batches.range(first..) {
            let fits = found.is_empty() || kept.bytes.len() <= left;
            if kept.last >= limit || !fits {
                break;
            }
            left = left.saturating_sub(kept.bytes.len());
            found.push(kept.bytes.clone());
        }
        Some(found)
    }

    /// Drops batches with an offset of `from` or later.
    pub(crate) fn truncate(&mut self, from: Offset) {
        while let Some(kept) = self.batches.pop_back_if(|k| k.last >= from) {
            self.sub(&kept);
        }
    }

    pub(crate) fn clear(&mut self) {
        while self.drop_oldest() {}
        self.batches.shrink_to_fit();
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(kept) = self.batches.pop_front() else {
            return false;
        };
        self.sub(&kept);
        true
    }

    fn add(&mut self, n: usize) {
        self.bytes += n;
        self.budget.used.fetch_add(n, Ordering::Relaxed);
    }

    fn sub(&mut self, gone: &Kept) {
        let n = gone.bytes.len();
        self.bytes -= n;
        self.budget.used.fetch_sub(n, Ordering::Relaxed);
        if self.batches.is_empty() {
            self.budget.logs.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::log::tests::one;

    #[test]
    fn tails_of_many_logs_do_not_hold_on_to_what_their_batches_came_in() {
        let budget = Arc::new(Budget::default());
        let batch = one(0, 0, 0);
        let header = Header::parse(&batch).unwrap();
        let few: Vec<_> = (0..=SHARING_LOGS_MAX)
            .map(|_| {
                let mut tail = Tail::new(1 << 20, budget.clone());
                tail.push(&header, batch.clone());
                tail
            })
            .collect();
        let frame = Bytes::copy_from_slice(&batch);
        let mut another = Tail::new(1 << 20, budget.clone());
        another.push(&header, frame.slice(..));
        assert!(frame.is_unique());
        drop((few, another));
        assert_eq!(budget.logs.load(Ordering::Relaxed), 0);
        assert_eq!(budget.used_bytes(), 0);
    }
}
