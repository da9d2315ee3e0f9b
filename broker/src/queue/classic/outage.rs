//! A queue whose disk has failed it, and when it tries again.
//!
//! During an outage the queue refuses publishes and goes on with all else, as far as bodies can be read:
//! acknowledgements gather, consumers are served from memory and from the log.

/// First wait of an outage; each further one is twice as long.
const DELAY_MS_MIN: i64 = 100;
const DELAY_MS_MAX: i64 = 5_000;

#[derive(Debug)]
pub(super) struct Outage {
    pub(super) retry_at_ms: i64,
    delay_ms: i64,
}

impl Outage {
    /// `at_once`: nothing speaks against trying now, since the log only has to be opened anew.
    pub(super) fn new(now_ms: i64, at_once: bool) -> Self {
        let wait = if at_once { 0 } else { DELAY_MS_MIN };
        Self {
            retry_at_ms: now_ms.saturating_add(wait),
            delay_ms: DELAY_MS_MIN,
        }
    }

    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        self.retry_at_ms <= now_ms
    }

    /// A try has failed.
    pub(super) fn again(&mut self, now_ms: i64) {
        self.retry_at_ms = now_ms.saturating_add(self.delay_ms);
        self.delay_ms = (self.delay_ms * 2).min(DELAY_MS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::{DELAY_MS_MAX, Outage};

    #[test]
    fn each_try_waits_longer_than_the_last_up_to_a_bound() {
        let mut outage = Outage::new(1_000, true);
        assert!(outage.is_due(1_000));
        let mut waits = Vec::new();
        for _ in 0..8 {
            outage.again(0);
            waits.push(outage.retry_at_ms);
        }
        assert_eq!(
            waits,
            [100, 200, 400, 800, 1_600, 3_200, DELAY_MS_MAX, DELAY_MS_MAX]
        );
    }
}
