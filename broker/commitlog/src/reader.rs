//! Reading a log while it is written.

mod run;

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use model::{
    Epoch, Offset,
    batch::{Batch, Header, Invalid},
};
use run::Run;

use crate::{
    Disk, Epochs, Error,
    segment::{Segment, scan},
    sync::Synced,
    tail::Tail,
};

/// Reads one log. Clones are cheap and may be used on any thread; appends never wait for them.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(crate) shared: Arc<Shared>,
}

/// What the writer and the readers of a log share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub dir: Arc<Path>,
    pub disk: Arc<dyn Disk>,
    /// In rising order, never empty; the last one is written to.
    pub segments: RwLock<Vec<Arc<Segment>>>,
    pub start: AtomicI64,
    pub end: AtomicI64,
    /// Bytes in segments.
    pub bytes: AtomicU64,
    pub tail: RwLock<Tail>,
    pub epochs: RwLock<Epochs>,
    /// The change of the epochs that their file has. Held while a sync runs.
    pub stored_epochs: Mutex<u64>,
    pub poisoned: AtomicBool,
    pub synced: Mutex<Synced>,
}

// === impl Shared ===

impl Shared {
    /// Segments with batches that no sync has covered.
    pub(crate) fn unsynced(&self) -> Vec<Arc<Segment>> {
        let synced = self.lock_synced().upto;
        if synced.0 >= self.end.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut segments = self.snapshot();
        let first = segments.partition_point(|s| s.base <= synced);
        segments.split_off(first.saturating_sub(1))
    }
}

// === impl Reader ===

impl Reader {
    /// First offset that can be read.
    pub fn start_offset(&self) -> Offset {
        Offset(self.shared.start.load(Ordering::Acquire))
    }

    /// Offset that the next record will get.
    pub fn end_offset(&self) -> Offset {
        Offset(self.shared.end.load(Ordering::Acquire))
    }

    /// Bytes of all batches on disk.
    pub fn size_bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Everything below is on the disk, not only on its way there.
    pub fn synced_offset(&self) -> Offset {
        self.shared.lock_synced().upto
    }

    /// Whole batches from the one that holds `from`: the first whatever its size, then as many as fit
    /// in `bytes_max`. Each element is one batch or a run of them. Nothing when `from` is the end.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Corrupt`] when the disk gives back other bytes than were written.
    pub fn read(&self, from: Offset, bytes_max: usize) -> Result<Vec<Bytes>, Error> {
        self.read_until(from, self.end_offset(), bytes_max)
    }

    /// As [`Self::read`], batches that end below `limit` only.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_until(
        &self,
        from: Offset,
        limit: Offset,
        bytes_max: usize,
    ) -> Result<Vec<Bytes>, Error> {
        match self.read_cached(from, limit, bytes_max)? {
            Some(found) => Ok(found),
            None => self.read_files(from, limit.min(self.end_offset()), bytes_max),
        }
    }

    /// As [`Self::read_until`] without waiting for the disk: `None` when `from` is older than what is
    /// in memory.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn read_cached(
        &self,
        from: Offset,
        limit: Offset,
        bytes_max: usize,
    ) -> Result<Option<Vec<Bytes>>, Error> {
        let (start, end) = (self.start_offset(), self.end_offset());
        if from < start || from > end {
            return Err(Error::OutOfRange {
                asked: from,
                start,
                end,
            });
        }
        let limit = limit.min(end);
        if from >= limit {
            return Ok(Some(Vec::new()));
        }
        let tail = self
            .shared
            .tail
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(tail.read(from, limit, bytes_max))
    }

    fn read_files(
        &self,
        mut from: Offset,
        limit: Offset,
        bytes_max: usize,
    ) -> Result<Vec<Bytes>, Error> {
        let mut found: Vec<Bytes> = Vec::new();
        let mut left = bytes_max;
        while from < limit {
            let Some(segment) = self.shared.segment_for(from) else {
                break;
            };
            let range = run::Range {
                from,
                limit,
                bytes_max: left,
                at_least_one: found.is_empty(),
            };
            let read = match Run::read(&self.shared, &segment, range) {
                // What is whole goes out; who asks for the rest is told.
                Err(Error::Corrupt { .. }) if !found.is_empty() => break,
                read => read?,
            };
            let Some(run) = read else {
                // All of this segment is older, which compaction may have left of it.
                match self.shared.segment_after(segment.base) {
                    Some(next) if from < next.base => {
                        from = next.base;
                        continue;
                    }
                    _ => break,
                }
            };
            if run.bytes.is_empty() {
                break;
            }
            left = left.saturating_sub(run.bytes.len());
            from = run.next;
            found.push(run.bytes);
            if left == 0 {
                break;
            }
        }
        Ok(found)
    }

    /// Headers of all batches from the one that holds `from`, in order, up to the end.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn headers(&self, mut from: Offset, mut f: impl FnMut(&Header)) -> Result<(), Error> {
        const RUN_BYTES: usize = 1 << 20;
        let end = self.end_offset();
        while from < end {
            let runs = self.read_until(from, end, RUN_BYTES)?;
            let before = from;
            for run in runs {
                for batch in model::batch::split(run)? {
                    f(&batch.header);
                    from = batch.header.next_offset();
                }
            }
            if from <= before {
                break;
            }
        }
        Ok(())
    }

    /// The first batch that has a record with a timestamp of `timestamp` (milliseconds since 1970) or
    /// later. Which of its records that is, only its payload tells.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn batch_for_time(&self, timestamp: i64) -> Result<Option<Batch>, Error> {
        let start = self.start_offset();
        for segment in self.shared.snapshot() {
            if segment.newest()?.is_none_or(|n| n.timestamp < timestamp) {
                continue;
            }
            let from = segment.position_before_time(timestamp)?;
            let mut found = None;
            let end = scan::batches(&segment, from, |batch, _| {
                if batch.header.max_timestamp >= timestamp && batch.header.last_offset() >= start {
                    found = Some(batch.clone());
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            if let Some(fault) = end.fault {
                return Err(corrupt(&segment, end.position, start, fault));
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The batch with the newest timestamp, the earliest such; `None` when the log is empty.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn newest_batch(&self) -> Result<Option<Batch>, Error> {
        let mut newest: Option<i64> = None;
        for segment in self.shared.snapshot() {
            newest = newest.max(segment.newest()?.map(|n| n.timestamp));
        }
        match newest {
            Some(timestamp) => self.batch_for_time(timestamp),
            None => Ok(None),
        }
    }

    /// The largest known leader epoch at or below `asked` and where it ends (KIP-101).
    pub fn epoch_end(&self, asked: Epoch) -> (Epoch, Offset) {
        self.shared.epochs().end_of(asked, self.end_offset())
    }

    /// Epoch of the newest record.
    pub fn latest_epoch(&self) -> Option<Epoch> {
        self.shared.epochs().latest()
    }

    /// Epoch of the record at `offset`.
    pub fn epoch_at(&self, offset: Offset) -> Option<Epoch> {
        self.shared.epochs().at(offset)
    }
}

// === impl Shared ===

impl Shared {
    pub(crate) fn snapshot(&self) -> Vec<Arc<Segment>> {
        self.segments
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn segment_for(&self, offset: Offset) -> Option<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        let n = segments.partition_point(|s| s.base <= offset);
        segments.get(n.checked_sub(1)?).cloned()
    }

    /// Where the batches of `segment` end at the latest.
    pub(crate) fn end_of(&self, segment: &Segment) -> Offset {
        let next = self.segment_after(segment.base).map(|next| next.base);
        next.unwrap_or_else(|| Offset(self.end.load(Ordering::Acquire)))
    }

    fn segment_after(&self, base: Offset) -> Option<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        let n = segments.partition_point(|s| s.base <= base);
        segments.get(n).cloned()
    }

    pub(crate) fn epochs(&self) -> std::sync::RwLockReadGuard<'_, Epochs> {
        self.epochs.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_synced(&self) -> std::sync::MutexGuard<'_, Synced> {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn corrupt(segment: &Segment, position: u64, offset: Offset, source: Invalid) -> Error {
    Error::Corrupt {
        path: segment.path(),
        position,
        offset,
        source,
    }
}

/// A place on the disk cannot be read.
pub(crate) fn is_unreadable(error: &Error) -> bool {
    let bad_place = rustix::io::Errno::IO.raw_os_error();
    matches!(error, Error::Io { source, .. } if source.raw_os_error() == Some(bad_place))
}
