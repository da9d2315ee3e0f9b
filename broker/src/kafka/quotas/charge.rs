//! One request and the limits that hold for its client.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kafka_wire::ErrorCode;
use machine::quota::{Kind, Limit};

use super::Quotas;
use crate::kafka::topics::Failure;

/// Cheap to clone: the request's handler and whoever sends its answer have the same.
#[derive(Clone)]
pub(crate) struct Charge(Arc<Inner>);

struct Inner {
    produce: Option<Limit>,
    fetch: Option<Limit>,
    request: Option<Limit>,
    mutation: Option<Limit>,
    /// Longest pause that anything asked for.
    wait_ms: AtomicU64,
    /// Time in which the request kept a thread busy.
    busy_ns: AtomicU64,
}

/// What one request creates and deletes (KIP-599).
pub(crate) struct Mutations<'a> {
    quotas: &'a Quotas,
    charge: Option<&'a Charge>,
    strict: bool,
}

// === impl Charge ===

impl Charge {
    /// `None` when no limit holds.
    pub(super) fn new(limit: impl Fn(Kind) -> Option<Limit>) -> Option<Self> {
        let inner = Inner {
            produce: limit(Kind::Produce),
            fetch: limit(Kind::Fetch),
            request: limit(Kind::Request),
            mutation: limit(Kind::Mutation),
            wait_ms: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
        };
        let all = [
            &inner.produce,
            &inner.fetch,
            &inner.request,
            &inner.mutation,
        ];
        let any = all.iter().any(|limit| limit.is_some());
        any.then(|| Self(Arc::new(inner)))
    }

    /// Bytes that one fetch may answer: what may be used at once.
    pub(crate) fn fetch_bytes_max(&self, quotas: &Quotas) -> usize {
        let Some(limit) = &self.0.fetch else {
            return usize::MAX;
        };
        quotas.meters.lock().burst(Kind::Fetch, limit) as usize
    }

    pub(crate) fn produced(&self, quotas: &Quotas, bytes: usize) {
        self.record(quotas, Kind::Produce, &self.0.produce, bytes as f64);
    }

    pub(crate) fn fetched(&self, quotas: &Quotas, bytes: usize) {
        self.record(quotas, Kind::Fetch, &self.0.fetch, bytes as f64);
    }

    /// Serves the request, with the time counted that this takes of a thread.
    pub(crate) async fn timed<T>(&self, serving: impl Future<Output = T>) -> T {
        if self.0.request.is_none() {
            return serving.await;
        }
        let mut serving = std::pin::pin!(serving);
        std::future::poll_fn(|context| {
            let begun = Instant::now();
            let polled = serving.as_mut().poll(context);
            let busy = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.0.busy_ns.fetch_add(busy, Ordering::Relaxed);
            polled
        })
        .await
    }

    /// Charges the time as well, and tells how long the connection has to be left alone.
    pub(crate) fn settle(&self, quotas: &Quotas) -> Duration {
        let busy_ns = self.0.busy_ns.load(Ordering::Relaxed) as f64;
        let percent = busy_ns * 100.0 / 1e9;
        self.record(quotas, Kind::Request, &self.0.request, percent);
        Duration::from_millis(self.0.wait_ms.load(Ordering::Relaxed))
    }

    fn record(&self, quotas: &Quotas, kind: Kind, limit: &Option<Limit>, amount: f64) {
        if let Some(limit) = limit {
            self.wait(quotas.record(kind, limit, amount));
        }
    }

    fn wait(&self, ms: u64) {
        self.0.wait_ms.fetch_max(ms, Ordering::Relaxed);
    }
}

// === impl Mutations ===

impl<'a> Mutations<'a> {
    /// A client whose request is `strict` is refused what goes beyond its limit, an older one waits
    /// afterwards.
    pub(crate) fn new(quotas: &'a Quotas, charge: Option<&'a Charge>, strict: bool) -> Self {
        Self {
            quotas,
            charge,
            strict,
        }
    }

    /// Counts partitions that are about to be created or deleted.
    ///
    /// # Errors
    /// `THROTTLING_QUOTA_EXCEEDED`: nothing is to be done, and nothing was counted.
    pub(crate) fn take(&self, partitions: usize) -> Result<(), Failure> {
        let Some(charge) = self.charge else {
            return Ok(());
        };
        let Some(limit) = &charge.0.mutation else {
            return Ok(());
        };
        let amount = partitions as f64;
        if !self.strict {
            charge.wait(self.quotas.record(Kind::Mutation, limit, amount));
            return Ok(());
        }
        let now_ms = self.quotas.now_ms();
        let mut meters = self.quotas.meters.lock();
        let taken = meters.record_if_free(Kind::Mutation, limit, amount, now_ms);
        drop(meters);
        taken.map_err(|overdrawn| {
            charge.wait(overdrawn.wait_ms);
            let metrics = &self.quotas.metrics;
            metrics.throttled(Kind::Mutation, &limit.entity, overdrawn.wait_ms);
            Failure::new(
                ErrorCode::ThrottlingQuotaExceeded,
                "The throttling quota has been exceeded.",
            )
        })
    }
}
