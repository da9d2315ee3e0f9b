//! Which records of a log with a delivery delay may be read by now (`millrace.delivery.delay.ms`).
//!
//! A record may be read once the delay has passed since it was appended and everything before it may be
//! read too: readers go by offset and never back. When it was appended its batch says, which the leader
//! stamped (`LogAppendTime`); a batch without such a stamp was written before the topic had a delay and
//! waits for nothing but its turn. So what is due follows from the log, the delay and the clock, and every
//! replica finds the same after a restart or a change of leader. Owns no log: asks to be
//! told what lies ahead, a few batches at a time, however many wait.
//!
//! ```text
//! start ──── readable ──── due │ ahead: known, not due │ seen ──── not looked at ──── end
//! ```

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use model::{Offset, batch::Header};

/// Batches known ahead at most; those of the same millisecond count as one.
const AHEAD_MAX: usize = 256;

/// A batch and when it was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset after its last record.
    pub next: Offset,
    /// Milliseconds since 1970; `i64::MIN` of a batch that its leader did not stamp.
    pub at_ms: i64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// Milliseconds from append to delivery; 0 holds nothing back.
    delay_ms: i64,
    /// Everything below is due.
    due: Offset,
    /// What follows it, by offset.
    ahead: VecDeque<Appended>,
    /// Everything below is due or known ahead.
    seen: Offset,
}

// === impl Appended ===

impl Appended {
    pub fn of(header: &Header) -> Self {
        Self {
            next: header.next_offset(),
            at_ms: if header.is_log_append_time() {
                header.max_timestamp
            } else {
                i64::MIN
            },
        }
    }
}

// === impl Delivery ===

impl Delivery {
    /// Starts over with this delay, for a log of which everything below `due` is due: see
    /// [`Self::appended_after`].
    pub fn begin(&mut self, delay_ms: i64, due: Offset) {
        *self = Self {
            delay_ms,
            due,
            ahead: VecDeque::new(),
            seen: due,
        };
    }

    /// Something may be held back.
    pub fn is_on(&self) -> bool {
        self.delay_ms > 0
    }

    /// With a delay of `delay_ms`, batches wait that were appended later than this (milliseconds since
    /// 1970). All that lies before the first of them is due.
    pub fn appended_after(delay_ms: i64, now_ms: i64) -> i64 {
        now_ms.saturating_sub(delay_ms)
    }

    /// Looks at the clock, for a log from `start` to `end`. `Some`: what lies at that offset has to be
    /// told with [`Self::found`] before more can be said.
    pub fn advance(&mut self, start: Offset, end: Offset, now_ms: i64) -> Option<Offset> {
        let appended_after = Self::appended_after(self.delay_ms, now_ms);
        while let Some(first) = self.ahead.front()
            && (first.next <= start || first.at_ms <= appended_after)
        {
            self.due = first.next;
            self.ahead.pop_front();
        }
        self.due = self.due.max(start);
        self.seen = self.seen.max(start);
        (self.ahead.is_empty() && self.seen < end).then_some(self.seen)
    }

    /// The first batches at and behind the offset that [`Self::advance`] asked for, at least one, of a log
    /// that ends at `end`. None: nothing is left between the two.
    pub fn found(&mut self, batches: impl IntoIterator<Item = Appended>, end: Offset) {
        let mut any = false;
        for batch in batches {
            if batch.next <= self.seen {
                continue;
            }
            any = true;
            let full = self.ahead.len() == AHEAD_MAX;
            match self.ahead.back_mut() {
                Some(last) if last.at_ms == batch.at_ms => last.next = batch.next,
                _ if full => return,
                _ => self.ahead.push_back(batch),
            }
            self.seen = batch.next;
        }
        if !any {
            (self.due, self.seen) = (end, end);
        }
    }

    /// The log was cut and ends at `end` now; other records may come there.
    pub fn cut(&mut self, end: Offset) {
        while self.ahead.back().is_some_and(|last| last.next > end) {
            self.ahead.pop_back();
        }
        self.due = self.due.min(end);
        self.seen = self.ahead.back().map_or(self.due, |last| last.next);
    }

    /// Consumers may read what lies below, of a log that is committed up to `high_watermark`.
    pub fn readable_end(&self, high_watermark: Offset) -> Offset {
        if self.is_on() {
            self.due.min(high_watermark)
        } else {
            high_watermark
        }
    }

    /// When the next record is due, in milliseconds since 1970; `None` when none is known that waits.
    pub fn next_due(&self) -> Option<i64> {
        let first = self.ahead.front()?;
        Some(first.at_ms.saturating_add(self.delay_ms))
    }
}
