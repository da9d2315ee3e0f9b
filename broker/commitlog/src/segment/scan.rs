//! Walking a segment file from some batch on.

use std::{ops::ControlFlow, os::unix::fs::FileExt, sync::Arc};

use bytes::Bytes;
use model::batch::{Batch, HEADER_BYTES, Header, Invalid};
use rustix::buffer::spare_capacity;

use super::{BATCH_BYTES_MIN, Segment};
use crate::Error;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Where a walk over whole batches ended, and why if not at the end of the file.
#[derive(Debug)]
pub(crate) struct End {
    pub position: u64,
    pub fault: Option<Invalid>,
}

/// Up to `len` bytes at `position`: fewer only at the end of what is published.
pub(crate) fn read_at(segment: &Arc<Segment>, position: u64, len: usize) -> Result<Bytes, Error> {
    let available = segment.size().saturating_sub(position);
    let len = len.min(usize::try_from(available).unwrap_or(usize::MAX));
    let file = segment.file()?;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let wanted = len - bytes.len();
        let at = position + bytes.len() as u64;
        // The capacity may be larger than asked for; what is read too much is cut below.
        let n = rustix::io::pread(&*file, spare_capacity(&mut bytes), at)
            .map_err(|e| Error::io("read", segment.path())(e.into()))?;
        if n == 0 {
            break;
        }
        debug_assert!(n > 0 && wanted > 0);
    }
    bytes.truncate(len);
    Ok(Bytes::from(bytes))
}

/// The header at `position`; `None` when there is none that could be one.
pub(crate) fn header_at(segment: &Arc<Segment>, position: u64) -> Result<Option<Header>, Error> {
    if segment.size().saturating_sub(position) < BATCH_BYTES_MIN {
        return Ok(None);
    }
    let mut bytes = [0; HEADER_BYTES];
    match segment.file()?.read_exact_at(&mut bytes, position) {
        Ok(()) => Ok(Header::parse(&bytes).ok()),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(Error::io("read", segment.path())(e)),
    }
}

/// Calls `f` with each whole, sealed batch from `position` on until it breaks or one is bad.
pub(crate) fn batches(
    segment: &Arc<Segment>,
    position: u64,
    f: impl FnMut(&Batch, u64) -> ControlFlow<()>,
) -> Result<End, Error> {
    batches_by(segment, position, |at, len| read_at(segment, at, len), f)
}

/// As [`batches`], with chunks (place, bytes wanted) that `read` brings.
pub(crate) fn batches_by(
    segment: &Arc<Segment>,
    mut position: u64,
    mut read: impl FnMut(u64, usize) -> Result<Bytes, Error>,
    mut f: impl FnMut(&Batch, u64) -> ControlFlow<()>,
) -> Result<End, Error> {
    let size = segment.size();
    let mut wanted = CHUNK_BYTES;
    while position < size {
        let asked = wanted;
        let mut chunk = read(position, asked)?;
        wanted = CHUNK_BYTES;
        let before = position;
        loop {
            let left = size - position;
            match Batch::parse(&chunk) {
                Ok(batch) => {
                    if let Err(fault) = batch.verify_crc() {
                        return Ok(End {
                            position,
                            fault: Some(fault),
                        });
                    }
                    if f(&batch, position).is_break() {
                        return Ok(End {
                            position,
                            fault: None,
                        });
                    }
                    chunk = chunk.slice(batch.bytes.len()..);
                    position += batch.bytes.len() as u64;
                    if position >= size {
                        return Ok(End {
                            position,
                            fault: None,
                        });
                    }
                }
                // The rest of the batch is in the file but not in this chunk.
                Err(Invalid::Truncated { needed, .. }) if needed as u64 <= left => {
                    if position == before {
                        wanted = needed;
                    }
                    break;
                }
                Err(fault) => {
                    return Ok(End {
                        position,
                        fault: Some(fault),
                    });
                }
            }
            if chunk.is_empty() {
                break;
            }
        }
        if position == before && (chunk.len() as u64) < (asked as u64).min(size - position) {
            // The file became shorter than what was published: the end is here.
            return Ok(End {
                position,
                fault: Some(Invalid::Truncated {
                    needed: asked,
                    present: chunk.len(),
                }),
            });
        }
    }
    Ok(End {
        position,
        fault: None,
    })
}

/// As [`batches`], for callers that only want headers.
pub(crate) fn headers(
    segment: &Arc<Segment>,
    position: u64,
    mut f: impl FnMut(&Header, u64) -> ControlFlow<()>,
) -> Result<End, Error> {
    batches(segment, position, |batch, at| f(&batch.header, at))
}
