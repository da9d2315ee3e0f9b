//! What makes bytes durable, and may refuse them.
//!
//! The one seam between a log and its disk: everything that a log counts on to be there after a loss of
//! power has passed here, but for what compaction writes beside it, and where many logs are synced with
//! one call ([`crate::run_all`]). Small files that a replica keeps beside its log are synced by themselves. A
//! simulation puts its own disk behind it, that forgets the rest.

use std::{fmt::Debug, fs::File, io, path::Path};

/// See the module. Paths name what is meant; they are not opened.
pub trait Disk: Send + Sync + Debug {
    /// Asked before `bytes` bytes are added to the log in `directory`.
    ///
    /// # Errors
    /// When they are not to be written.
    fn reserve(&self, directory: &Path, bytes: u64) -> io::Result<()>;

    /// On return all that was written to `file` is durable; its name need not be.
    ///
    /// # Errors
    /// Any part of it may be lost.
    fn sync_file(&self, path: &Path, file: &File) -> io::Result<()>;

    /// On return the names in the directory are durable.
    ///
    /// # Errors
    /// Any of them may be lost.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// The operating system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Disk for System {
    fn reserve(&self, _directory: &Path, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync_file(&self, _path: &Path, file: &File) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(file)?)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}
