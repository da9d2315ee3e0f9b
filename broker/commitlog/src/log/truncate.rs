//! Cutting the end off: what a follower does when its log parted from the leader's.

use std::{
    ops::ControlFlow,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use model::Offset;

use super::{Log, files};
use crate::{
    Error, checkpoint,
    segment::{Segment, scan},
};

impl Log {
    /// Drops every batch that has a record at `offset` or later. Durable when it returns, so that a
    /// crash cannot bring back what a leader never had.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Poisoned`]. Below the start the log is emptied and begins at `offset`.
    pub fn truncate_to(&mut self, offset: Offset) -> Result<(), Error> {
        self.check_poison()?;
        if offset >= self.end_offset() {
            return Ok(());
        }
        if offset <= self.start_offset() {
            return self.reset_to(offset);
        }
        self.lower_compacted_to(offset)?;
        self.lower_recovery_point(offset)?;
        self.shared().end.store(offset.0, Ordering::Release);
        self.lock_tail().truncate(offset);
        self.drop_newest(offset)?;
        let segment = self.active.clone();
        let Cut { first, end } = Cut::find(&segment, offset)?;
        // A batch that reaches over `offset` goes whole, and compaction may have left none right before
        // it: the log ends where its last batch does, as it will when it is opened anew.
        if end < offset {
            self.lower_compacted_to(end)?;
            self.lower_recovery_point(end)?;
        }
        if let Some((position, base)) = first {
            let gone = segment.size() - position;
            segment.cut(position, base)?;
            self.shared().bytes.fetch_sub(gone, Ordering::Relaxed);
        }
        self.shared().end.store(end.0, Ordering::Release);
        self.lock_epochs().truncate_end(end);
        self.dirty_epochs = true;
        self.dirty.push(segment);
        self.know_active()?;
        self.sync()
    }

    /// Empties the log; the next record gets `offset`. What a follower does whose leader begins later
    /// than it ends.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Poisoned`].
    pub fn reset_to(&mut self, offset: Offset) -> Result<(), Error> {
        self.check_poison()?;
        self.active.make()?;
        self.lower_compacted_to(Offset(0))?;
        self.lower_recovery_point(Offset(0))?;
        self.lock_tail().clear();
        *self.lock_epochs() = crate::Epochs::default();
        let gone = std::mem::take(
            &mut *self
                .shared()
                .segments
                .write()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.retire(gone)?;
        self.shared().end.store(offset.0, Ordering::Release);
        self.begin_segment(offset)?;
        self.dirty_epochs = true;
        self.store_start(offset)?;
        self.sync()
    }

    /// Deletes whole segments that begin at `offset` or later, and makes the last one left active.
    fn drop_newest(&mut self, offset: Offset) -> Result<(), Error> {
        let (gone, active) = {
            let mut segments = self
                .reader
                .shared
                .segments
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let keep = segments.partition_point(|s| s.base < offset).max(1);
            let keep = keep.min(segments.len());
            let gone = segments.split_off(keep);
            (gone, segments.last().cloned())
        };
        self.retire(gone)?;
        if let Some(active) = active {
            active.load_indexes()?;
            self.active = active;
        }
        Ok(())
    }

    fn lower_recovery_point(&self, offset: Offset) -> Result<(), Error> {
        let shared = self.shared();
        let mut synced = shared.lock_synced();
        synced.generation += 1;
        synced.upto = synced.upto.min(offset);
        if synced.indexed > offset {
            synced.indexed = offset;
            let path = shared.dir.join(files::INDEX_POINT);
            checkpoint::write_offset(&path, offset)
                .and_then(|()| std::fs::File::open(&path)?.sync_all())
                .map_err(Error::io("write index point of", path))?;
        }
        let path = shared.dir.join(files::RECOVERY_POINT);
        checkpoint::sync_offset(&*shared.disk, &path, synced.upto)
            .map_err(Error::io("write recovery point of", path))
    }

    fn lock_tail(&self) -> std::sync::RwLockWriteGuard<'_, crate::tail::Tail> {
        self.shared()
            .tail
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_epochs(&self) -> std::sync::RwLockWriteGuard<'_, crate::Epochs> {
        self.shared()
            .epochs
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a segment is cut.
struct Cut {
    /// Position and base offset of the first batch that goes.
    first: Option<(u64, Offset)>,
    /// Where the last one that stays ends; the segment's base when none does.
    end: Offset,
}

impl Cut {
    /// Before the first batch that has a record at `offset` or later.
    fn find(segment: &Arc<Segment>, offset: Offset) -> Result<Self, Error> {
        let mut below = offset;
        loop {
            let from = segment.position_before(Offset(below.0 - 1).max(segment.base))?;
            let (mut first, mut end) = (None, None);
            scan::headers(segment, from, |header, position| {
                if header.last_offset() >= offset {
                    first = Some((position, header.base_offset));
                    return ControlFlow::Break(());
                }
                end = Some(header.next_offset());
                ControlFlow::Continue(())
            })?;
            match (first, end) {
                // What stays was not looked at.
                (Some((position, base)), None) if position > 0 && base < below => below = base,
                (first, end) => {
                    let end = end.unwrap_or(segment.base);
                    return Ok(Self { first, end });
                }
            }
        }
    }
}
