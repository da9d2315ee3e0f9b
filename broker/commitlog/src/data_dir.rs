//! A broker's data directory: held by one process at a time, and told clean from unclean.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::fs::FlockOperation;

use crate::{Disk, Shutdown, System, checkpoint};

const LOCK: &str = ".lock";
const CLEAN: &str = ".clean-shutdown";

/// The lock on a data directory; released when dropped or when the process dies in any way.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    left: Shutdown,
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "data directory {path} is in use by another process: stop it or give another directory",
        path = .0.display()
    )]
    InUse(PathBuf),
    #[error(
        "data directory {path} cannot be used: check that it exists and is writable by this user",
        path = .path.display()
    )]
    Unusable { path: PathBuf, source: io::Error },
}

impl DataDir {
    /// Takes the directory, made if missing. From here on the shutdown counts as unclean until
    /// [`Self::mark_clean`].
    ///
    /// # Errors
    /// [`LockError::InUse`] when another process (or this one) holds it.
    pub fn lock(path: &Path) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable {
            path: path.into(),
            source,
        };
        fs::create_dir_all(path).map_err(unusable)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(unusable)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|e| {
            if e == rustix::io::Errno::WOULDBLOCK {
                LockError::InUse(path.into())
            } else {
                unusable(e.into())
            }
        })?;
        // The marker is gone, durably, before anything is written: a crash right after a clean start
        // must not look clean.
        let left = match fs::remove_file(path.join(CLEAN)) {
            Ok(()) => {
                System.sync_directory(path).map_err(unusable)?;
                Shutdown::Clean
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Shutdown::Unclean,
            Err(e) => return Err(unusable(e)),
        };
        Ok(Self {
            path: path.into(),
            left,
            _lock: lock,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the process before this one left the directory. A new directory was left uncleanly.
    pub fn left(&self) -> Shutdown {
        self.left
    }

    /// Says that every log was closed: the next start trusts their ends without reading them.
    ///
    /// # Errors
    /// When the marker cannot be made durable; the next start then counts as unclean.
    pub fn mark_clean(self) -> io::Result<()> {
        checkpoint::replace(&System, &self.path.join(CLEAN), &[])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn second_holder_is_refused_until_the_first_lets_go() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::lock(dir.path()).unwrap();
        let message = DataDir::lock(dir.path()).unwrap_err().to_string();
        assert!(message.contains("in use by another process"), "{message}");
        drop(first);
        DataDir::lock(dir.path()).unwrap();
    }

    #[test]
    fn only_a_marked_shutdown_is_clean_and_only_once() {
        let dir = tempfile::tempdir().unwrap();
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(held.left(), Shutdown::Unclean);
        held.mark_clean().unwrap();
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(held.left(), Shutdown::Clean);
        drop(held);
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(held.left(), Shutdown::Unclean);
    }
}
