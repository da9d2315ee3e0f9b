//! Deleting the oldest segments, whole ones only.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use model::Offset;

use super::Log;
use crate::{Error, segment::Segment};

impl Log {
    /// Deletes segments that are too old or too many, oldest first, and only such that end at or below
    /// `upto` (a replica's high watermark). Answers the new start when it moved.
    ///
    /// Age is that of a segment's newest record. An active segment that has become too old is closed
    /// first, so a log without traffic empties too.
    ///
    /// # Errors
    /// [`Error::Io`]; what was deleted before stays deleted.
    pub fn apply_retention(&mut self, now_ms: i64, upto: Offset) -> Result<Option<Offset>, Error> {
        self.check_poison()?;
        let mut count = 0;
        let segments = self.shared().snapshot();
        let mut bytes = self.reader.size_bytes();
        for (i, segment) in segments.iter().enumerate() {
            let active = i + 1 == segments.len();
            let end = segments
                .get(i + 1)
                .map_or_else(|| self.end_offset(), |next| next.base);
            if (active && segment.size() == 0) || end > upto {
                break;
            }
            let rest = bytes - segment.size();
            let too_many = self.config.retention_bytes.is_some_and(|max| rest >= max);
            if !too_many && !self.is_expired(segment, now_ms)? {
                break;
            }
            if active {
                self.roll(end)?;
            }
            bytes = rest;
            count = i + 1;
        }
        if count == 0 {
            return self.remove_retired(now_ms).map(|()| None);
        }
        self.delete_oldest(count)?;
        self.remove_retired(now_ms)?;
        let start = self
            .shared()
            .snapshot()
            .first()
            .map_or_else(|| self.end_offset(), |s| s.base);
        let start = start.max(self.start_offset());
        self.store_start(start)?;
        Ok(Some(start))
    }

    /// Moves the start to `offset`, at most the end: what is older is not read any more, and segments
    /// that hold nothing else are deleted. Never moves it back. Durable when it returns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] beyond the end, [`Error::Io`].
    pub fn delete_before(&mut self, offset: Offset) -> Result<(), Error> {
        self.check_poison()?;
        let (start, end) = (self.start_offset(), self.end_offset());
        if offset > end {
            return Err(Error::OutOfRange {
                asked: offset,
                start,
                end,
            });
        }
        if offset <= start {
            return Ok(());
        }
        self.store_start(offset)?;
        let segments = self.shared().snapshot();
        let gone = segments
            .windows(2)
            .take_while(|pair| matches!(pair, [_, next] if next.base <= offset))
            .count();
        self.delete_oldest(gone)
    }

    /// Removes files whose delay is over. Cheap when there are none.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be removed; it is tried again next time.
    pub fn remove_retired(&mut self, now_ms: i64) -> Result<(), Error> {
        let delay = self.config.delete_delay_ms;
        let mut failed = None;
        self.retired.retain_mut(|(path, due)| {
            let due = *due.get_or_insert(now_ms.saturating_add(delay));
            if due > now_ms {
                return true;
            }
            match std::fs::remove_file(&*path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    failed = Some(Error::io("remove", path.clone())(e));
                    true
                }
                _ => false,
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn is_expired(&self, segment: &Arc<Segment>, now_ms: i64) -> Result<bool, Error> {
        let Some(retention_ms) = self.config.retention_ms else {
            return Ok(false);
        };
        let newest = match segment.newest()? {
            Some(newest) if newest.timestamp >= 0 => newest.timestamp,
            _ => segment.modified_ms()?,
        };
        Ok(now_ms.saturating_sub(newest) > retention_ms)
    }

    /// Takes the first `count` segments out of the log; never the active one.
    pub(super) fn delete_oldest(&mut self, count: usize) -> Result<(), Error> {
        let gone: Vec<Arc<Segment>> = {
            let mut segments = self
                .reader
                .shared
                .segments
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let count = count.min(segments.len().saturating_sub(1));
            segments.drain(..count).collect()
        };
        self.retire(gone)
    }

    pub(super) fn retire(&mut self, gone: Vec<Arc<Segment>>) -> Result<(), Error> {
        for segment in gone {
            self.shared()
                .bytes
                .fetch_sub(segment.size(), Ordering::Relaxed);
            self.forget_unsynced(|s| Arc::ptr_eq(s, &segment));
            self.dirty_directory = true;
            let names = segment.retire()?;
            self.retired.extend(names.into_iter().map(|n| (n, None)));
        }
        Ok(())
    }
}
