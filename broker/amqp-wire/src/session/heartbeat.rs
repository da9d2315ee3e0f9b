//! When to send a heartbeat, and when the other side counts as gone.

/// Sends after half an interval of silence; gives up after two without a byte (section 4.2.7).
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// 0 = no heartbeats.
    interval_ms: u64,
    received_ms: u64,
    sent_ms: u64,
}

impl Heartbeat {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            interval_ms: 0,
            received_ms: now_ms,
            sent_ms: now_ms,
        }
    }

    pub(super) fn set_interval_s(&mut self, interval_s: u16) {
        self.interval_ms = u64::from(interval_s) * 1000;
    }

    pub(super) fn received(&mut self, now_ms: u64) {
        self.received_ms = now_ms;
    }

    pub(super) fn sent(&mut self, now_ms: u64) {
        self.sent_ms = now_ms;
    }

    fn due_ms(&self) -> u64 {
        self.sent_ms + self.interval_ms / 2
    }

    fn dead_ms(&self) -> u64 {
        self.received_ms + self.interval_ms * 2
    }

    pub(super) fn deadline_ms(&self) -> Option<u64> {
        (self.interval_ms > 0).then(|| self.due_ms().min(self.dead_ms()))
    }

    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        self.interval_ms > 0 && now_ms >= self.due_ms()
    }

    pub(super) fn is_dead(&self, now_ms: u64) -> bool {
        self.interval_ms > 0 && now_ms >= self.dead_ms()
    }
}
