//! Syncing many files of one file system with one call.
//!
//! One `syncfs` costs about as much as a few `fdatasync`: with thousands of logs that each have a little to
//! sync it is the difference between a disk that does nothing but flushes and one that writes. It syncs
//! what other processes wrote there too, so that few files are better synced one by one.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Since this version of Linux `syncfs` tells of writes that failed.
const LINUX_MIN: (u32, u32) = (5, 8);
/// Types whose `syncfs` is known to wait for data, journal and device: ext2 to ext4, and XFS.
const KNOWN: [u64; 2] = [0xef53, 0x5846_5342];
/// Longer than this, and others may write there more than we do.
const SLOW: Duration = Duration::from_secs(1);
/// About what a file costs that is synced by itself, on a busy disk: many of them may take longer.
const FILE: Duration = Duration::from_millis(5);
/// How long files are then synced one by one.
const REST: Duration = Duration::from_secs(10);

/// The file system that holds the logs of a process.
#[derive(Debug)]
pub struct FileSystem {
    directory: File,
    trusted: AtomicBool,
    rests_until: Mutex<Option<Instant>>,
    turn: Mutex<()>,
}

impl FileSystem {
    /// The file system of the files in `directory`.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub fn holding(directory: &Path) -> io::Result<Self> {
        let directory = File::open(directory)?;
        let known = rustix::fs::fstatfs(&directory).is_ok_and(|found| {
            // A signed word on some architectures; magic numbers have 32 bits.
            #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
            let magic = found.f_type as u64 & 0xffff_ffff;
            KNOWN.contains(&magic)
        });
        let release = rustix::system::uname();
        let trusted = known && version(&release.release().to_string_lossy()) >= Some(LINUX_MIN);
        Ok(Self {
            directory,
            trusted: AtomicBool::new(trusted),
            rests_until: Mutex::default(),
            turn: Mutex::default(),
        })
    }

    /// Whether [`Self::sync`] is worth a try now.
    pub fn is_synced_whole(&self) -> bool {
        let rests_until = lock(&self.rests_until);
        self.trusted.load(Ordering::Acquire) && rests_until.is_none_or(|at| at <= Instant::now())
    }

    /// Syncs all that was written to files here before, whoever wrote it. False when that is not sure: then
    /// each of the `files` that it is about is to be synced by itself, which also tells which one failed.
    ///
    /// One at a time: a failure is told to one caller only, and pages that did not reach the disk are clean
    /// afterwards. Whoever waits here meanwhile must not take the next call for a success, so after a
    /// failure this says false for good.
    #[must_use]
    pub fn sync(&self, files: usize) -> bool {
        let _turn = lock(&self.turn);
        if !self.is_synced_whole() {
            return false;
        }
        let began = Instant::now();
        let synced = rustix::fs::syncfs(&self.directory).is_ok();
        self.trusted.store(synced, Ordering::Release);
        let alone = FILE.saturating_mul(u32::try_from(files).unwrap_or(u32::MAX));
        if began.elapsed() > SLOW.max(alone) {
            *lock(&self.rests_until) = Some(Instant::now() + REST);
        }
        synced
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Major and minor number of a release such as `6.1.0-13-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_sync_is_believed_after_one_that_failed() {
        let dir = tempfile::tempdir().unwrap();
        let mut file_system = FileSystem::holding(dir.path()).unwrap();
        file_system.trusted = AtomicBool::new(true);
        assert!(file_system.sync(1));
        let path = rustix::fs::OFlags::PATH;
        let cannot_sync = rustix::fs::open(dir.path(), path, rustix::fs::Mode::empty());
        let directory = std::mem::replace(&mut file_system.directory, cannot_sync.unwrap().into());
        assert!(!file_system.sync(1));
        file_system.directory = directory;
        assert!(!file_system.sync(1));
    }

    #[test]
    fn kernels_are_compared_by_number_and_not_by_text() {
        for (release, trusted) in [
            ("6.1.0-13-amd64", true),
            ("5.8.0", true),
            ("5.10.198+", true),
            ("5.4.0-90-generic", false),
            ("4.19.0", false),
            ("unknown", false),
        ] {
            assert_eq!(version(release) >= Some(LINUX_MIN), trusted, "{release}");
        }
    }
}
