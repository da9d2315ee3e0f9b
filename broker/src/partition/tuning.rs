//! What of the partitions' configuration may change while they run.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use super::{Config, cleaner::Cleaner};

/// Times that the drivers look at when they next act by them.
#[derive(Debug)]
pub(super) struct Tuning {
    compact_every_ms: AtomicI64,
    producers_expire_ms: AtomicI64,
}

/// Changes them, and the threads that compact. Cheap to clone.
#[derive(Clone)]
pub struct Tuner {
    pub(super) tuning: Arc<Tuning>,
    pub(super) cleaner: Cleaner,
}

// === impl Tuning ===

impl Tuning {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            compact_every_ms: AtomicI64::new(config.compact_every_ms),
            producers_expire_ms: AtomicI64::new(config.producers_expire_ms),
        }
    }

    /// `log.cleaner.backoff.ms`.
    pub(super) fn compact_every_ms(&self) -> i64 {
        self.compact_every_ms.load(Ordering::Relaxed)
    }

    /// `producer.id.expiration.ms`.
    pub(super) fn producers_expire_ms(&self) -> i64 {
        self.producers_expire_ms.load(Ordering::Relaxed)
    }
}

// === impl Tuner ===

impl Tuner {
    /// Takes over what may change: `log.cleaner.{threads,dedupe.buffer.size,backoff.ms}` and
    /// `producer.id.expiration.ms`.
    ///
    /// # Errors
    /// When a thread cannot be started; the others work.
    pub fn tune(&self, config: &Config) -> io::Result<()> {
        let Tuning {
            compact_every_ms,
            producers_expire_ms,
        } = &*self.tuning;
        compact_every_ms.store(config.compact_every_ms, Ordering::Relaxed);
        producers_expire_ms.store(config.producers_expire_ms, Ordering::Relaxed);
        self.cleaner
            .resize(config.cleaners, config.cleaner_keys_bytes_max)
    }
}
