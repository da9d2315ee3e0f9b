//! Many logs synced at once.

use std::{
    io,
    path::PathBuf,
    sync::{MutexGuard, TryLockError, atomic::Ordering},
};

use model::Offset;

use super::SyncTask;
use crate::{Error, FileSystem, checkpoint, log::files};

/// Of each log a start after a crash reads so many bytes more than it had to: writing down where it need not
/// begin costs more than syncing so few.
const UNSAID_BYTES_MAX: u64 = 64 << 10;

/// What a task has to do itself beside the common sync.
struct Part<'a> {
    task: &'a SyncTask,
    state: State<'a>,
}

enum State<'a> {
    /// Held until the outcome is known, with epochs that wait to take the place of the old ones.
    Under {
        stored_epochs: MutexGuard<'a, u64>,
        prepared: bool,
    },
    /// Somebody else is syncing this log.
    Alone,
    Failed(Error),
}

/// Runs the tasks, whose logs are all in `file_system`: with one sync for all files where that can be had,
/// otherwise one after another. The outcomes are in the order of the tasks.
pub fn run_all(tasks: Vec<SyncTask>, file_system: &FileSystem) -> Vec<Result<Offset, Error>> {
    match run_together(&tasks, file_system) {
        Some(outcomes) => outcomes,
        None => tasks.iter().map(SyncTask::run_alone).collect(),
    }
}

/// `None` when the common sync was not to be had or failed: nothing is known of any file then.
fn run_together(
    tasks: &[SyncTask],
    file_system: &FileSystem,
) -> Option<Vec<Result<Offset, Error>>> {
    let mut parts: Vec<_> = tasks.iter().map(Part::begin).collect();
    if !file_system.sync(tasks.len()) {
        return None;
    }
    let mut renamed = 0;
    for part in &mut parts {
        renamed += usize::from(part.put_epochs());
    }
    // The recovery point says that the epochs below it need not be read from the log again.
    if renamed > 0 && !file_system.sync(renamed) {
        return None;
    }
    // Whoever syncs a log alone may wait for another who does: by then nothing is held here any more.
    let finished: Vec<_> = parts.into_iter().map(Part::finish).collect();
    let alone = |(finished, task): (Option<_>, &SyncTask)| match finished {
        Some(outcome) => outcome,
        None => task.run_alone(),
    };
    Some(finished.into_iter().zip(tasks).map(alone).collect())
}

impl<'a> Part<'a> {
    fn begin(task: &'a SyncTask) -> Self {
        let shared = &task.shared;
        // Never waits while it holds those of other logs.
        let stored_epochs = match shared.stored_epochs.try_lock() {
            Ok(stored) => stored,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let state = State::Alone;
                return Self { task, state };
            }
        };
        let state = if shared.poisoned.load(Ordering::Acquire) {
            State::Failed(Error::Poisoned)
        } else {
            match &task.epochs {
                Some((change, epochs)) if *change > *stored_epochs => {
                    match checkpoint::prepare(&task.epochs_path(), &epochs.encode()) {
                        Ok(_file) => State::Under {
                            stored_epochs,
                            prepared: true,
                        },
                        Err(error) => State::Failed(task.epochs_failed(error)),
                    }
                }
                _ => State::Under {
                    stored_epochs,
                    prepared: false,
                },
            }
        };
        Self { task, state }
    }

    /// True when the epochs in the directory are new now. They are not stored before that is synced.
    fn put_epochs(&mut self) -> bool {
        let State::Under { prepared: true, .. } = &self.state else {
            return false;
        };
        match checkpoint::put(&self.task.epochs_path()) {
            Ok(()) => true,
            Err(error) => {
                self.state = State::Failed(self.task.epochs_failed(error));
                false
            }
        }
    }

    /// `None` when the log is to be synced alone.
    fn finish(self) -> Option<Result<Offset, Error>> {
        let outcome = match self.state {
            State::Alone => return None,
            State::Failed(error) => Err(error),
            State::Under {
                mut stored_epochs,
                prepared,
            } => {
                if let Some((change, _)) = self.task.epochs.as_ref().filter(|_| prepared) {
                    *stored_epochs = *change;
                }
                self.task.move_recovery_point(UNSAID_BYTES_MAX)
            }
        };
        self.task.settle(&outcome);
        Some(outcome)
    }
}

impl SyncTask {
    fn epochs_path(&self) -> PathBuf {
        self.dir().join(files::EPOCHS)
    }

    fn epochs_failed(&self, error: io::Error) -> Error {
        Error::io("write epochs of", self.dir())(error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use model::Epoch;

    use super::*;
    use crate::{
        Config, Epochs, Log,
        log::tests::{many, one},
    };

    #[test]
    fn logs_synced_together_have_their_epochs_and_recovery_points_written() {
        let dir = tempfile::tempdir().unwrap();
        let file_system = FileSystem::holding(dir.path()).unwrap();
        let open = |name: &str| Log::open(&dir.path().join(name), Config::default()).unwrap();
        let mut logs: Vec<_> = ["a", "b", "c"].map(|name| open(name).0).into();
        let mut large = Offset(0);
        for round in 0..3 {
            for (n, log) in logs.iter_mut().enumerate() {
                let epoch = 4 + i32::try_from(n).unwrap() + round;
                log.append(&[one(log.end_offset().0, epoch, 1)]).unwrap();
                log.append(&[many(log.end_offset().0, epoch, 2, 3)])
                    .unwrap();
                if round == 1 {
                    let records = i64::try_from(UNSAID_BYTES_MAX / 16).unwrap();
                    log.append(&[many(log.end_offset().0, epoch, 2, records)])
                        .unwrap();
                    large = log.end_offset();
                }
            }
            let tasks: Vec<_> = logs
                .iter_mut()
                .map(|log| log.begin_sync().unwrap().unwrap())
                .collect();
            for outcome in run_all(tasks, &file_system) {
                assert_eq!(outcome.unwrap(), logs[0].end_offset());
            }
        }
        for (name, log) in ["a", "b", "c"].iter().zip(&logs) {
            let dir = dir.path().join(name);
            assert_eq!(log.reader().synced_offset(), log.end_offset());
            let point = checkpoint::read_offset(&dir.join(files::RECOVERY_POINT));
            assert_eq!(point, Some(large), "what came later is little");
            let epochs = Epochs::load(&dir.join(files::EPOCHS)).unwrap();
            assert_eq!(epochs.latest(), log.reader().latest_epoch());
            assert!(epochs.latest() >= Some(Epoch(6)));
        }
    }

    #[test]
    fn epochs_whose_directory_was_not_synced_are_stored_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path(), Config::default()).unwrap().0;
        log.append(&[one(0, 7, 1)]).unwrap();
        let task = log.begin_sync().unwrap().unwrap();
        let stored = || *task.shared.stored_epochs.lock().unwrap();
        let before = stored();
        let mut part = Part::begin(&task);
        assert!(part.put_epochs());
        // The sync of the directory was not to be had.
        drop(part);
        assert_eq!(stored(), before);
        task.run_alone().unwrap();
        assert!(stored() > before);
    }

    #[test]
    fn log_that_is_poisoned_fails_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file_system = FileSystem::holding(dir.path()).unwrap();
        let open = |name: &str| Log::open(&dir.path().join(name), Config::default()).unwrap();
        let mut logs = [open("a").0, open("b").0];
        let mut tasks = Vec::new();
        for log in &mut logs {
            log.append(&[one(0, 0, 1)]).unwrap();
            tasks.push(log.begin_sync().unwrap().unwrap());
        }
        tasks[0].shared.poisoned.store(true, Ordering::Release);
        let outcomes = run_all(tasks, &file_system);
        assert!(matches!(outcomes[0], Err(Error::Poisoned)));
        assert_eq!(*outcomes[1].as_ref().unwrap(), logs[1].end_offset());
    }
}
