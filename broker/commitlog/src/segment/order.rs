//! What the CRC of a batch does not cover: its offset and its leader epoch. Both follow from the batches
//! around it and from what the log knows of its epochs.

use model::{
    Epoch, Offset,
    batch::{Header, Invalid},
};

use crate::Epochs;

/// Batches of a segment, looked at one after another.
#[derive(Debug)]
pub(crate) struct Order {
    /// Where the batch before ended; `None` before the first, when that was found by an index.
    next: Option<Offset>,
    /// The last batch, when it left a gap: whether compaction made that, the one behind it tells.
    gap: Option<Fault>,
}

/// A batch that cannot stand where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub position: u64,
    /// What the batch should begin with, or less than it.
    pub expected: Offset,
    pub source: Invalid,
}

impl Order {
    /// `next`: the segment's base for its first batch, `None` for one that an index found.
    pub(crate) fn new(next: Option<Offset>) -> Self {
        Self { next, gap: None }
    }

    /// Where the last batch ended.
    pub(crate) fn next(&self) -> Option<Offset> {
        self.next
    }

    /// True when the batch after the last has to be looked at before that one is believed.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.gap.is_some()
    }

    /// A batch stands behind the ones before.
    pub(crate) fn take(&mut self, header: &Header, position: u64) -> Result<(), Fault> {
        let expected = self.next.unwrap_or(header.base_offset);
        let fault = Fault {
            position,
            expected,
            source: Invalid::Offset {
                stored: header.base_offset,
                expected,
            },
        };
        if header.last_offset_delta < 0 {
            return Err(fault);
        }
        if header.base_offset < expected {
            // When the one before left a gap, it is that one's offset that is wrong.
            return Err(self.gap.take().unwrap_or(fault));
        }
        self.gap = (header.base_offset > expected).then_some(fault);
        self.next = Some(header.next_offset());
        Ok(())
    }

    /// The batches end there at the latest.
    pub(crate) fn end(&mut self, bound: Offset, position: u64) -> Result<(), Fault> {
        match (self.next, self.gap.take()) {
            (Some(next), gap) if next > bound => Err(gap.unwrap_or(Fault {
                position,
                expected: bound,
                source: Invalid::Offset {
                    stored: next,
                    expected: bound,
                },
            })),
            _ => Ok(()),
        }
    }
}

/// The epoch of a batch is the one that the log has noted for its offset, if it has; a batch may have none.
pub(crate) fn epoch(epochs: &Epochs, header: &Header) -> Result<(), Invalid> {
    let stored = header.leader_epoch;
    match epochs.at(header.base_offset) {
        Some(expected) if expected != stored && stored != Epoch::UNKNOWN => Err(Invalid::Epoch {
            base_offset: header.base_offset,
            stored,
            expected,
        }),
        _ => Ok(()),
    }
}
