//! The one place where this crate reads the wall clock.
//!
//! [`wall_ms`] is for what ends up in records and logs. What is measured (sessions, lag, timeouts)
//! uses a [`Clock`], which never jumps: a corrected clock must not expire every member of a group or
//! put every follower out of sync.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Milliseconds since 1970 that never go back, from when it was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    began_ms: i64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            began: Instant::now(),
            began_ms: wall_ms(),
        }
    }

    pub(crate) fn now_ms(self) -> i64 {
        let elapsed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began_ms.saturating_add(elapsed)
    }

    /// When this clock shows `at_ms`.
    pub(crate) fn instant(self, at_ms: i64) -> Instant {
        let after = u64::try_from(at_ms.saturating_sub(self.began_ms)).unwrap_or(0);
        self.began + Duration::from_millis(after)
    }
}

/// Milliseconds since 1970 by the system's clock.
pub(crate) fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
