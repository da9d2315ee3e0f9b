//! The one writer of a log.

mod append;
mod compact;
pub(crate) mod files;
mod mend;
mod patch;
mod retention;
mod roll;
#[cfg(test)]
pub(crate) mod tests;
mod truncate;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, atomic::Ordering},
};

use model::Offset;

use crate::{
    Config, Error, Reader, Recovered, SyncTask, checkpoint, reader::Shared, recovery,
    segment::Segment, sync::Asked,
};

/// A log opened for writing. Dropping it loses nothing that was written, but only [`Self::close`]
/// makes the next start quick.
#[derive(Debug)]
pub struct Log {
    config: Config,
    reader: Reader,
    /// The segment that is written to: the last of the shared ones.
    active: Arc<Segment>,
    /// When the active segment got its first record, as far as that is known.
    active_since_ms: Option<i64>,
    /// Segments with bytes that no sync has been asked for yet.
    dirty: Vec<Arc<Segment>>,
    dirty_directory: bool,
    dirty_epochs: bool,
    asked: Asked,
    /// Times that a sync was asked for with changed epochs.
    epoch_changes: u64,
    unsynced_bytes: u64,
    /// Size of the active segment when its indexes were synced last.
    indexed_bytes: u64,
    /// Newest timestamp of the active segment's first batch.
    active_first_ms: Option<i64>,
    /// Renamed files and when to remove them; the time is set by the next look at the clock.
    retired: Vec<(PathBuf, Option<i64>)>,
    /// Below it each key is there once, where the log is compacted.
    compacted_to: Offset,
}

impl Log {
    /// Opens the log in `dir`, which is made for the first record if missing; the directory must be held by
    /// a [`crate::DataDir`] lock of this process.
    ///
    /// After an unclean shutdown everything behind the recovery point is read and checked, and the log
    /// is cut at the first batch that is not whole.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when bytes that were synced are damaged: nothing is cut then.
    pub fn open(dir: &Path, config: Config) -> Result<(Self, Recovered), Error> {
        let (shared, recovered) = recovery::open(dir, &config)?;
        let active = shared
            .snapshot()
            .pop()
            .unwrap_or_else(|| unreachable!("recovery leaves at least one segment"));
        let compacted_to = checkpoint::read_offset(&dir.join(files::COMPACTED_TO));
        // What was read and found whole may be in the system's memory only.
        let dirty = shared.unsynced();
        let mut log = Self {
            config,
            reader: Reader {
                shared: Arc::new(shared),
            },
            active,
            active_since_ms: None,
            dirty_directory: recovered.changed_directory || !dirty.is_empty(),
            dirty,
            dirty_epochs: recovered.changed_epochs,
            asked: Asked::default(),
            epoch_changes: 0,
            unsynced_bytes: 0,
            indexed_bytes: 0,
            active_first_ms: None,
            retired: Vec::new(),
            compacted_to: compacted_to.unwrap_or(Offset(0)),
        };
        log.know_active()?;
        Ok((log, recovered))
    }

    /// A reader for any other thread.
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    pub fn start_offset(&self) -> Offset {
        self.reader.start_offset()
    }

    pub fn end_offset(&self) -> Offset {
        self.reader.end_offset()
    }

    /// As [`Reader::read`].
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn read(&self, from: Offset, bytes_max: usize) -> Result<Vec<bytes::Bytes>, Error> {
        self.reader.read(from, bytes_max)
    }

    /// Takes over changed sizes, ages and limits from the next append on.
    pub fn reconfigure(&mut self, config: Config) {
        self.config = config;
    }

    /// Bytes appended since a sync was last asked for.
    pub fn unsynced_bytes(&self) -> u64 {
        self.unsynced_bytes
    }

    /// A sync has failed, or an append that could not be undone: the log takes nothing more until it is
    /// opened anew.
    pub fn is_poisoned(&self) -> bool {
        self.shared().poisoned.load(Ordering::Acquire)
    }

    /// A sync of all that was appended so far, to be run anywhere; `None` when there is nothing to do. What
    /// another one that is under way was asked for is part of it.
    ///
    /// # Errors
    /// [`Error::Poisoned`], or [`Error::Io`] when a segment cannot be opened.
    pub fn begin_sync(&mut self) -> Result<Option<SyncTask>, Error> {
        self.check_poison()?;
        if !self.active.is_made() {
            return Ok(None);
        }
        self.ask_again();
        if self.dirty.is_empty() && !self.dirty_directory && !self.dirty_epochs {
            return Ok(None);
        }
        let mut files = Vec::with_capacity(self.dirty.len());
        let mut indexed = false;
        for segment in &self.dirty {
            files.push((segment.path(), segment.file()?));
            let grown = segment.size().saturating_sub(self.indexed_bytes);
            if !Arc::ptr_eq(segment, &self.active) {
                // It is closed: a start after a crash does not read it again.
                files.extend(segment.index_files()?);
            } else if grown >= self.config.index_sync_bytes {
                files.extend(segment.index_files()?);
                indexed = true;
            }
        }
        if indexed {
            self.indexed_bytes = self.active.size();
        }
        let bytes = std::mem::take(&mut self.unsynced_bytes);
        let shared = self.shared().clone();
        let generation = shared.lock_synced().generation;
        let epochs = std::mem::take(&mut self.dirty_epochs).then(|| {
            self.epoch_changes += 1;
            (self.epoch_changes, shared.epochs().clone())
        });
        self.asked = Asked {
            segments: std::mem::take(&mut self.dirty),
            directory: std::mem::take(&mut self.dirty_directory),
            epochs: epochs.is_some(),
            indexed,
            ..Asked::default()
        };
        Ok(Some(SyncTask {
            upto: self.end_offset(),
            bytes,
            generation,
            files,
            indexed,
            directory: self.asked.directory,
            epochs,
            done: self.asked.done.clone(),
            shared,
        }))
    }

    /// What the last sync has not done yet, or never will, is to be done by the next.
    fn ask_again(&mut self) {
        let asked = std::mem::take(&mut self.asked);
        if asked.done.load(Ordering::Acquire) {
            return;
        }
        let since = std::mem::replace(&mut self.dirty, asked.segments);
        for segment in since {
            if !self.dirty.iter().any(|s| Arc::ptr_eq(s, &segment)) {
                self.dirty.push(segment);
            }
        }
        self.dirty_directory |= asked.directory;
        self.dirty_epochs |= asked.epochs;
        if asked.indexed {
            self.indexed_bytes = 0;
        }
    }

    /// These segments are in the log no more: nobody waits for their sync.
    fn forget_unsynced(&mut self, gone: impl Fn(&Arc<Segment>) -> bool) {
        self.dirty.retain(|s| !gone(s));
        self.asked.segments.retain(|s| !gone(s));
    }

    /// Returns when all that was appended is durable.
    ///
    /// # Errors
    /// As [`SyncTask::run`].
    pub fn sync(&mut self) -> Result<(), Error> {
        match self.begin_sync()? {
            Some(task) => task.run().map(|_| ()),
            None => Ok(()),
        }
    }

    /// Lets go of the batches in memory, and of what is mapped: the next reader of the newest ones asks the
    /// disk.
    pub fn rest(&mut self) {
        self.active.unmap_indexes();
        let mut tail = self
            .shared()
            .tail
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        tail.clear();
    }

    /// Syncs and leaves files such that a start after a clean shutdown trusts them unread.
    ///
    /// # Errors
    /// As [`SyncTask::run`]. The log is then opened like after a crash.
    pub fn close(mut self) -> Result<(), Error> {
        self.sync()?;
        if self.active.is_made() {
            self.active.seal()?;
        }
        Ok(())
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.reader.shared
    }

    fn check_poison(&self) -> Result<(), Error> {
        if self.shared().poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        Ok(())
    }

    fn store_start(&self, start: Offset) -> Result<(), Error> {
        let path = self.shared().dir.join(files::LOG_START);
        checkpoint::sync_offset(&*self.shared().disk, &path, start)
            .map_err(Error::io("write log start of", path))?;
        self.shared().start.store(start.0, Ordering::Release);
        let mut epochs = self
            .shared()
            .epochs
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        epochs.truncate_start(start);
        Ok(())
    }
}
