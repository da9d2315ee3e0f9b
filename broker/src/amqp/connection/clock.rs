//! Milliseconds since the connection came: the time that the wire session is told.

use tokio::time::Instant;

pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn at(&self, ms: u64) -> Instant {
        self.0 + std::time::Duration::from_millis(ms)
    }
}
