//! Wall-clock milliseconds that never jump while a coordinator serves: sessions are measured with
//! them, and a corrected clock must not expire every member at once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    began_ms: i64,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            began: Instant::now(),
            began_ms: wall_ms(),
        }
    }

    pub(super) fn now_ms(self) -> i64 {
        let elapsed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began_ms.saturating_add(elapsed)
    }

    pub(super) fn instant(self, at_ms: i64) -> Instant {
        let after = u64::try_from(at_ms.saturating_sub(self.began_ms)).unwrap_or(0);
        self.began + Duration::from_millis(after)
    }
}

/// Milliseconds since 1970 by the system's clock.
pub(super) fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
