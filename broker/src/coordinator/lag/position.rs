//! Where a partition's log stands relative to an offset: answered by the partition's leader.

use std::collections::HashMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::{
    BrokerId, Offset, TopicId, TopicPartition,
    batch::{self, Header},
};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::partition::{Handle, Limit, Read, Role, Roster};

/// Where is the log relative to this offset?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::coordinator) struct Ask {
    pub(in crate::coordinator) place: TopicPartition,
    pub(in crate::coordinator) offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordinator) struct Position {
    /// Of what consumers can read.
    pub(in crate::coordinator) end: Offset,
    /// When the first record at or after the offset was written, or could be read where the topic delays
    /// delivery, in milliseconds since 1970; `None` at the end of the log and for records without a time.
    pub(in crate::coordinator) written_ms: Option<i64>,
}

/// Batches without records that are looked over for one with some.
const EMPTY_MAX: usize = 64;

/// Answers from the logs led here. Remembers the times it had to read a batch for: a group that does
/// not move is asked about every interval.
pub(in crate::coordinator) struct Positions {
    roster: Roster,
    /// By asking broker: what its last question needed, so bounded by one question each.
    known: Mutex<HashMap<BrokerId, HashMap<Ask, i64>>>,
}

impl Positions {
    pub(in crate::coordinator) fn new(roster: Roster) -> Self {
        Self {
            roster,
            known: Mutex::default(),
        }
    }

    /// One answer per question, `None` for partitions that are not led here. Blocks on the disk.
    pub(in crate::coordinator) fn answer(
        &self,
        from: BrokerId,
        asks: &[Ask],
    ) -> Vec<Option<Position>> {
        let known = self.known.lock().remove(&from).unwrap_or_default();
        let mut used = HashMap::new();
        let answers = asks
            .iter()
            .map(|ask| {
                let handle = self.roster.get(ask.place)?;
                let position = position(&handle, *ask, known.get(ask).copied())?;
                if let Some(written_ms) = position.written_ms {
                    used.insert(*ask, written_ms);
                }
                // Nobody is late before a record can be read.
                let delay_ms = handle.delivery_delay_ms();
                let readable_ms = position.written_ms.map(|ms| ms.saturating_add(delay_ms));
                Some(Position {
                    written_ms: readable_ms,
                    ..position
                })
            })
            .collect();
        self.known.lock().insert(from, used);
        answers
    }
}

fn position(handle: &Handle, ask: Ask, known: Option<i64>) -> Option<Position> {
    let status = handle.status();
    if status.role != Role::Leader {
        return None;
    }
    let end = status.readable_end;
    // What retention has removed cannot be read any more: the oldest that is left counts.
    let offset = ask.offset.max(status.log_start);
    if offset >= end {
        return Some(Position {
            end,
            written_ms: None,
        });
    }
    let removed = offset != ask.offset;
    let written_ms = known.filter(|_| !removed).or_else(|| {
        let mut offset = offset;
        for _ in 0..EMPTY_MAX {
            let read = Read {
                offset,
                max_bytes: 1,
                limit: Limit::HighWatermark,
                leader_epoch: None,
                last_fetched_epoch: None,
            };
            let data = handle.read(read).ok()?;
            let run = data.batches.first()?;
            // Nobody can be late for what is not there: records wait in such a batch, or are gone.
            match Header::parse(run).ok()? {
                header if header.record_count == 0 => offset = header.next_offset(),
                _ => return written_at(run, offset),
            }
        }
        None
    });
    Some(Position { end, written_ms })
}

/// The time of the record at `offset`, by the producer's or the broker's clock as the topic has it. In
/// a compressed batch the first record's: records of a batch are milliseconds apart.
pub(super) fn written_at(run: &Bytes, offset: Offset) -> Option<i64> {
    let batches = batch::split(run.clone()).ok()?;
    let batch = batches
        .into_iter()
        .find(|b| b.header.next_offset() > offset)?;
    let header = batch.header;
    let time = if header.is_log_append_time() {
        header.max_timestamp
    } else if header.compression() != 0 {
        header.base_timestamp
    } else {
        batch
            .records()
            .filter_map(Result::ok)
            .find(|record| record.offset >= offset)
            .map_or(header.base_timestamp, |record| record.timestamp)
    };
    (time >= 0).then_some(time)
}

// Between brokers: 28 bytes a question, 17 an answer, in the order asked.

pub(in crate::coordinator) fn put_asks(out: &mut BytesMut, asks: &[Ask]) {
    for ask in asks {
        out.put_u128(ask.place.topic.0.as_u128());
        out.put_i32(ask.place.partition);
        out.put_i64(ask.offset.0);
    }
}

/// Takes whole questions; a piece of one at the end is left out.
pub(in crate::coordinator) fn get_asks(mut bytes: Bytes) -> Vec<Ask> {
    let mut asks = Vec::with_capacity(bytes.remaining() / 28);
    while let Some(ask) = get_ask(&mut bytes) {
        asks.push(ask);
    }
    asks
}

fn get_ask(bytes: &mut Bytes) -> Option<Ask> {
    let topic = TopicId(Uuid::from_u128(bytes.try_get_u128().ok()?));
    let partition = bytes.try_get_i32().ok()?;
    let offset = Offset(bytes.try_get_i64().ok()?);
    Some(Ask {
        place: TopicPartition { topic, partition },
        offset,
    })
}

pub(in crate::coordinator) fn put_positions(out: &mut BytesMut, positions: &[Option<Position>]) {
    for position in positions {
        out.put_u8(u8::from(position.is_some()));
        out.put_i64(position.map_or(-1, |p| p.end.0));
        out.put_i64(position.and_then(|p| p.written_ms).unwrap_or(-1));
    }
}

pub(in crate::coordinator) fn get_positions(mut bytes: Bytes) -> Vec<Option<Position>> {
    let mut positions = Vec::with_capacity(bytes.remaining() / 17);
    while let Some(position) = get_position(&mut bytes) {
        positions.push(position);
    }
    positions
}

fn get_position(bytes: &mut Bytes) -> Option<Option<Position>> {
    let known = bytes.try_get_u8().ok()? == 1;
    let end = Offset(bytes.try_get_i64().ok()?);
    let written_ms = bytes.try_get_i64().ok()?;
    Some(known.then_some(Position {
        end,
        written_ms: (written_ms >= 0).then_some(written_ms),
    }))
}
