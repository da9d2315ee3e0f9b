//! Log files by name: `00000000000000000007.wal` in use, `*.spare` to be used again.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Vectors of one `pwritev`; Linux takes 1024.
const SLICES_PER_WRITE: usize = 1000;

pub(super) fn path(dir: &Path, sequence: u64) -> PathBuf {
    dir.join(format!("{sequence:020}.wal"))
}

pub(super) fn spare_path(dir: &Path, sequence: u64) -> PathBuf {
    dir.join(format!("{sequence:020}.spare"))
}

/// The sequence numbers of files with this extension, ascending.
pub(super) fn list(dir: &Path, extension: &str) -> io::Result<Vec<u64>> {
    let mut sequences = Vec::new();
    for item in std::fs::read_dir(dir)? {
        let path = item?.path();
        if path.extension().is_some_and(|e| e == extension)
            && let Some(sequence) = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .and_then(|stem| stem.parse().ok())
        {
            sequences.push(sequence);
        }
    }
    sequences.sort_unstable();
    Ok(sequences)
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// A file of the full size, its blocks allocated, its name durable.
pub(super) fn create(dir: &Path, path: &Path, bytes: usize) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    let len = bytes as u64;
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len) {
        Ok(()) => {}
        // Not every file system allocates; then the size alone is set.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(len)?,
        Err(error) => {
            // What was allocated of it is needed elsewhere.
            std::fs::remove_file(path)?;
            return Err(error.into());
        }
    }
    file.sync_all()?;
    sync_dir(dir)?;
    Ok(file)
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

pub(super) fn write_all_at(
    file: &File,
    mut slices: &mut [IoSlice<'_>],
    mut offset: u64,
) -> io::Result<()> {
    while !slices.is_empty() {
        let now = slices.len().min(SLICES_PER_WRITE);
        let written = match slices.get(..now) {
            Some(first) => rustix::io::pwritev(file, first, offset),
            None => return Ok(()),
        };
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                IoSlice::advance_slices(&mut slices, written);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
