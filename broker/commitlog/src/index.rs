//! A sparse index of one segment: fixed-size entries in rising order in a memory-mapped file.
//!
//! Never trusted: [`Index::open`] takes only what is in order, and the caller compares what an entry
//! says with the log. Mapped on first use and unmapped when the segment's descriptor is given up.

use std::{
    fs::{self, File},
    io,
    marker::PhantomData,
    path::PathBuf,
};

use crate::mmap::Mapping;

/// Bytes mapped for the first entry; doubled as needed, so that an idle log maps a page or nothing.
const FIRST_BYTES: usize = 4096;

/// What an index holds.
pub(crate) trait Entry: Copy + PartialEq {
    const BYTES: usize;
    /// What entries are ordered by.
    type Key: Ord + Copy;
    fn key(&self) -> Self::Key;
    fn write(&self, out: &mut [u8]);
    /// `None` when `bytes` are too few.
    fn read(bytes: &[u8]) -> Option<Self>;
}

/// Last offset of a batch, relative to the segment's first, and where the batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub relative: u32,
    pub position: u32,
}

/// The newest timestamp up to and including the batch that has it, and the last offset of that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub timestamp: i64,
    pub relative: u32,
}

#[derive(Debug)]
pub(crate) struct Index<E> {
    path: PathBuf,
    map: Option<Mapping>,
    /// Entries in use.
    len: usize,
    last: Option<E>,
    entries: PhantomData<E>,
}

// === impl Place ===

impl Entry for Place {
    const BYTES: usize = 8;
    type Key = u32;

    fn key(&self) -> u32 {
        self.relative
    }

    fn write(&self, out: &mut [u8]) {
        let value = (u64::from(self.relative) << 32) | u64::from(self.position);
        if let Some(out) = out.first_chunk_mut() {
            *out = value.to_be_bytes();
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (relative, rest) = bytes.split_first_chunk()?;
        Some(Self {
            relative: u32::from_be_bytes(*relative),
            position: u32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

// === impl Moment ===

impl Entry for Moment {
    const BYTES: usize = 12;
    type Key = i64;

    fn key(&self) -> i64 {
        self.timestamp
    }

    fn write(&self, out: &mut [u8]) {
        if let Some((timestamp, rest)) = out.split_first_chunk_mut()
            && let Some(relative) = rest.first_chunk_mut()
        {
            *timestamp = self.timestamp.to_be_bytes();
            *relative = self.relative.to_be_bytes();
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (timestamp, rest) = bytes.split_first_chunk()?;
        Some(Self {
            timestamp: i64::from_be_bytes(*timestamp),
            relative: u32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

// === impl Index ===

impl<E: Entry> Index<E> {
    /// An index without entries; the file, if there is one, will be written over.
    pub(crate) fn empty(path: PathBuf) -> Self {
        Self {
            path,
            map: None,
            len: 0,
            last: None,
            entries: PhantomData,
        }
    }

    /// Takes over the file at `path`; `None` when its entries are not in strictly rising order or its
    /// size is not a number of entries.
    pub(crate) fn open(path: PathBuf) -> io::Result<Option<Self>> {
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut last: Option<E> = None;
        for entry in bytes.chunks(E::BYTES) {
            match E::read(entry) {
                Some(e) if last.is_none_or(|l| l.key() < e.key()) => last = Some(e),
                _ => return Ok(None),
            }
        }
        Ok(Some(Self {
            path,
            map: None,
            len: bytes.len() / E::BYTES,
            last,
            entries: PhantomData,
        }))
    }

    /// The entries of the file at `path` that are in strictly rising order and for which `keep` holds, up
    /// to the first that is not so: what a file that was not trimmed has.
    pub(crate) fn open_rising(path: PathBuf, keep: impl Fn(&E) -> bool) -> io::Result<Self> {
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(e),
        };
        let mut index = Self::empty(path);
        for entry in bytes.chunks(E::BYTES) {
            match E::read(entry) {
                Some(e) if index.last.is_none_or(|l| l.key() < e.key()) && keep(&e) => {
                    index.last = Some(e);
                    index.len += 1;
                }
                _ => break,
            }
        }
        Ok(index)
    }

    /// Whether `wanted` holds for an entry; they are looked at in order until it does.
    pub(crate) fn any(&mut self, mut wanted: impl FnMut(E) -> bool) -> io::Result<bool> {
        if self.len == 0 {
            return Ok(false);
        }
        self.mapped(self.bytes())?;
        Ok((0..self.len).any(|i| self.get(i).is_some_and(&mut wanted)))
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.len * E::BYTES
    }

    pub(crate) fn last(&self) -> Option<E> {
        self.last
    }

    /// Adds an entry; one that does not come after the last is dropped.
    pub(crate) fn push(&mut self, entry: E) -> io::Result<()> {
        if self.last.is_some_and(|l| l.key() >= entry.key()) {
            return Ok(());
        }
        let at = self.bytes();
        let map = self.mapped(at + E::BYTES)?;
        if let Some(out) = map.bytes_mut().get_mut(at..at + E::BYTES) {
            entry.write(out);
        }
        self.len += 1;
        self.last = Some(entry);
        Ok(())
    }

    /// The last entry whose key is at most `key`.
    pub(crate) fn floor(&mut self, key: E::Key) -> io::Result<Option<E>> {
        let count = self.partition_point(|e| e.key() <= key)?;
        Ok(count.checked_sub(1).and_then(|i| self.get(i)))
    }

    /// Keeps the entries for which `keep` holds; it must hold for a prefix.
    pub(crate) fn truncate(&mut self, keep: impl Fn(&E) -> bool) -> io::Result<()> {
        self.len = self.partition_point(keep)?;
        self.last = self.len.checked_sub(1).and_then(|i| self.get(i));
        Ok(())
    }

    /// Gives up the mapping and cuts the file to the entries in use.
    pub(crate) fn trim(&mut self) -> io::Result<()> {
        self.map = None;
        if self.len == 0 {
            return match fs::remove_file(&self.path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            };
        }
        File::options()
            .write(true)
            .open(&self.path)?
            .set_len(self.bytes() as u64)
    }

    /// Gives up the mapping; entries stay.
    pub(crate) fn unmap(&mut self) {
        self.map = None;
    }

    fn get(&self, i: usize) -> Option<E> {
        let at = i * E::BYTES;
        E::read(self.map.as_ref()?.bytes().get(at..at + E::BYTES)?)
    }

    fn partition_point(&mut self, holds: impl Fn(&E) -> bool) -> io::Result<usize> {
        if self.len == 0 {
            return Ok(0);
        }
        self.mapped(self.bytes())?;
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|e| holds(&e)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The mapping, of at least `bytes`.
    fn mapped(&mut self, bytes: usize) -> io::Result<&mut Mapping> {
        if self.map.as_ref().is_some_and(|m| m.bytes().len() < bytes) {
            self.map = None;
        }
        match &mut self.map {
            Some(map) => Ok(map),
            slot => {
                let length = bytes.next_power_of_two().max(FIRST_BYTES);
                Ok(slot.insert(Mapping::create(&self.path, length)?))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn places(n: u32) -> impl Iterator<Item = Place> {
        (0..n).map(|i| Place {
            relative: i * 10,
            position: i * 4096,
        })
    }

    #[test]
    fn floor_finds_the_entry_at_or_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut index = Index::empty(dir.path().join("a.index"));
        assert_eq!(index.floor(5).unwrap(), None);
        for p in places(2000) {
            index.push(p).unwrap();
        }
        for (asked, found) in [
            (0, 0),
            (9, 0),
            (10, 10),
            (15_555, 15_550),
            (u32::MAX, 19_990),
        ] {
            assert_eq!(index.floor(asked).unwrap().unwrap().relative, found);
        }
    }

    #[test]
    fn trimmed_index_is_found_again_with_its_last_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.index");
        let mut index = Index::empty(path.clone());
        for p in places(700) {
            index.push(p).unwrap();
        }
        index.truncate(|p| p.relative < 3000).unwrap();
        index.trim().unwrap();
        let mut again: Index<Place> = Index::open(path).unwrap().unwrap();
        assert_eq!(again.bytes(), 300 * 8);
        assert_eq!(again.last().unwrap().relative, 2990);
        again
            .push(Place {
                relative: 3005,
                position: 9,
            })
            .unwrap();
        assert_eq!(again.floor(4000).unwrap().unwrap().position, 9);
    }

    #[test]
    fn file_out_of_order_or_of_odd_size_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.index");
        fs::write(&path, [0; 16]).unwrap();
        assert!(Index::<Place>::open(path.clone()).unwrap().is_none());
        fs::write(&path, [1; 9]).unwrap();
        assert!(Index::<Place>::open(path).unwrap().is_none());
    }
}
