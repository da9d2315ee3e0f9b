//! Consecutive batches of one segment, taken from its file and believed only when everything about them
//! fits: what the disk has changed is an error, never bytes and never silence.

use std::sync::Arc;

use bytes::Bytes;
use model::{
    Offset,
    batch::{Batch, Invalid},
};

use super::{Shared, corrupt, is_unreadable};
use crate::{
    Error,
    segment::{
        Segment,
        order::{self, Fault, Order},
        scan,
    },
};

/// Bytes read ahead of the batch that is looked for: what lies between two index entries and a
/// little more.
const LOOK_AHEAD_BYTES: usize = 16 << 10;

/// What is wanted of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// An offset of the first batch.
    pub from: Offset,
    /// Batches end below it.
    pub limit: Offset,
    pub bytes_max: usize,
    /// However large that is.
    pub at_least_one: bool,
}

pub(super) struct Run {
    pub bytes: Bytes,
    /// Offset after the last of them.
    pub next: Offset,
}

/// Batches found so far, as places in a chunk.
#[derive(Clone, Copy, Default)]
struct Found {
    first: Option<usize>,
    end: usize,
    next: Option<Offset>,
}

impl Run {
    /// The batches of `range`; no bytes when the first does not fit. `None` when the segment has none.
    pub(super) fn read(
        shared: &Shared,
        segment: &Arc<Segment>,
        range: Range,
    ) -> Result<Option<Self>, Error> {
        let Range { from, limit, .. } = range;
        let mut position = segment.position_before(from)?;
        let mut order = Order::new((position == 0).then_some(segment.base));
        let mut wanted = range.bytes_max.saturating_add(LOOK_AHEAD_BYTES);
        let mut found = Found::default();
        // What was found before a batch that is in doubt.
        let mut sure = found;
        let mut chunk = read_at(segment, position, wanted, from)?;
        let mut at = 0;
        let damage = loop {
            let rest = chunk.slice(at.min(chunk.len())..);
            let here = position + at as u64;
            let batch = match Batch::parse(&rest) {
                Ok(batch) => batch,
                Err(fault @ Invalid::Truncated { needed, .. }) => {
                    let available = segment.size().saturating_sub(here);
                    if available == 0 {
                        break None;
                    }
                    if rest.len() as u64 >= available {
                        // Only whole batches are published.
                        break Some((here, fault));
                    }
                    if found.first.is_some() {
                        break None;
                    }
                    // Still looking for the first batch: go on from here, with all of it.
                    position = here;
                    at = 0;
                    wanted = wanted.max(needed);
                    chunk = read_at(segment, position, wanted, from)?;
                    continue;
                }
                Err(fault) => break Some((here, fault)),
            };
            let (header, size) = (batch.header, batch.bytes.len());
            let whole = if order.is_in_doubt() { sure } else { found };
            if let Err(fault) = order.take(&header, here) {
                return whole.or_damage(segment, &chunk, fault.into(), from);
            }
            if order.is_in_doubt() {
                sure = found;
            }
            // Of those that are passed over, too: they say where the next one begins.
            let sound = batch
                .verify_crc()
                .and_then(|()| order::epoch(&shared.epochs(), &header));
            if let Err(fault) = sound {
                break Some((here, fault));
            }
            let below = header.last_offset() < limit;
            if below && header.last_offset() >= from {
                let start = *found.first.get_or_insert(at);
                let fits = at + size - start <= range.bytes_max;
                let sole = range.at_least_one && start == at;
                if !(fits || sole) {
                    at += size;
                    break None;
                }
                found.end = at + size;
                found.next = Some(header.next_offset());
            }
            at += size;
            if !below {
                break None;
            }
        };
        if let Some(damage) = damage {
            return found.or_damage(segment, &chunk, damage, from);
        }
        if order.is_in_doubt() {
            // A batch that left a gap is believed when the one behind it, or the end, agrees.
            let end = position + at as u64;
            let agreed = match scan::header_at(segment, end)? {
                Some(header) => order.take(&header, end),
                None => order.end(shared.end_of(segment), end),
            };
            if let Err(fault) = agreed {
                return sure.or_damage(segment, &chunk, fault.into(), from);
            }
        }
        Ok(found.run(&chunk))
    }
}

impl Found {
    /// What is whole before the damage; the damage when that is nothing.
    fn or_damage(
        self,
        segment: &Segment,
        chunk: &Bytes,
        (position, source): (u64, Invalid),
        from: Offset,
    ) -> Result<Option<Run>, Error> {
        match self.next {
            Some(_) => Ok(self.run(chunk)),
            None => Err(corrupt(segment, position, from, source)),
        }
    }

    fn run(self, chunk: &Bytes) -> Option<Run> {
        self.first?;
        let Self { first, end, next } = self;
        let mut bytes = chunk.slice(first?.min(end)..end);
        if bytes.len() < chunk.len() / 2 {
            // A slice would keep all that was read in memory.
            bytes = Bytes::copy_from_slice(&bytes);
        }
        Some(Run {
            bytes,
            next: next.unwrap_or(Offset::UNKNOWN),
        })
    }
}

impl From<Fault> for (u64, Invalid) {
    fn from(fault: Fault) -> Self {
        (fault.position, fault.source)
    }
}

/// What the disk cannot give back is as damaged as what it gives back changed.
fn read_at(
    segment: &Arc<Segment>,
    position: u64,
    len: usize,
    from: Offset,
) -> Result<Bytes, Error> {
    match scan::read_at(segment, position, len) {
        Err(error) if is_unreadable(&error) => {
            let unreadable = Invalid::Truncated {
                needed: len,
                present: 0,
            };
            Err(corrupt(segment, position, from, unreadable))
        }
        read => read,
    }
}
