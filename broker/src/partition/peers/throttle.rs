//! Bounds on the rate at which replicas that are not in sync are copied (KIP-73).
//!
//! A broker has one for what it sends as a leader and one for what it takes as a follower, each over the
//! replicas that the configs of their topics name. Replicas in sync are never held up and do not count.

use std::time::Duration;

use machine::metadata::image::{ConfigResource, Image};
use model::BrokerId;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Bytes per second that this broker sends to, or takes for, the replicas named.
const LEADER_RATE: &str = "leader.replication.throttled.rate";
const FOLLOWER_RATE: &str = "follower.replication.throttled.rate";
/// At the latest so long after a pause began its end is looked for again: the rate may have changed.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The two of one broker.
#[derive(Debug)]
pub(in crate::partition) struct Throttles {
    pub leader: Throttle,
    pub follower: Throttle,
}

/// One bound. What is sent is counted afterwards, so that it may be overdrawn by one answer, which the
/// next ones make good by waiting.
#[derive(Debug)]
pub(in crate::partition) struct Throttle {
    /// `replication.quota.window.size.seconds`: what was left unused so long may be caught up on.
    window: Duration,
    state: Mutex<Option<Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    bytes_per_second: u64,
    /// Bytes that may be sent; below zero when more were.
    left: i64,
    at: Instant,
}

// === impl Throttles ===

impl Throttles {
    pub(in crate::partition) fn new(window_seconds: u64) -> Self {
        let window = Duration::from_secs(window_seconds);
        Self {
            leader: Throttle::new(window),
            follower: Throttle::new(window),
        }
    }

    /// Takes over what is set for this broker, else for all. Nothing set: no bound.
    pub(in crate::partition) fn adopt(&self, image: &Image, this: BrokerId) {
        let now = Instant::now();
        self.leader.set_rate(rate(image, this, LEADER_RATE), now);
        self.follower
            .set_rate(rate(image, this, FOLLOWER_RATE), now);
    }
}

fn rate(image: &Image, this: BrokerId, key: &str) -> Option<u64> {
    [ConfigResource::Broker(this), ConfigResource::BrokerDefault]
        .iter()
        .find_map(|resource| image.configs.get(resource)?.get(key))
        .and_then(|value| value.trim().parse().ok())
}

// === impl Throttle ===

impl Throttle {
    fn new(window: Duration) -> Self {
        Self {
            window,
            state: Mutex::new(None),
        }
    }

    fn set_rate(&self, bytes_per_second: Option<u64>, now: Instant) {
        let mut state = self.state.lock();
        if state.map(|bucket| bucket.bytes_per_second) != bytes_per_second {
            *state = bytes_per_second.map(|bytes_per_second| Bucket {
                bytes_per_second,
                left: bytes(bytes_per_second, self.window),
                at: now,
            });
        }
    }

    pub(super) fn count(&self, bytes: usize) {
        if let Some(bucket) = &mut *self.state.lock() {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            bucket.left = bucket.left.saturating_sub(bytes);
        }
    }

    /// How long to wait before more may be sent, if at all.
    pub(super) fn pause(&self, now: Instant) -> Option<Duration> {
        let mut state = self.state.lock();
        let bucket = state.as_mut()?;
        let gained = bytes(bucket.bytes_per_second, now.duration_since(bucket.at));
        // Less than a byte is gained later.
        if gained > 0 {
            let most = bytes(bucket.bytes_per_second, self.window);
            bucket.left = bucket.left.saturating_add(gained).min(most);
            bucket.at = now;
        }
        if bucket.left > 0 {
            return None;
        }
        let seconds = (1 - bucket.left) as f64 / bucket.bytes_per_second as f64;
        let pause = Duration::try_from_secs_f64(seconds).unwrap_or(PAUSE_MAX);
        Some(pause.min(PAUSE_MAX))
    }
}

fn bytes(per_second: u64, time: Duration) -> i64 {
    let bytes = u128::from(per_second).saturating_mul(time.as_micros()) / 1_000_000;
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn more_is_sent_only_when_the_rate_has_made_good_what_was_overdrawn() {
        let (throttle, start) = (Throttle::new(SECOND), Instant::now());
        throttle.count(1 << 40);
        assert_eq!(throttle.pause(start), None, "no bound");
        throttle.set_rate(Some(1000), start);
        assert_eq!(throttle.pause(start), None);
        throttle.count(2500);
        assert_eq!(throttle.pause(start), Some(SECOND), "looked at again");
        let overdrawn = throttle.pause(start + SECOND);
        assert_eq!(overdrawn, Some(Duration::from_millis(501)));
        assert_eq!(throttle.pause(start + SECOND * 2), None);
        throttle.count(500);
        // What was not used for long is not caught up on.
        assert_eq!(throttle.pause(start + SECOND * 100), None);
        throttle.count(1000);
        assert!(throttle.pause(start + SECOND * 100).is_some());
        throttle.set_rate(Some(0), start);
        assert_eq!(throttle.pause(start + SECOND), Some(PAUSE_MAX));
        throttle.set_rate(None, start);
        assert_eq!(throttle.pause(start), None);
    }
}
