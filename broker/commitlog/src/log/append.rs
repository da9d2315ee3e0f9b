//! Adding batches: one vectored write for all that were given.

use std::{
    io::IoSlice,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use bytes::Bytes;
use model::batch::{Header, Invalid};

use super::Log;
use crate::{Error, segment::Segment};

/// Buffers that the kernel takes in one call.
const IO_VECTORS_MAX: usize = 1024;

impl Log {
    /// Writes `batches`, each one whole batch with its final base offset and leader epoch, behind the
    /// end. On error the log ends where it did before.
    ///
    /// # Errors
    /// [`Error::NotNext`] when a batch begins before the end (a gap is allowed: compaction leaves
    /// them), [`Error::Invalid`] for bytes that are no batch, [`Error::Io`] when the disk refuses,
    /// [`Error::Poisoned`] after a failed sync.
    pub fn append(&mut self, batches: &[Bytes]) -> Result<(), Error> {
        self.check_poison()?;
        let headers = self.check(batches)?;
        if !headers.is_empty() {
            self.active.make()?;
        }
        let before = self.end_offset();
        self.append_checked(&headers, batches).inspect_err(|_| {
            // A part may lie in an earlier segment. When even that cannot be undone, stop.
            if self.end_offset() > before && self.truncate_to(before).is_err() {
                self.shared().poisoned.store(true, Ordering::Release);
            }
        })
    }

    fn append_checked(&mut self, headers: &[Header], batches: &[Bytes]) -> Result<(), Error> {
        let mut first = 0;
        while first < batches.len() {
            let count = self.fitting(headers.get(first..).unwrap_or_default());
            if count == 0 {
                let base = headers
                    .get(first)
                    .map_or_else(|| self.end_offset(), |h| h.base_offset);
                self.roll(base)?;
                continue;
            }
            let run = first..first + count;
            self.write(
                headers.get(run.clone()).unwrap_or_default(),
                batches.get(run).unwrap_or_default(),
            )?;
            first += count;
        }
        Ok(())
    }

    /// Parses the headers and makes sure that each batch is whole and comes after the one before.
    fn check(&self, batches: &[Bytes]) -> Result<Vec<Header>, Error> {
        let mut end = self.end_offset();
        let mut headers = Vec::with_capacity(batches.len());
        for bytes in batches {
            let header = Header::parse(bytes)?;
            if header.size_bytes() != bytes.len() {
                return Err(Error::Invalid(Invalid::Truncated {
                    needed: header.size_bytes(),
                    present: bytes.len(),
                }));
            }
            if header.base_offset < end || header.last_offset_delta < 0 {
                return Err(Error::NotNext {
                    given: header.base_offset,
                    end,
                });
            }
            end = header.next_offset();
            headers.push(header);
        }
        Ok(headers)
    }

    /// How many of the batches go into the active segment; none when it must be closed first.
    fn fitting(&self, headers: &[Header]) -> usize {
        let mut size = self.active.size();
        // An offset index that has no room for the entries of this write is full.
        let room = self
            .config
            .index_bytes_max
            .saturating_sub(self.active.index_bytes())
            / 8;
        let mut count = 0;
        for header in headers {
            let bytes = header.size_bytes() as u64;
            let relative = header.last_offset().0.saturating_sub(self.active.base.0);
            let full = size + bytes > self.config.segment_bytes || count >= room;
            // Indexes hold offsets relative to the segment's in 32 bits.
            let beyond = relative > i64::from(i32::MAX) && self.active.base != header.base_offset;
            let late = size > 0 && self.is_late(header);
            if beyond || late || (full && size > 0) {
                break;
            }
            size += bytes;
            count += 1;
        }
        count
    }

    fn write(&mut self, headers: &[Header], batches: &[Bytes]) -> Result<(), Error> {
        let segment = self.active.clone();
        let before = segment.size();
        if before == 0 {
            self.active_first_ms = headers.first().map(|h| h.max_timestamp);
        }
        let bytes = headers.iter().map(|h| h.size_bytes() as u64).sum();
        let reserved = self.shared().disk.reserve(&self.shared().dir, bytes);
        let written = reserved
            .map_err(|e| Error::io("write", segment.path())(e))
            .and_then(|()| write_all(&segment, before, batches));
        if let Err(e) = written {
            self.undo(&segment, before);
            return Err(e);
        }
        let mut position = before;
        for header in headers {
            if let Err(e) = segment.note(header, position, self.config.index_interval_bytes) {
                let first = headers
                    .first()
                    .map_or_else(|| self.end_offset(), |h| h.base_offset);
                if segment.cut(before, first).is_err() {
                    self.shared().poisoned.store(true, Ordering::Release);
                }
                return Err(e);
            }
            position += header.size_bytes() as u64;
        }
        self.note_epochs(headers);
        let mut tail = self
            .reader
            .shared
            .tail
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for (header, bytes) in headers.iter().zip(batches) {
            tail.push(header, bytes.clone());
        }
        drop(tail);
        segment.publish(position);
        let written = position - before;
        self.unsynced_bytes += written;
        if !self.dirty.last().is_some_and(|s| Arc::ptr_eq(s, &segment)) {
            self.dirty.push(segment);
        }
        let shared = self.shared();
        shared.bytes.fetch_add(written, Ordering::Relaxed);
        if let Some(last) = headers.last() {
            shared.end.store(last.next_offset().0, Ordering::Release);
        }
        Ok(())
    }

    fn note_epochs(&mut self, headers: &[Header]) {
        let mut latest = self.reader.latest_epoch();
        for header in headers {
            // Looked at without the lock: nearly every batch has the epoch of the one before.
            if Some(header.leader_epoch) == latest {
                continue;
            }
            let mut epochs = self
                .reader
                .shared
                .epochs
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            self.dirty_epochs |= epochs.assign(header.leader_epoch, header.base_offset);
            latest = epochs.latest();
        }
    }

    /// Takes back what a failed write left in the file, so that the next one may try again.
    fn undo(&self, segment: &Arc<Segment>, size: u64) {
        let cut = segment.file().is_ok_and(|f| f.set_len(size).is_ok());
        if !cut {
            self.shared().poisoned.store(true, Ordering::Release);
        }
    }
}

fn write_all(segment: &Arc<Segment>, mut position: u64, batches: &[Bytes]) -> Result<(), Error> {
    let file = segment.file()?;
    let mut slices: Vec<IoSlice<'_>> = batches.iter().map(|b| IoSlice::new(b)).collect();
    let mut left = slices.as_mut_slice();
    while !left.is_empty() {
        let now = left
            .get(..left.len().min(IO_VECTORS_MAX))
            .unwrap_or_default();
        let written = match rustix::io::pwritev(&*file, now, position) {
            Ok(0) => {
                return Err(Error::io("write", segment.path())(
                    std::io::ErrorKind::WriteZero.into(),
                ));
            }
            Ok(n) => n,
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(Error::io("write", segment.path())(e.into())),
        };
        position += written as u64;
        IoSlice::advance_slices(&mut left, written);
    }
    Ok(())
}
