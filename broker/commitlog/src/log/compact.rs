//! What compaction needs of the one writer: a list of what to do, and the new segments put in place.

use std::{
    ops::ControlFlow,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use model::Offset;

use super::{Log, files};
use crate::{
    Error, checkpoint,
    compaction::{Compacted, Compaction, Policy, install},
    segment::{Segment, scan},
};

impl Log {
    /// What a compaction has to do now, if it is due by the log's [`Policy`]. Nothing at `upto` (a
    /// replica's high watermark) or later is touched.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Poisoned`].
    pub fn begin_compaction(&self, upto: Offset, now_ms: i64) -> Result<Option<Compaction>, Error> {
        self.check_poison()?;
        let Some(policy) = self.config.compaction else {
            return Ok(None);
        };
        let upto = upto.min(self.reader.synced_offset());
        let mut segments = self.shared().snapshot();
        // Where each ends; the active one has no next and goes.
        let ends: Vec<Offset> = segments.iter().skip(1).map(|s| s.base).collect();
        segments.truncate(ends.len());
        let mut closed = 0;
        for (segment, end) in segments.iter().zip(&ends) {
            let young = segment
                .newest()?
                .is_some_and(|n| now_ms.saturating_sub(n.timestamp) < policy.lag_min_ms);
            if *end > upto || young {
                break;
            }
            closed += 1;
        }
        segments.truncate(closed);
        let Some(end) = closed.checked_sub(1).and_then(|i| ends.get(i)).copied() else {
            return Ok(None);
        };
        let clean_to = self.compacted_to.min(end);
        let (mut all, mut dirty) = (0, 0);
        for (segment, end) in segments.iter().zip(&ends) {
            all += segment.size();
            if *end > clean_to {
                dirty += segment.size();
            }
        }
        #[allow(clippy::cast_precision_loss)]
        let dirty_ratio = dirty as f64 / all.max(1) as f64;
        let due = dirty > 0
            && (dirty_ratio > policy.dirty_ratio_min
                || Self::is_overdue(&segments, clean_to, policy, now_ms)?);
        Ok(due.then(|| Compaction {
            dir: self.shared().dir.clone(),
            segments,
            upto: end,
            start: self.start_offset(),
            clean_to,
            policy,
            segment_bytes: self.config.segment_bytes,
            index_interval_bytes: self.config.index_interval_bytes,
            descriptors: self.config.resources.descriptors.clone(),
            now_ms,
            generation: self.shared().lock_synced().generation,
            dirty_ratio,
        }))
    }

    /// Puts the new segments in the place of the old ones. Does nothing when one of those is not there
    /// any more as it was: the log was cut, or retention has deleted it.
    ///
    /// # Errors
    /// [`Error::Io`]. When it fails half way the log is poisoned, and opening it anew goes on from
    /// there.
    pub fn finish_compaction(&mut self, done: Compacted) -> Result<(), Error> {
        self.check_poison()?;
        let dir = self.shared().dir.clone();
        let old = done.groups.iter().flat_map(|group| &group.old);
        let segments = self.shared().snapshot();
        let first = done
            .groups
            .first()
            .and_then(|group| group.old.first())
            .and_then(|first| segments.iter().position(|s| Arc::ptr_eq(s, first)));
        let (Some(first), count) = (first, old.clone().count()) else {
            return install::abandon(&dir);
        };
        let same = old
            .clone()
            .zip(segments.iter().skip(first))
            .all(|(old, now)| Arc::ptr_eq(old, now));
        // A segment that was cut may have been filled again, with other records, and closed.
        if !same || done.generation != self.shared().lock_synced().generation {
            return install::abandon(&dir);
        }
        if let Err(error) = old.clone().try_for_each(Segment::detach) {
            // Those that were detached are read on as they are, only without their indexes.
            install::abandon(&dir)?;
            return Err(error);
        }
        self.say_what_is_synced()?;
        let removed: u64 = old.clone().map(|s| s.size()).sum();
        self.forget_unsynced(|s| old.clone().any(|o| Arc::ptr_eq(o, s)));
        install::commit(&dir)
            .and_then(|()| install::move_in(&dir))
            .inspect_err(|_| self.shared().poisoned.store(true, Ordering::Release))?;
        let descriptors = &self.config.resources.descriptors;
        let new: Vec<Arc<Segment>> = done
            .groups
            .iter()
            .filter_map(|group| Some((group.old.first()?.base, group.size)))
            .map(|(base, size)| Segment::found(dir.clone(), base, size, descriptors.clone()))
            .collect();
        let added: u64 = new.iter().map(|s| s.size()).sum();
        self.shared()
            .segments
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .splice(first..first + count, new);
        let bytes = &self.shared().bytes;
        bytes.fetch_add(added, Ordering::Relaxed);
        bytes.fetch_sub(removed, Ordering::Relaxed);
        self.store_compacted_to(done.clean_to)
    }

    /// Writes the recovery point for good: the holes that compaction is to leave lie below it, and a start
    /// after a crash must not take them for the crash's.
    fn say_what_is_synced(&self) -> Result<(), Error> {
        let shared = self.shared();
        let mut synced = shared.lock_synced();
        let path = shared.dir.join(files::RECOVERY_POINT);
        checkpoint::sync_offset(&*shared.disk, &path, synced.upto)
            .map_err(Error::io("write", path))?;
        synced.unsaid_bytes = 0;
        Ok(())
    }

    /// Below it each key is there once.
    pub fn compacted_to(&self) -> Offset {
        self.compacted_to
    }

    /// What is cut off is not compacted any more, whatever comes there.
    pub(super) fn lower_compacted_to(&mut self, offset: Offset) -> Result<(), Error> {
        if offset < self.compacted_to {
            self.store_compacted_to(offset)?;
        }
        Ok(())
    }

    fn store_compacted_to(&mut self, offset: Offset) -> Result<(), Error> {
        self.compacted_to = offset;
        let path = self.shared().dir.join(files::COMPACTED_TO);
        checkpoint::sync_offset(&*self.shared().disk, &path, offset)
            .map_err(Error::io("write", path))
    }

    /// The oldest record that is new has waited as long as it may.
    fn is_overdue(
        segments: &[Arc<Segment>],
        clean_to: Offset,
        policy: Policy,
        now_ms: i64,
    ) -> Result<bool, Error> {
        let n = segments.partition_point(|s| s.base <= clean_to);
        let Some(segment) = segments.get(n.saturating_sub(1)) else {
            return Ok(false);
        };
        let mut oldest = None;
        let from = segment.position_before(clean_to.max(segment.base))?;
        scan::headers(segment, from, |header, _| {
            if header.last_offset() < clean_to {
                return ControlFlow::Continue(());
            }
            oldest = Some(header.max_timestamp);
            ControlFlow::Break(())
        })?;
        Ok(oldest.is_some_and(|at| at >= 0 && now_ms.saturating_sub(at) > policy.lag_max_ms))
    }
}
