//! Filling a hole in place with the batches that another replica has.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use model::batch::{self, Invalid};

use super::Log;
use crate::{
    Error, Hole,
    scrub::forget,
    segment::{Segment, order::Order, scan},
};

impl Log {
    /// Writes `batches` where `hole` is, and reads them back from the disk. They must be all that belongs
    /// there and nothing else: as many bytes, in order, of the epochs that this log knows.
    ///
    /// # Errors
    /// [`Error::Invalid`] when they are not, [`Error::Corrupt`] when the disk gives back something else,
    /// [`Error::Io`], [`Error::Poisoned`]. Nothing but the hole was written to. When it cannot be synced the log
    /// is poisoned: the system tells of a failed write once, and appends to that file may be what failed.
    pub fn patch(&mut self, hole: &Hole, batches: &Bytes) -> Result<(), Error> {
        self.check_poison()?;
        let segment = self.shared().segment_for(hole.from.max(hole.base));
        let there = segment.filter(|s| s.base == hole.base && s.size() >= hole.upto);
        let Some(segment) = there else {
            // Cut, deleted or compacted meanwhile.
            return Err(Error::Invalid(misfit(hole, 0)));
        };
        self.check_patch(hole, batches)?;
        let modified = segment.modified_ms()?;
        let path = segment.path();
        let file = write(&segment, hole.position, batches, modified)
            .map_err(Error::io("repair", &*path))?;
        if let Err(error) = self.shared().disk.sync_file(&path, &file) {
            self.shared().poisoned.store(true, Ordering::Release);
            return Err(Error::io("sync", path)(error));
        }
        let len = batches.len();
        forget(&segment, hole.position, len)?;
        if scan::read_at(&segment, hole.position, len)? != *batches {
            return Err(hole.error());
        }
        segment.made_whole();
        Ok(())
    }

    fn check_patch(&self, hole: &Hole, batches: &Bytes) -> Result<(), Error> {
        if batches.len() as u64 != hole.bytes() {
            return Err(Error::Invalid(misfit(hole, batches.len())));
        }
        let mut order = Order::new(Some(hole.from));
        for batch in batch::split(batches.clone())? {
            batch.verify_crc()?;
            crate::segment::order::epoch(&self.shared().epochs(), &batch.header)?;
            order
                .take(&batch.header, hole.position)
                .map_err(|fault| Error::Invalid(fault.source))?;
        }
        order
            .end(hole.next, hole.upto)
            .map_err(|fault| Error::Invalid(fault.source))
    }
}

fn misfit(hole: &Hole, present: usize) -> Invalid {
    Invalid::Truncated {
        needed: usize::try_from(hole.bytes()).unwrap_or(usize::MAX),
        present,
    }
}

/// The time of the last write stays: what has no timestamps ages by it.
fn write(
    segment: &Arc<Segment>,
    position: u64,
    batches: &Bytes,
    modified_ms: i64,
) -> std::io::Result<Arc<File>> {
    let file = segment.file().map_err(std::io::Error::other)?;
    file.write_all_at(batches, position)?;
    let since = std::time::Duration::from_millis(modified_ms.max(0).unsigned_abs());
    file.set_modified(std::time::UNIX_EPOCH + since)?;
    Ok(file)
}
