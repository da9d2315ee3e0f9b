//! Memory-mapped files: the only unsafe code of the storage.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use memmap2::MmapMut;
use rustix::fs::FallocateFlags;

/// A file mapped for reading and writing, every byte of it backed by real blocks.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: MmapMut,
}

impl Mapping {
    /// Maps the first `bytes` of the file at `path`, which is made, or grown, to that length. The
    /// descriptor is not kept.
    ///
    /// Blocks are allocated first: a store into a hole of a full disk would be a SIGBUS, which nobody
    /// can catch.
    pub(crate) fn create(path: &Path, bytes: usize) -> io::Result<Self> {
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)?;
        let length = bytes as u64;
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length) {
            Ok(()) => {}
            Err(rustix::io::Errno::OPNOTSUPP) => {
                let present = file.metadata()?.len();
                if present < length {
                    io::Seek::seek(&mut file, io::SeekFrom::Start(present))?;
                    io::copy(
                        &mut io::Read::take(io::repeat(0), length - present),
                        &mut file,
                    )?;
                    file.flush()?;
                }
            }
            Err(e) => return Err(e.into()),
        }
        // SAFETY: the mapping is undefined behaviour only when the file changes under it. The data
        // directory is locked for this process (`DataDir`), each index file has one owner (`Index`),
        // and that owner drops its mapping before it shortens or removes the file. Blocks for the
        // whole length were allocated above, so stores cannot fault.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Self { map })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}
