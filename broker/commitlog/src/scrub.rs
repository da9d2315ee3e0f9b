//! Reading a log again, to find what its disk has changed before somebody needs it.
//!
//! [`Log::begin_scrub`] says what there is to read, [`Scrub::run`] reads it on any thread, past the page
//! cache, and names the [`Hole`]s: ranges that are not what was written. With the same batches from
//! another replica [`Log::patch`] fills one in place.

use std::{ops::ControlFlow, path::PathBuf, sync::Arc};

use bytes::Bytes;
use model::{
    Offset,
    batch::{Batch, HEADER_BYTES, Invalid},
};
use rustix::fs::Advice;

use crate::{
    Error, Log,
    reader::{Shared, is_unreadable},
    segment::{
        Segment,
        order::{self, Order},
        scan,
    },
};

/// Holes that are looked for in one log: whose disk has changed more is better copied as a whole.
const HOLES_MAX: usize = 64;

/// Reading of what a log had synced when it was made.
#[derive(Debug)]
pub struct Scrub {
    shared: Arc<Shared>,
    segments: Vec<Arc<Segment>>,
    upto: Offset,
}

/// Batches of one segment that are not there as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Offset from which on they are missing.
    pub from: Offset,
    /// Base offset of the first whole batch behind them, or where the segment ends.
    pub next: Offset,
    /// Of the segment.
    pub(crate) base: Offset,
    pub(crate) path: PathBuf,
    pub(crate) position: u64,
    pub(crate) upto: u64,
    pub(crate) source: Invalid,
}

impl Hole {
    /// Bytes of the batches that are missing.
    pub fn bytes(&self) -> u64 {
        self.upto - self.position
    }

    /// What a reader is told.
    pub fn error(&self) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            position: self.position,
            offset: self.from,
            source: self.source.clone(),
        }
    }
}

impl Scrub {
    /// Reads and checks every batch. Before so many bytes are read `pace` is asked, which waits as long
    /// as they are too many, and answers false to end it.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read for another reason than a bad place on its disk.
    pub fn run(&self, mut pace: impl FnMut(usize) -> bool) -> Result<Vec<Hole>, Error> {
        let mut holes = Vec::new();
        for segment in &self.segments {
            let mut from = (0, segment.base);
            loop {
                let seen = Look {
                    shared: &self.shared,
                    segment,
                    pace: &mut pace,
                    until: self.upto,
                    fresh: true,
                }
                .from(from.0, from.1)?;
                let Seen::Hole(hole) = seen else {
                    break;
                };
                from = (hole.upto, hole.next);
                let behind = hole.upto >= segment.size();
                holes.push(hole);
                if holes.len() >= HOLES_MAX {
                    return Ok(holes);
                }
                if behind {
                    break;
                }
            }
        }
        Ok(holes)
    }
}

impl Log {
    /// All that is synced, to be read again.
    pub fn begin_scrub(&self) -> Scrub {
        Scrub {
            shared: self.reader().shared,
            segments: self.reader().shared.snapshot(),
            upto: self.reader().synced_offset(),
        }
    }

    /// What is damaged at `offset` or right before it; `None` when that can be read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn hole_at(&self, offset: Offset) -> Result<Option<Hole>, Error> {
        let shared = self.reader().shared;
        let Some(segment) = shared.segment_for(offset) else {
            return Ok(None);
        };
        let position = segment.position_before(offset)?;
        // An index has found it by its last offset.
        let first = scan::header_at(&segment, position)?.filter(|_| position > 0);
        let next = first.map_or(segment.base, |header| header.base_offset);
        let seen = Look {
            shared: &shared,
            segment: &segment,
            pace: &mut |_| true,
            until: offset,
            fresh: false,
        }
        .from(position, next)?;
        Ok(match seen {
            Seen::Hole(hole) => Some(hole),
            Seen::Sound => None,
        })
    }
}

enum Seen {
    /// To its end, or until nobody wanted to know more.
    Sound,
    Hole(Hole),
}

/// A walk over one segment.
struct Look<'a> {
    shared: &'a Shared,
    segment: &'a Arc<Segment>,
    pace: &'a mut dyn FnMut(usize) -> bool,
    /// Not beyond the batch that holds this.
    until: Offset,
    /// What the page cache has is read from the disk again.
    fresh: bool,
}

impl Look<'_> {
    fn from(&mut self, position: u64, next: Offset) -> Result<Seen, Error> {
        let mut order = Order::new(Some(next));
        let mut fault = None;
        let mut at = position;
        let mut stopped = false;
        let (segment, until) = (self.segment, self.until);
        let (pace, fresh) = (&mut *self.pace, self.fresh);
        let walked = scan::batches_by(
            segment,
            position,
            |at, len| {
                stopped = !pace(len);
                if stopped {
                    return Ok(Bytes::new());
                }
                if fresh {
                    forget(segment, at, len)?;
                }
                let chunk = scan::read_at(segment, at, len);
                if fresh {
                    forget(segment, at, len)?;
                }
                chunk
            },
            |batch, position| {
                at = position;
                let expected = order.next().unwrap_or(batch.header.base_offset);
                let taken = order.take(&batch.header, position);
                let sound = order::epoch(&self.shared.epochs(), &batch.header);
                fault = match (taken, sound) {
                    (Err(fault), _) => Some((fault.position, fault.expected, fault.source)),
                    (_, Err(source)) => Some((position, expected, source)),
                    _ => None,
                };
                at += batch.bytes.len() as u64;
                if fault.is_some() || (batch.header.base_offset > until && !order.is_in_doubt()) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        );
        let next = order.next().unwrap_or(segment.base);
        let (position, from, source) = match (walked, fault) {
            _ if stopped => return Ok(Seen::Sound),
            (_, Some(fault)) => fault,
            (Err(error), _) if is_unreadable(&error) => {
                let unreadable = Invalid::Truncated {
                    needed: HEADER_BYTES,
                    present: 0,
                };
                (at, next, unreadable)
            }
            (Err(error), _) => return Err(error),
            (Ok(end), _) => match end.fault {
                Some(source) => (end.position, next, source),
                // The last batch left a gap.
                None => match order.end(self.shared.end_of(segment), end.position) {
                    Err(fault) if at >= segment.size() => {
                        (fault.position, fault.expected, fault.source)
                    }
                    _ => return Ok(Seen::Sound),
                },
            },
        };
        self.hole(position, from, source).map(Seen::Hole)
    }

    /// From the damage to the next place that the indexes name where all is well.
    fn hole(&self, position: u64, from: Offset, source: Invalid) -> Result<Hole, Error> {
        let segment = self.segment;
        let mut next = None;
        let upto = segment.indexed_after(position, |at| {
            next = whole_at(segment, at).filter(|base| *base >= from);
            next.is_some()
        })?;
        Ok(Hole {
            from,
            next: next.unwrap_or_else(|| self.shared.end_of(segment)),
            base: segment.base,
            path: segment.path(),
            position,
            upto: upto.unwrap_or_else(|| segment.size()),
            source,
        })
    }
}

/// Base offset of the batch there, if that is whole.
fn whole_at(segment: &Arc<Segment>, position: u64) -> Option<Offset> {
    let header = scan::header_at(segment, position).ok()??;
    let bytes = scan::read_at(segment, position, header.size_bytes()).ok()?;
    let batch = Batch::parse(&bytes).ok()?;
    batch.verify_crc().ok()?;
    Some(header.base_offset)
}

/// Takes a range out of the page cache, so that the next read asks the disk. What is not written back yet
/// stays.
pub(crate) fn forget(segment: &Arc<Segment>, position: u64, len: usize) -> Result<(), Error> {
    let len = std::num::NonZeroU64::new(len as u64);
    // Advice only: where a file system does not take it, the cache is checked instead of the disk.
    let _refused = rustix::fs::fadvise(&*segment.file()?, position, len, Advice::DontNeed);
    Ok(())
}

#[cfg(test)]
mod tests;
