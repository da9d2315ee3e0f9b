//! Closing the active segment and beginning the next.

use std::{
    hash::{Hash, Hasher},
    sync::PoisonError,
};

use model::{Offset, batch::Header};
use siphasher::sip::SipHasher13;

use super::Log;
use crate::{
    Error,
    segment::{Segment, scan},
};

impl Log {
    /// Closes the active segment if it has records and the first of them came `segment_ms` ago or
    /// earlier: a log without traffic rolls too. True when it did.
    ///
    /// # Errors
    /// [`Error::Io`] when the next one cannot be created.
    pub fn roll_if_due(&mut self, now_ms: i64) -> Result<bool, Error> {
        self.check_poison()?;
        if self.active.size() == 0 {
            self.active_since_ms = None;
            return Ok(false);
        }
        let since = match self.active_since_ms {
            Some(since) => since,
            None => *self.active_since_ms.insert(now_ms),
        };
        if now_ms.saturating_sub(since) < self.lifetime_ms() {
            return Ok(false);
        }
        self.roll(self.end_offset())?;
        Ok(true)
    }

    /// Closes the active segment and begins one at `base`.
    pub(crate) fn roll(&mut self, base: Offset) -> Result<(), Error> {
        self.active.seal()?;
        self.begin_segment(base)
    }

    /// Makes a segment at `base` the active one, with nothing in it.
    pub(super) fn begin_segment(&mut self, base: Offset) -> Result<(), Error> {
        let segment = Segment::create(
            self.shared().dir.clone(),
            base,
            self.config.resources.descriptors.clone(),
        )?;
        self.shared()
            .segments
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(segment.clone());
        self.active = segment;
        self.active_since_ms = None;
        self.active_first_ms = None;
        self.indexed_bytes = 0;
        self.dirty_directory = true;
        Ok(())
    }

    /// Whether a batch is so much younger than the first of the active segment that it belongs into the
    /// next. Records' own time, as in Kafka: what is copied in late is not cut into pieces for being old.
    pub(super) fn is_late(&self, header: &Header) -> bool {
        let first = self.active_first_ms.filter(|first| *first >= 0);
        first.is_some_and(|first| header.max_timestamp.saturating_sub(first) > self.lifetime_ms())
    }

    /// Another segment is the active one, or this one was cut.
    pub(super) fn know_active(&mut self) -> Result<(), Error> {
        self.indexed_bytes = 0;
        let first = scan::header_at(&self.active, 0)?;
        self.active_first_ms = first.map(|header| header.max_timestamp);
        self.active_since_ms = match self.active_first_ms {
            // A clock that was wrong does not hold the segment open for longer than it has been there.
            Some(first) => {
                let written = self.active.modified_ms()?;
                Some(if first >= 0 {
                    first.min(written)
                } else {
                    written
                })
            }
            None => None,
        };
        Ok(())
    }

    /// Milliseconds that the active segment is written to.
    fn lifetime_ms(&self) -> i64 {
        let segment_ms = self.config.segment_ms;
        let jitter_max_ms = self.config.segment_jitter_ms.min(segment_ms);
        if jitter_max_ms <= 0 {
            return segment_ms;
        }
        let mut hasher = SipHasher13::new();
        (&self.shared().dir, self.active.base.0).hash(&mut hasher);
        let jitter = hasher.finish() % jitter_max_ms.unsigned_abs();
        segment_ms.saturating_sub_unsigned(jitter)
    }
}
