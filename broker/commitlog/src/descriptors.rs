//! How many segment files are open at once, over all logs of the process.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU64, Ordering},
};

/// Open files kept when nothing else is said. A process has some 20,000; sockets need the rest.
const OPEN_FILES_MAX: usize = 8192;

/// Bounds open segment files: the least recently used quarter is closed when there are too many.
#[derive(Debug)]
pub struct Descriptors {
    open_files_max: usize,
    clock: AtomicU64,
    open: Mutex<Vec<Weak<dyn Closable>>>,
}

/// Something that holds a descriptor and can do without.
pub(crate) trait Closable: Send + Sync + std::fmt::Debug {
    /// Tick of the last use.
    fn last_used(&self) -> u64;
    fn close(&self);
}

impl Default for Descriptors {
    fn default() -> Self {
        Self::new(OPEN_FILES_MAX)
    }
}

impl Descriptors {
    /// Keeps at most `open_files_max` segment files open (plus those in use at that moment).
    pub fn new(open_files_max: usize) -> Self {
        Self {
            open_files_max: open_files_max.max(4),
            clock: AtomicU64::new(0),
            open: Mutex::new(Vec::new()),
        }
    }

    /// A tick to stamp a use with.
    pub(crate) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a file that was just opened and closes others when there are too many. Must not be
    /// called with the lock held that [`Closable::close`] takes.
    pub(crate) fn opened(&self, file: &Arc<dyn Closable>) {
        let victims = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.push(Arc::downgrade(file));
            if open.len() <= self.open_files_max {
                return;
            }
            let mut alive: Vec<_> = open.drain(..).filter_map(|w| w.upgrade()).collect();
            alive.sort_by_key(|f| f.last_used());
            alive.dedup_by(|a, b| Arc::ptr_eq(a, b));
            let closing = alive
                .len()
                .saturating_sub(self.open_files_max - self.open_files_max / 4);
            let kept = alive.split_off(closing);
            open.extend(kept.iter().map(Arc::downgrade));
            alive
        };
        for victim in victims {
            victim.close();
        }
    }
}
