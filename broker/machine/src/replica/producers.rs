//! What is known of idempotent producers: enough to recognise a batch that came before and one that
//! came too early (KIP-98).

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::{Offset, batch::Header};

use super::admission::{Placed, Refusal};

/// Batches of a producer that are recognised when they come again.
const BATCHES_KEPT: usize = 5;

/// Idempotent producers of one log, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Producers(BTreeMap<i64, Producer>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Producer {
    epoch: i16,
    /// Newest last; of this epoch only.
    batches: VecDeque<Seen>,
    /// Newest timestamp of its last batch, milliseconds since 1970.
    last_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    first_sequence: i32,
    last_sequence: i32,
    placed: Placed,
}

pub(super) enum Known {
    /// Next in its sequence, or without one.
    Next,
    /// Of a producer that the log knows nothing of.
    First,
    Before(Placed),
}

/// A batch that is not in the log, or not any more, by its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) producer: i64,
    pub(super) epoch: i16,
    pub(super) sequence: i32,
}

impl Producers {
    /// Whether a batch is next, known, or neither. A batch without a producer is always new; so is the
    /// first of a producer, whatever its sequence.
    pub(super) fn check(&self, header: &Header) -> Result<Known, Refusal> {
        if !header.is_idempotent() {
            return Ok(Known::Next);
        }
        let stale = |current| {
            Err(Refusal::StaleProducer {
                producer: header.producer_id,
                given: header.producer_epoch,
                current,
            })
        };
        let Some(producer) = self.0.get(&header.producer_id) else {
            return if header.producer_epoch < 0 {
                stale(0)
            } else {
                Ok(Known::First)
            };
        };
        if header.producer_epoch < producer.epoch {
            return stale(producer.epoch);
        }
        if header.producer_epoch == producer.epoch {
            let (first, last) = sequences(header);
            let mut known = producer.batches.iter();
            if let Some(seen) = known.find(|s| (s.first_sequence, s.last_sequence) == (first, last))
            {
                return Ok(Known::Before(seen.placed));
            }
        }
        let Some(expected) = self.expected(header) else {
            return Ok(Known::First);
        };
        if header.base_sequence == expected {
            return Ok(Known::Next);
        }
        Err(Refusal::OutOfOrder {
            producer: header.producer_id,
            given: header.base_sequence,
            expected,
        })
    }

    /// The sequence with which the producer of this batch goes on; `None` when any will do.
    pub(super) fn expected(&self, header: &Header) -> Option<i32> {
        let producer = self.0.get(&header.producer_id)?;
        if header.producer_epoch > producer.epoch {
            return Some(0);
        }
        let newest = producer.batches.back()?;
        Some(after(newest.last_sequence, 1))
    }

    /// Takes note of a batch in the log.
    pub fn observe(&mut self, header: &Header) {
        if !header.is_idempotent() || header.is_control() {
            return;
        }
        let (first_sequence, last_sequence) = sequences(header);
        let producer = self.0.entry(header.producer_id).or_insert(Producer {
            epoch: header.producer_epoch,
            batches: VecDeque::new(),
            last_ms: header.max_timestamp,
        });
        if producer.epoch != header.producer_epoch {
            producer.epoch = header.producer_epoch;
            producer.batches.clear();
        }
        if producer.batches.len() == BATCHES_KEPT {
            producer.batches.pop_front();
        }
        producer.batches.push_back(Seen {
            first_sequence,
            last_sequence,
            placed: Placed {
                base_offset: header.base_offset,
                last_offset: header.last_offset(),
                timestamp: header.max_timestamp,
            },
        });
        producer.last_ms = header.max_timestamp;
    }

    /// Forgets batches at `from` or later, which did not come to be in the log. Answers the first of each
    /// producer. What they pushed out of memory stays forgotten: a batch that comes again is then out of
    /// order, never taken twice.
    pub(super) fn retract(&mut self, from: Offset) -> Vec<Lost> {
        let mut lost = Vec::new();
        for (id, producer) in &mut self.0 {
            let batches = &mut producer.batches;
            let mut first = None;
            while let Some(seen) = batches.pop_back_if(|b| b.placed.base_offset >= from) {
                first = Some(seen.first_sequence);
            }
            lost.extend(first.map(|sequence| Lost {
                producer: *id,
                epoch: producer.epoch,
                sequence,
            }));
        }
        lost
    }

    /// Forgets producers whose last batch is of `before_ms` or earlier.
    pub fn expire(&mut self, before_ms: i64) {
        self.0.retain(|_, p| p.last_ms > before_ms);
    }

    /// Where the last batch of each producer ends.
    pub fn last_offsets(&self) -> impl Iterator<Item = (i64, Offset)> + '_ {
        self.0
            .iter()
            .filter_map(|(id, p)| Some((*id, p.batches.back()?.placed.last_offset)))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Everything, in a form that [`Self::decode`] reads.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT);
        for (id, producer) in &self.0 {
            out.put_i64(*id);
            out.put_i16(producer.epoch);
            out.put_i64(producer.last_ms);
            out.put_u8(u8::try_from(producer.batches.len()).unwrap_or(0));
            for seen in &producer.batches {
                out.put_i32(seen.first_sequence);
                out.put_i32(seen.last_sequence);
                out.put_i64(seen.placed.base_offset.0);
                out.put_i64(seen.placed.last_offset.0);
                out.put_i64(seen.placed.timestamp);
            }
        }
        out.freeze()
    }

    /// `None` when the bytes are not those of [`Self::encode`].
    pub fn decode(mut bytes: Bytes) -> Option<Self> {
        if bytes.try_get_u8().ok()? != FORMAT {
            return None;
        }
        let mut producers = BTreeMap::new();
        while bytes.has_remaining() {
            let id = bytes.try_get_i64().ok()?;
            let epoch = bytes.try_get_i16().ok()?;
            let last_ms = bytes.try_get_i64().ok()?;
            let count = bytes.try_get_u8().ok()?;
            let mut batches = VecDeque::new();
            for _ in 0..count {
                batches.push_back(Seen {
                    first_sequence: bytes.try_get_i32().ok()?,
                    last_sequence: bytes.try_get_i32().ok()?,
                    placed: Placed {
                        base_offset: Offset(bytes.try_get_i64().ok()?),
                        last_offset: Offset(bytes.try_get_i64().ok()?),
                        timestamp: bytes.try_get_i64().ok()?,
                    },
                });
            }
            let producer = Producer {
                epoch,
                batches,
                last_ms,
            };
            producers.insert(id, producer);
        }
        Some(Self(producers))
    }
}

// === impl Lost ===

impl From<&Header> for Lost {
    fn from(header: &Header) -> Self {
        Self {
            producer: header.producer_id,
            epoch: header.producer_epoch,
            sequence: header.base_sequence,
        }
    }
}

impl Lost {
    /// Whether `other` comes after this in the producer's sequence.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        let ahead = other.sequence.wrapping_sub(self.sequence) & i32::MAX;
        (self.producer, self.epoch) == (other.producer, other.epoch)
            && (1..=SEQUENCES_AHEAD_MAX).contains(&ahead)
    }
}

/// Half of all sequences: what is further ahead lies behind.
const SEQUENCES_AHEAD_MAX: i32 = i32::MAX / 2;

const FORMAT: u8 = 1;

fn sequences(header: &Header) -> (i32, i32) {
    // Not by the record count, of which compaction may have left less.
    let last = after(header.base_sequence, header.last_offset_delta);
    (header.base_sequence, last)
}

/// Sequences go from 0 to 2147483647 and around.
fn after(sequence: i32, by: i32) -> i32 {
    sequence.wrapping_add(by) & i32::MAX
}
