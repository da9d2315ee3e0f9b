//! Entries that memory does not keep: a file of them in the order in which they are due, read a little at a
//! time.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use model::Offset;

use super::entry::{ENTRY_BYTES, Entry};

/// Entries of each file that are in memory.
const AHEAD: u64 = 128;

#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: u64,
    pub(super) count: u64,
    /// So many of them are gone.
    pub(super) taken: u64,
    /// Least and greatest offset of all of them.
    pub(super) offsets: (Offset, Offset),
    path: PathBuf,
    /// From `taken` on.
    ahead: VecDeque<Entry>,
}

impl Run {
    /// `entries` are in order, and some. Waits for the disk: the file is of use only when it is there for sure.
    pub(super) fn write(directory: &Path, id: u64, entries: &[Entry]) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(entries.len() * ENTRY_BYTES);
        let mut offsets = (Offset(i64::MAX), Offset(i64::MIN));
        for entry in entries {
            entry.put(&mut bytes);
            offsets = (offsets.0.min(entry.offset), offsets.1.max(entry.offset));
        }
        let run = Self::known(directory, id, entries.len() as u64, 0, offsets);
        let mut file = File::create(&run.path)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        Ok(run)
    }

    /// One that was written before.
    pub(super) fn known(
        directory: &Path,
        id: u64,
        count: u64,
        taken: u64,
        offsets: (Offset, Offset),
    ) -> Self {
        Self {
            id,
            count,
            taken,
            offsets,
            path: path(directory, id),
            ahead: VecDeque::new(),
        }
    }

    pub(super) fn first(&mut self) -> io::Result<Option<Entry>> {
        if self.ahead.is_empty() && self.taken < self.count {
            let upto = self.count.min(self.taken.saturating_add(AHEAD));
            self.ahead = self.read(upto)?.into();
        }
        Ok(self.ahead.front().copied())
    }

    /// Takes [`Self::first`] off.
    pub(super) fn take(&mut self) {
        if self.ahead.pop_front().is_some() {
            self.taken += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken >= self.count
    }

    /// All that is left.
    pub(super) fn rest(&self) -> io::Result<Vec<Entry>> {
        self.read(self.count)
    }

    fn read(&self, upto: u64) -> io::Result<Vec<Entry>> {
        let count = usize::try_from(upto.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count.saturating_mul(ENTRY_BYTES)];
        let at = self.taken.saturating_mul(ENTRY_BYTES as u64);
        File::open(&self.path)?.read_exact_at(&mut bytes, at)?;
        let mut left = bytes.as_slice();
        Ok(std::iter::from_fn(|| Entry::take(&mut left)).collect())
    }

    pub(super) fn into_path(self) -> PathBuf {
        self.path
    }
}

fn path(directory: &Path, id: u64) -> PathBuf {
    directory.join(format!("{PREFIX}{id}"))
}

const PREFIX: &str = "held-";

/// Removes files that are none of `known`.
pub(super) fn remove_others(directory: &Path, known: &[Run]) {
    let Ok(files) = fs::read_dir(directory) else {
        return;
    };
    for file in files.flatten() {
        let name = file.file_name();
        let id = name.to_str().and_then(|n| n.strip_prefix(PREFIX));
        if id.is_some_and(|id| known.iter().all(|run| run.id.to_string() != id)) {
            let _left = fs::remove_file(file.path());
        }
    }
}
