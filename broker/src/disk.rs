//! How much room a file system has.

use std::io;
use std::path::Path;

/// Bytes of the file system that holds a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    pub(crate) total_bytes: u64,
    /// What this process may still write: less than what is unused, where some is kept for root.
    pub(crate) free_bytes: u64,
}

impl Disk {
    /// Blocks as long as the file system takes to answer.
    ///
    /// # Errors
    ///
    /// `statvfs`'s, above all that the directory is gone.
    pub(crate) fn holding(directory: &Path) -> io::Result<Self> {
        let stat = rustix::fs::statvfs(directory)?;
        Ok(Self {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }
}
