//! Making appended bytes durable, away from the thread that appends.

mod together;

use std::{
    fs::File,
    path::Path,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use model::Offset;

use crate::{Epochs, Error, checkpoint, log::files, reader::Shared, segment::Segment};
pub use together::run_all;

/// What of a log is durable.
#[derive(Debug)]
pub(crate) struct Synced {
    /// Everything below is on the disk.
    pub upto: Offset,
    /// So are the indexes of what was the active segment then, below this; never above `upto`.
    pub indexed: Offset,
    /// Bytes below `upto` that the recovery point in the file leaves out.
    pub unsaid_bytes: u64,
    /// Raised when the end is cut: a sync that began before says nothing about what came after.
    pub generation: u64,
}

/// What the last sync was asked for. Until it has done that, the next one has to do it, too: a log may be
/// cut or closed beside it, and says then that all is durable.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub segments: Vec<Arc<Segment>>,
    pub directory: bool,
    pub epochs: bool,
    pub indexed: bool,
    /// Shared with its task.
    pub done: Arc<AtomicBool>,
}

/// One sync of everything appended before it was made. Runs on any thread, beside appends.
#[derive(Debug)]
pub struct SyncTask {
    pub(crate) shared: Arc<Shared>,
    pub(crate) files: Vec<(std::path::PathBuf, Arc<File>)>,
    pub(crate) upto: Offset,
    /// Appended since the sync before was asked for.
    pub(crate) bytes: u64,
    pub(crate) generation: u64,
    /// The index files of the active segment are among `files`.
    pub(crate) indexed: bool,
    /// A segment was created or removed.
    pub(crate) directory: bool,
    /// Leader epochs that the file does not have yet, and which time they changed.
    pub(crate) epochs: Option<(u64, Epochs)>,
    /// See [`Asked`].
    pub(crate) done: Arc<AtomicBool>,
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
        self.run_alone()
    }

    fn run_alone(&self) -> Result<Offset, Error> {
        let shared = &self.shared;
        // One sync of a log at a time: of a failed one the system may tell only the first who asks, and
        // whoever comes next has to know.
        let mut stored_epochs = shared
            .stored_epochs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if shared.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        let outcome = self.run_once(&mut stored_epochs);
        self.settle(&outcome);
        outcome
    }

    fn settle(&self, outcome: &Result<Offset, Error>) {
        let said = match outcome {
            Ok(_) => &self.done,
            Err(_) => &self.shared.poisoned,
        };
        said.store(true, Ordering::Release);
    }

    fn run_once(&self, stored_epochs: &mut u64) -> Result<Offset, Error> {
        let disk = &*self.shared.disk;
        for (path, file) in &self.files {
            disk.sync_file(path, file)
                .map_err(Error::io("sync", path))?;
        }
        let dir = self.dir();
        // A cut or a close may have synced later changes meanwhile: the newest stays.
        if let Some((change, epochs)) = &self.epochs
            && *change > *stored_epochs
        {
            epochs
                .store(disk, &dir.join(files::EPOCHS))
                .map_err(Error::io("write epochs of", dir))?;
            *stored_epochs = *change;
        }
        if self.directory {
            disk.sync_directory(dir).map_err(Error::io("sync", dir))?;
        }
        self.move_recovery_point(0)
    }

    /// All that this speaks of is on the disk. That is written down when it is `bytes_min` bytes or more.
    fn move_recovery_point(&self, bytes_min: u64) -> Result<Offset, Error> {
        let dir = self.dir();
        let mut synced = self
            .shared
            .synced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if synced.generation == self.generation && self.upto > synced.upto {
            synced.unsaid_bytes += self.bytes;
            if synced.unsaid_bytes < bytes_min && !self.indexed {
                synced.upto = self.upto;
                return Ok(self.upto);
            }
            synced.unsaid_bytes = 0;
            checkpoint::write_offset(&dir.join(files::RECOVERY_POINT), self.upto)
                .map_err(Error::io("write recovery point of", dir))?;
            synced.upto = self.upto;
            if self.indexed {
                checkpoint::write_offset(&dir.join(files::INDEX_POINT), self.upto)
                    .map_err(Error::io("write index point of", dir))?;
                synced.indexed = self.upto;
            }
        }
        Ok(synced.upto)
    }

    fn dir(&self) -> &Path {
        &self.shared.dir
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::BTreeMap, io, path::Path, sync::Mutex};

    use model::Epoch;

    use super::*;
    use crate::{
        Config, Disk, Log, Resources,
        log::tests::{many, one},
    };

    /// How long each file was when it was synced last.
    #[derive(Debug, Default)]
    struct Synced(Mutex<BTreeMap<std::path::PathBuf, u64>>);

    impl Disk for Synced {
        fn reserve(&self, _directory: &Path, _bytes: u64) -> io::Result<()> {
            Ok(())
        }

        fn sync_file(&self, path: &Path, file: &File) -> io::Result<()> {
            let bytes = file.metadata()?.len();
            self.0.lock().unwrap().insert(path.into(), bytes);
            Ok(())
        }

        fn sync_directory(&self, _path: &Path) -> io::Result<()> {
            Ok(())
        }
    }

    impl Synced {
        /// Files of batches in `dir` that were not synced as they are.
        fn lacks(&self, dir: &Path) -> Vec<std::path::PathBuf> {
            let synced = self.0.lock().unwrap();
            let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap());
            let lacking = files.filter(|file| {
                file.path().extension().is_some_and(|e| e == "log")
                    && synced.get(&file.path()) != Some(&file.metadata().unwrap().len())
            });
            lacking.map(|file| file.path()).collect()
        }
    }

    /// A log of several segments, all of them in a sync that is under way, and another batch.
    fn under_way(dir: &Path) -> (Log, SyncTask, Arc<Synced>) {
        let disk = Arc::new(Synced::default());
        let config = Config {
            segment_bytes: 400,
            resources: Resources {
                disk: disk.clone(),
                ..Resources::default()
            },
            ..Config::default()
        };
        let mut log = Log::open(dir, config).unwrap().0;
        for offset in 0..20 {
            log.append(&[one(offset, 0, 1)]).unwrap();
        }
        let task = log.begin_sync().unwrap().unwrap();
        log.append(&[one(20, 0, 1)]).unwrap();
        (log, task, disk)
    }

    #[test]
    fn log_that_is_closed_beside_a_sync_is_durable_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (log, never_run, disk) = under_way(dir.path());
        log.close().unwrap();
        assert_eq!(disk.lacks(dir.path()), Vec::<std::path::PathBuf>::new());
        drop(never_run);
    }

    #[test]
    fn recovery_point_of_a_cut_beside_a_sync_has_nothing_unsynced_below() {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, late, disk) = under_way(dir.path());
        log.truncate_to(Offset(15)).unwrap();
        assert_eq!(log.reader().synced_offset(), Offset(15));
        assert_eq!(disk.lacks(dir.path()), Vec::<std::path::PathBuf>::new());
        late.run().unwrap();
        assert!(log.begin_sync().unwrap().is_none());
    }

    #[test]
    fn sync_that_is_done_is_not_done_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, task, _disk) = under_way(dir.path());
        task.run().unwrap();
        let next = log.begin_sync().unwrap().unwrap();
        assert_eq!(next.files.len(), 1, "the active segment only");
        next.run().unwrap();
        assert!(log.begin_sync().unwrap().is_none());
    }

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
