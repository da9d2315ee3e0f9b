//! Snapshots in files: one per group, replaced as a whole, checked before it is used.
//!
//! ```text
//! magic "MLSN"  version u16  meta length u32  meta  clock i64  state ...  crc32c of all before
//! ```

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest};

use super::codec;
use super::types::SnapshotMeta;
use super::{GroupId, Snapshot};

/// `MLSN`.
const MAGIC: u32 = 0x4d4c_534e;
const VERSION: u16 = 1;
const CRC_BYTES: u64 = 4;
const META_BYTES_MAX: usize = 1 << 20;

/// The directory of all groups' snapshots.
#[derive(Debug)]
pub(super) struct Shelf {
    dir: PathBuf,
    next_temporary: AtomicU64,
}

/// A snapshot on disk: the group's current one, or one being received.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

/// What precedes the machine's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Preamble {
    pub(super) meta: SnapshotMeta,
    /// The log's clock at that point.
    pub(super) clock_ms: i64,
}

impl Shelf {
    /// Opens the directory; what a crash left half-written is removed.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        for item in std::fs::read_dir(dir)? {
            let path = item?.path();
            if path.extension().is_some_and(|e| e == "temporary") {
                std::fs::remove_file(path)?;
            }
        }
        Ok(Self {
            dir: dir.to_owned(),
            next_temporary: AtomicU64::new(0),
        })
    }

    fn path(&self, group: GroupId) -> PathBuf {
        self.dir.join(format!("{}.snapshot", group.0))
    }

    /// A file to write a snapshot into; it counts for nothing until [`Shelf::put`].
    pub(super) fn temporary(&self, group: GroupId) -> io::Result<Stored> {
        let n = self.next_temporary.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.join(format!("{}-{n}.temporary", group.0));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)?;
        Ok(Stored { path, file })
    }

    /// Makes a whole temporary the group's snapshot, durably.
    pub(super) fn put(&self, group: GroupId, stored: &Stored) -> io::Result<()> {
        stored.file.sync_all()?;
        std::fs::rename(&stored.path, self.path(group))?;
        File::open(&self.dir)?.sync_all()
    }

    /// The group's current snapshot.
    pub(super) fn get(&self, group: GroupId) -> io::Result<Option<Stored>> {
        let path = self.path(group);
        match File::open(&path) {
            Ok(file) => Ok(Some(Stored { path, file })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Stored {
    /// Removes a temporary that came to nothing.
    pub(super) fn discard(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "temporary snapshot not removed");
        }
    }

    /// Writes a whole snapshot.
    pub(super) fn write(&mut self, preamble: &Preamble, state: &Snapshot) -> io::Result<()> {
        let mut meta = BytesMut::new();
        codec::put_snapshot_meta(&mut meta, &preamble.meta);
        let mut head = BytesMut::new();
        head.put_u32(MAGIC);
        head.put_u16(VERSION);
        head.put_u32(u32::try_from(meta.len()).unwrap_or(u32::MAX));
        head.put_slice(&meta);
        head.put_i64(preamble.clock_ms);
        let mut out = Summing {
            inner: BufWriter::new(&mut self.file),
            digest: Digest::new(CrcAlgorithm::Crc32Iscsi),
        };
        out.write_all(&head)?;
        state(&mut out)?;
        let sum = sum(&out.digest);
        out.inner.write_all(&sum.to_be_bytes())?;
        out.inner.flush()
    }

    /// Checks every byte, then leaves the reader at the machine's state.
    pub(super) fn read(&self) -> io::Result<(Preamble, impl Read + '_)> {
        let mut file = &self.file;
        let len = file.seek(SeekFrom::End(0))?;
        let state_end = len
            .checked_sub(CRC_BYTES)
            .ok_or_else(|| self.damaged("it is too short"))?;
        file.seek(SeekFrom::Start(0))?;
        let mut digest = Summing {
            inner: io::sink(),
            digest: Digest::new(CrcAlgorithm::Crc32Iscsi),
        };
        io::copy(&mut BufReader::new(file.take(state_end)), &mut digest)?;
        let mut expected = [0; CRC_BYTES as usize];
        file.seek(SeekFrom::Start(state_end))?;
        file.read_exact(&mut expected)?;
        if u32::from_be_bytes(expected) != sum(&digest.digest) {
            return Err(self.damaged("its checksum is wrong"));
        }
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::new(file.take(state_end));
        if read_u32(&mut reader)? != MAGIC {
            return Err(self.damaged("it is no snapshot"));
        }
        let mut version = [0; 2];
        reader.read_exact(&mut version)?;
        if u16::from_be_bytes(version) != VERSION {
            return Err(self.damaged("it is of another version"));
        }
        let meta_len = read_u32(&mut reader)? as usize;
        if meta_len > META_BYTES_MAX {
            return Err(self.damaged("its head is too long"));
        }
        let mut meta = vec![0; meta_len];
        reader.read_exact(&mut meta)?;
        let mut clock = [0; 8];
        reader.read_exact(&mut clock)?;
        let preamble = Preamble {
            meta: codec::snapshot_meta(&mut Bytes::from(meta))?,
            clock_ms: i64::from_be_bytes(clock),
        };
        Ok((preamble, reader))
    }

    fn damaged(&self, how: &str) -> io::Error {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the snapshot {} is damaged: {how}", self.path.display()),
        )
    }
}

fn read_u32(reader: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    reader.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

/// Passes bytes on and sums them up.
struct Summing<W> {
    inner: W,
    digest: Digest,
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn sum(digest: &Digest) -> u32 {
    // A 32-bit checksum in a 64-bit return value.
    (digest.clone().finalize() & 0xffff_ffff) as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_torn_or_changed_at_any_byte_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(dir.path()).unwrap();
        let preamble = Preamble {
            meta: SnapshotMeta::default(),
            clock_ms: 1000,
        };
        let state: Snapshot = Box::new(|out: &mut dyn Write| out.write_all(&[7; 700]));
        let mut stored = shelf.temporary(GroupId(3)).unwrap();
        stored.write(&preamble, &state).unwrap();
        shelf.put(GroupId(3), &stored).unwrap();
        let read = || {
            let stored = Shelf::open(dir.path())?.get(GroupId(3))?.expect("there");
            let (preamble, mut state) = stored.read()?;
            let mut bytes = Vec::new();
            state.read_to_end(&mut bytes)?;
            io::Result::Ok((preamble, bytes))
        };
        assert_eq!(read().unwrap(), (preamble, vec![7; 700]));
        let path = dir.path().join("3.snapshot");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bent = whole.clone();
            bent[at] ^= 1 << (at % 8);
            let mut zeroed = whole.clone();
            zeroed[at..].fill(0);
            for image in [&bent[..], &zeroed[..], &whole[..at]] {
                std::fs::write(&path, image).unwrap();
                assert!(read().is_err(), "byte {at}");
            }
        }
    }
}
