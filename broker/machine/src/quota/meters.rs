//! What clients have used of their limits, on one broker.

use std::collections::BTreeMap;

use super::{Bucket, Kind, Limit, Rate, Sharer, Windows};
use crate::metadata::quota::Entity;

/// Sharers that are told apart. While so many were active within the windows, others of the same limit are
/// counted as one.
pub const METERS_MAX: usize = 10_000;

/// A client has to wait before it may use more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdrawn {
    pub wait_ms: u64,
}

/// Forgets whoever used nothing for as long as uses count, which changes no answer: their number is that of
/// active clients.
#[derive(Debug)]
pub struct Meters {
    /// `quota.window.*`
    windows: Windows,
    /// `controller.quota.window.*`
    mutation_windows: Windows,
    meters: BTreeMap<(Kind, Who), Meter>,
    swept_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Sharer(Sharer),
    /// Whoever has no meter of its own.
    Others(Entity),
}

#[derive(Debug)]
struct Meter {
    used_ms: u64,
    measure: Measure,
}

#[derive(Debug)]
enum Measure {
    Rate(Rate),
    Bucket(Bucket),
}

impl Meters {
    pub fn new(windows: Windows, mutation_windows: Windows) -> Self {
        Self {
            windows,
            mutation_windows,
            meters: BTreeMap::new(),
            swept_ms: 0,
        }
    }

    /// Counts `amount` and tells for how many milliseconds the client has to pause. For
    /// [`Kind::Request`] and [`Kind::Connection`] that is one window at most, as in Kafka.
    pub fn record(&mut self, kind: Kind, limit: &Limit, amount: f64, now_ms: u64) -> u64 {
        let windows = self.windows_of(kind);
        let meter = self.meter(kind, limit, now_ms);
        meter.used_ms = now_ms;
        meter.measure.record(amount, limit.bound, now_ms, windows);
        let wait_ms = meter.measure.wait_ms(limit.bound, now_ms, windows);
        let most_ms = match kind {
            Kind::Request | Kind::Connection => windows.size_ms,
            _ => u64::MAX,
        };
        (wait_ms.round() as u64).min(most_ms)
    }

    /// As [`Self::record`], but counts nothing when the limit is overdrawn already.
    ///
    /// # Errors
    /// [`Overdrawn`].
    pub fn record_if_free(
        &mut self,
        kind: Kind,
        limit: &Limit,
        amount: f64,
        now_ms: u64,
    ) -> Result<(), Overdrawn> {
        let windows = self.windows_of(kind);
        let meter = self.meter(kind, limit, now_ms);
        let wait_ms = meter.measure.wait_ms(limit.bound, now_ms, windows);
        if wait_ms > 0.0 {
            return Err(Overdrawn {
                wait_ms: (wait_ms.round() as u64).max(1),
            });
        }
        meter.used_ms = now_ms;
        meter.measure.record(amount, limit.bound, now_ms, windows);
        Ok(())
    }

    /// Most that may be used of `limit` at once by whoever has used nothing: what all windows but the one
    /// that is being filled give.
    pub fn burst(&self, kind: Kind, limit: &Limit) -> f64 {
        let windows = self.windows_of(kind);
        let windows_ms = u64::from(windows.count.saturating_sub(1)) * windows.size_ms;
        limit.bound * windows_ms as f64 / 1000.0
    }

    pub fn len(&self) -> usize {
        self.meters.len()
    }

    pub fn is_empty(&self) -> bool {
        self.meters.is_empty()
    }

    fn windows_of(&self, kind: Kind) -> Windows {
        match kind {
            Kind::Mutation => self.mutation_windows,
            _ => self.windows,
        }
    }

    fn meter(&mut self, kind: Kind, limit: &Limit, now_ms: u64) -> &mut Meter {
        let mut key = (kind, Who::Sharer(limit.sharer.clone()));
        if !self.meters.contains_key(&key) {
            self.sweep(now_ms);
            if self.meters.len() >= METERS_MAX {
                key.1 = Who::Others(limit.entity.clone());
            }
        }
        let windows = self.windows_of(kind);
        self.meters.entry(key).or_insert_with(|| Meter {
            used_ms: now_ms,
            measure: match kind {
                Kind::Mutation => Measure::Bucket(Bucket::new(limit.bound, now_ms, windows)),
                _ => Measure::Rate(Rate::default()),
            },
        })
    }

    /// At most once in the time that uses count, so that many new clients do not look at all others each.
    fn sweep(&mut self, now_ms: u64) {
        let memory_ms = self.windows.memory_ms();
        if now_ms.saturating_sub(self.swept_ms) < memory_ms {
            return;
        }
        self.swept_ms = now_ms;
        let mutation_windows = self.mutation_windows;
        self.meters.retain(|_, meter| match &meter.measure {
            Measure::Rate(_) => now_ms.saturating_sub(meter.used_ms) < memory_ms,
            Measure::Bucket(bucket) => !bucket.is_full(now_ms, mutation_windows),
        });
    }
}

// === impl Measure ===

impl Measure {
    fn record(&mut self, amount: f64, bound: f64, now_ms: u64, windows: Windows) {
        match self {
            Self::Rate(rate) => rate.record(amount, now_ms, windows),
            Self::Bucket(bucket) => bucket.take(amount, bound, now_ms, windows),
        }
    }

    fn wait_ms(&mut self, bound: f64, now_ms: u64, windows: Windows) -> f64 {
        match self {
            Self::Rate(rate) => rate.wait_ms(bound, now_ms, windows),
            Self::Bucket(bucket) => bucket.wait_ms(bound, now_ms, windows),
        }
    }
}
