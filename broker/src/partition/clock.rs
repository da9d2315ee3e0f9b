//! Milliseconds since 1970 that never jump: replica lag and timeouts are measured with them, and a
//! corrected clock must not put every follower out of sync. Only what ends up in records asks the
//! wall clock itself.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

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
}

/// The wall clock: for timestamps of records.
pub(super) fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
