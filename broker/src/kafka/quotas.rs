//! Client quotas: what was set is described and altered here, and every request is charged against it.
//!
//! [`machine::quota`] decides; this gives it the time, and has the connection that is over its limit not
//! read for as long as that takes (KIP-219): the answer goes out at once and says how long. While no quota
//! is set nothing is counted.

mod alter;
mod charge;
mod describe;
mod metrics;

use std::net::IpAddr;
use std::time::Duration;

use kafka_wire::Str;
use machine::metadata::image::Image;
use machine::quota::{self, Kind, Limit, Meters, Windows};
use parking_lot::Mutex;
use tokio::time::Instant;

pub(super) use charge::{Charge, Mutations};

use crate::Config;
use crate::telemetry::Telemetry;

/// Every client is this one as long as none says who it is.
const ANONYMOUS: &str = "ANONYMOUS";

/// Types of entities on the wire.
const USER: &str = "user";
const CLIENT_ID: &str = "client-id";
const IP: &str = "ip";

/// What the clients of this broker have used.
pub(super) struct Quotas {
    meters: Mutex<Meters>,
    /// From here the meters count milliseconds.
    start: Instant,
    metrics: metrics::Metrics,
}

impl Quotas {
    pub(super) fn new(config: &Config) -> Self {
        let windows = |count, size: &str| Windows {
            count: config.setting_or(count, 11),
            size_ms: config.setting_or::<u64>(size, 1).max(1) * 1000,
        };
        Self {
            meters: Mutex::new(Meters::new(
                windows("quota.window.num", "quota.window.size.seconds"),
                windows(
                    "controller.quota.window.num",
                    "controller.quota.window.size.seconds",
                ),
            )),
            start: Instant::now(),
            metrics: metrics::Metrics::default(),
        }
    }

    pub(super) fn register(&self, telemetry: &Telemetry) {
        self.metrics.register(telemetry);
    }

    /// What a request of `client_id` is charged with; `None` when no quota is set for anybody.
    pub(super) fn charge(&self, image: &Image, client_id: Option<&Str>) -> Option<Charge> {
        if image.quotas.is_empty() {
            return None;
        }
        let client_id = client_id.map(|id| &**id).unwrap_or_default();
        let limit = |kind| quota::limit(&image.quotas, kind, ANONYMOUS, client_id);
        Charge::new(limit)
    }

    /// Counts a connection from `address`; for how long it has to be kept waiting before it is closed, when
    /// it is one too many.
    pub(super) fn connection(&self, image: &Image, address: IpAddr) -> Option<Duration> {
        if image.quotas.is_empty() {
            return None;
        }
        let address = address.to_canonical().to_string();
        let limit = quota::connection_limit(&image.quotas, &address)?;
        let now_ms = self.now_ms();
        let mut meters = self.meters.lock();
        let refused = meters.record_if_free(Kind::Connection, &limit, 1.0, now_ms);
        let wait_ms = refused.err()?.wait_ms.min(MAX_REFUSED_MS);
        drop(meters);
        self.metrics
            .throttled(Kind::Connection, &limit.entity, wait_ms);
        Some(Duration::from_millis(wait_ms))
    }

    /// Counts `amount`; for how many milliseconds the client has to pause.
    fn record(&self, kind: Kind, limit: &Limit, amount: f64) -> u64 {
        let now_ms = self.now_ms();
        let wait_ms = self.meters.lock().record(kind, limit, amount, now_ms);
        if wait_ms > 0 {
            self.metrics.throttled(kind, &limit.entity, wait_ms);
        }
        wait_ms
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A connection that is one too many keeps its place among those that are open for so long at most.
const MAX_REFUSED_MS: u64 = 1000;

#[cfg(test)]
mod tests;
