//! Making appended bytes durable, away from the thread that appends.

use std::{
    fs::File,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use model::Offset;

use crate::{Epochs, Error, checkpoint, log::files, reader::Shared};

/// What of a log is durable.
#[derive(Debug)]
pub(crate) struct Synced {
    /// Everything below is on the disk.
    pub upto: Offset,
    /// So are the indexes of what was the active segment then, below this; never above `upto`.
    pub indexed: Offset,
    /// Raised when the end is cut: a sync that began before says nothing about what came after.
    pub generation: u64,
}

/// One sync of everything appended before it was made. Runs on any thread, beside appends.
#[derive(Debug)]
pub struct SyncTask {
    pub(crate) shared: Arc<Shared>,
    pub(crate) files: Vec<(std::path::PathBuf, Arc<File>)>,
    pub(crate) upto: Offset,
    pub(crate) generation: u64,
    /// The index files of the active segment are among `files`.
    pub(crate) indexed: bool,
    /// A segment was created or removed.
    pub(crate) directory: bool,
    /// Leader epochs that the file does not have yet, and which time they changed.
    pub(crate) epochs: Option<(u64, Epochs)>,
}

impl SyncTask {
    /// The offset below which all will be durable.
    pub fn upto(&self) -> Offset {
        self.upto
    }

    /// Syncs and moves the recovery point.
    ///
    /// # Errors
    /// [`Error::Io`] once, and from then on the log answers [`Error::Poisoned`]: after a failed sync
    /// the system marks pages clean that never reached the disk, so trying again would lie. That holds
    /// for a task made before another one failed, too: its bytes may lie behind a hole.
    pub fn run(self) -> Result<Offset, Error> {
        let shared = self.shared.clone();
        if shared.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        let done = self.run_once();
        if done.is_err() {
            shared.poisoned.store(true, Ordering::Release);
        }
        done
    }

    fn run_once(self) -> Result<Offset, Error> {
        let disk = &*self.shared.disk;
        for (path, file) in &self.files {
            disk.sync_file(path, file)
                .map_err(Error::io("sync", path))?;
        }
        let dir = &self.shared.dir;
        if let Some((change, epochs)) = &self.epochs {
            // A cut or a close may have synced later changes meanwhile: one at a time, the newest last.
            let mut stored = self
                .shared
                .stored_epochs
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if *change > *stored {
                epochs
                    .store(disk, &dir.join(files::EPOCHS))
                    .map_err(Error::io("write epochs of", &**dir))?;
                *stored = *change;
            }
        }
        if self.directory {
            disk.sync_directory(dir)
                .map_err(Error::io("sync", &**dir))?;
        }
        let mut synced = self
            .shared
            .synced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if synced.generation == self.generation && self.upto > synced.upto {
            checkpoint::write_offset(&dir.join(files::RECOVERY_POINT), self.upto)
                .map_err(Error::io("write recovery point of", &**dir))?;
            synced.upto = self.upto;
            if self.indexed {
                checkpoint::write_offset(&dir.join(files::INDEX_POINT), self.upto)
                    .map_err(Error::io("write index point of", &**dir))?;
                synced.indexed = self.upto;
            }
        }
        Ok(synced.upto)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::Epoch;

    use super::*;
    use crate::{
        Config, Log,
        log::tests::{many, one},
    };

    #[test]
    fn sync_that_a_cut_overtook_neither_fails_nor_brings_old_epochs_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path(), Config::default()).unwrap().0;
        log.append(&[one(0, 0, 1), many(1, 3, 2, 3)]).unwrap();
        let overtaken = log.begin_sync().unwrap().unwrap();
        log.truncate_to(Offset(1)).unwrap();
        log.append(&[one(1, 4, 2)]).unwrap();
        log.sync().unwrap();
        overtaken.run().unwrap();
        let stored = Epochs::load(&dir.path().join(files::EPOCHS)).unwrap();
        assert_eq!(stored.latest(), Some(Epoch(4)));
        assert_eq!(stored.at(Offset(1)), Some(Epoch(4)));
        assert!(!log.is_poisoned());
    }

    #[test]
    fn epochs_are_written_by_one_sync_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path(), Config::default()).unwrap().0;
        for round in 0..50 {
            let epoch = 2 * round;
            log.append(&[one(log.end_offset().0, epoch, 1)]).unwrap();
            let beside = log.begin_sync().unwrap().unwrap();
            log.append(&[one(log.end_offset().0, epoch + 1, 1)])
                .unwrap();
            std::thread::scope(|scope| {
                let beside = scope.spawn(|| beside.run());
                log.sync().unwrap();
                beside.join().unwrap().unwrap();
            });
            let stored = Epochs::load(&dir.path().join(files::EPOCHS)).unwrap();
            assert_eq!(stored.latest(), Some(Epoch(epoch + 1)));
        }
    }
}
