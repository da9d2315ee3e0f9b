//! When nobody uses a queue that is to go then, and how often that is said while it stays.

use super::{Config, NEVER};

/// Until a queue that is to go says so again: its deletion may have failed.
pub(super) const AGAIN_MS: i64 = 1_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Disuse {
    /// `x-expires` counts from here while nobody consumes.
    pub(super) used_at_ms: i64,
    pub(super) had_consumer: bool,
    /// Not before. It is no part of a snapshot: whoever begins to serve the queue says so once more.
    again_at_ms: i64,
}

impl Disuse {
    pub(super) fn new(now_ms: i64) -> Self {
        Self {
            used_at_ms: now_ms,
            had_consumer: false,
            again_at_ms: 0,
        }
    }

    pub(super) fn used(&mut self, now_ms: i64) {
        self.used_at_ms = now_ms;
    }

    pub(super) fn attached(&mut self, now_ms: i64) {
        self.used(now_ms);
        self.had_consumer = true;
    }

    /// The last consumer is gone.
    pub(super) fn left(&mut self, now_ms: i64) {
        self.used(now_ms);
        self.again_at_ms = now_ms;
    }

    pub(super) fn said(&mut self, now_ms: i64) {
        self.again_at_ms = now_ms.saturating_add(AGAIN_MS);
    }

    /// When it is to be said, in milliseconds since 1970; [`NEVER`] while somebody consumes.
    pub(super) fn next_ms(&self, config: &Config, consumers: usize) -> i64 {
        if consumers > 0 {
            return NEVER;
        }
        if config.auto_delete && self.had_consumer {
            return self.again_at_ms;
        }
        let Some(expires_ms) = config.expires_ms else {
            return NEVER;
        };
        let expires_ms = i64::try_from(expires_ms).unwrap_or(NEVER);
        let expired_at_ms = self.used_at_ms.saturating_add(expires_ms);
        expired_at_ms.max(self.again_at_ms)
    }
}
