//! Going on after a failed sync, once its cause is gone.

use std::{
    ops::ControlFlow,
    os::unix::fs::FileExt,
    sync::{Arc, atomic::Ordering},
};

use model::Offset;

use super::Log;
use crate::{
    Error,
    segment::{Segment, scan},
};

impl Log {
    /// Takes appends again after [`Error::Poisoned`]. The system may have marked pages clean that never
    /// reached the disk, so a sync alone would say nothing of them: every batch that no sync has covered
    /// is read, checked and written again, and then synced. Nothing is cut. Does nothing to a log that
    /// is in order.
    ///
    /// # Errors
    /// The log stays poisoned: [`Error::Corrupt`] when such a batch is not there any more as it was
    /// written, [`Error::Io`] when the disk refuses again.
    pub fn mend(&mut self) -> Result<(), Error> {
        if !self.shared().poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        let from = self.reader.synced_offset();
        let segments = self.shared().snapshot();
        let first = segments.partition_point(|s| s.base <= from);
        let made = segments.iter().filter(|segment| segment.is_made());
        for segment in made.skip(first.saturating_sub(1)) {
            // What a failed write has left behind the last batch.
            segment
                .file()?
                .set_len(segment.size())
                .map_err(Error::io("cut", segment.path()))?;
            write_again(segment, from)?;
            if !self.dirty.iter().any(|s| Arc::ptr_eq(s, segment)) {
                self.dirty.push(segment.clone());
            }
        }
        self.dirty_directory = true;
        self.dirty_epochs = true;
        self.shared().poisoned.store(false, Ordering::Release);
        self.sync()
            .inspect_err(|_| self.reader.shared.poisoned.store(true, Ordering::Release))
    }
}

/// The batches of `segment` with records at `from` or later.
fn write_again(segment: &Arc<Segment>, from: Offset) -> Result<(), Error> {
    let file = segment.file()?;
    let mut written = Ok(());
    let first = segment.position_before(from.max(segment.base))?;
    let end = scan::batches(segment, first, |batch, position| {
        if batch.header.last_offset() >= from {
            written = file.write_all_at(&batch.bytes, position);
        }
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    written.map_err(Error::io("write", segment.path()))?;
    match end.fault {
        None => Ok(()),
        Some(source) => Err(Error::Corrupt {
            path: segment.path(),
            position: end.position,
            offset: from,
            source,
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::{
        Config,
        log::tests::{many, one},
    };

    /// Three batches of which the first is synced, and a sync that failed afterwards.
    fn poisoned(dir: &std::path::Path) -> Log {
        let mut log = Log::open(dir, Config::default()).unwrap().0;
        log.append(&[one(0, 0, 1)]).unwrap();
        log.sync().unwrap();
        log.append(&[many(1, 0, 2, 3), one(4, 0, 3)]).unwrap();
        log.shared().poisoned.store(true, Ordering::Release);
        assert!(matches!(log.append(&[one(5, 0, 4)]), Err(Error::Poisoned)));
        log
    }

    #[test]
    fn mended_log_takes_appends_and_has_everything() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = poisoned(dir.path());
        log.mend().unwrap();
        assert_eq!(log.reader().synced_offset(), Offset(5));
        log.append(&[one(5, 0, 4)]).unwrap();
        drop(log);
        let (log, recovered) = Log::open(dir.path(), Config::default()).unwrap();
        assert_eq!((log.end_offset(), recovered.cut_bytes), (Offset(6), 0));
    }

    #[test]
    fn log_whose_unsynced_batches_are_gone_stays_closed() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = poisoned(dir.path());
        let file = log.active.file().unwrap();
        file.write_all_at(&[0; 8], log.active.size() - 8).unwrap();
        assert!(matches!(log.mend(), Err(Error::Corrupt { .. })));
        assert!(matches!(log.append(&[one(5, 0, 4)]), Err(Error::Poisoned)));
        assert_eq!(log.reader().synced_offset(), Offset(1));
    }
}
