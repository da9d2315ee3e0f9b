//! Bytes of the sessions between brokers.

use bytes::{Buf, BufMut, Bytes, BytesMut, TryGetError};
use machine::replica::Position;
use model::{Epoch, Offset, TopicId, TopicPartition};
use replica::{Answer, Standing};
use uuid::Uuid;

/// Bytes that a partition takes at least, for bounding what a count may reserve.
const CHANGE_BYTES: usize = 20 + 4 + 8 + 8 + 4;
/// What follows behind all of them: once, and for each.
const LIFE_BYTES: usize = 8;
const CHANGE_MORE_BYTES: usize = 8 + 1;
/// What follows behind those, for each.
const CHANGE_KNOWN_BYTES: usize = 4;
const PARTITION_BYTES: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Drawn by the follower; a new number with `full` begins a session and ends the one before.
    pub session: u64,
    pub full: bool,
    pub changed: Vec<(TopicPartition, Standing)>,
    pub removed: Vec<TopicPartition>,
    /// Broker epoch of the follower; an older build does not say.
    pub life: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Response {
    UnknownSession,
    Partitions(Vec<(TopicPartition, Epoch, Answer)>),
}

/// Bytes that are no request or answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed replication frame")]
pub(super) struct Malformed;

impl From<TryGetError> for Malformed {
    fn from(_: TryGetError) -> Self {
        Self
    }
}

// === impl Request ===

impl Request {
    pub(super) fn encode(&self) -> Bytes {
        let changes = self.changed.len() * (CHANGE_BYTES + CHANGE_MORE_BYTES + CHANGE_KNOWN_BYTES);
        let mut out = BytesMut::with_capacity(
            17 + LIFE_BYTES + changes + self.removed.len() * PARTITION_BYTES,
        );
        out.put_u64(self.session);
        out.put_u8(u8::from(self.full));
        put_count(&mut out, self.changed.len());
        for (partition, s) in &self.changed {
            put_partition(&mut out, *partition);
            out.put_i32(s.epoch.0);
            out.put_i64(s.position.next.0);
            out.put_i64(s.position.held.0);
            out.put_i32(s.last_epoch.unwrap_or(Epoch::UNKNOWN).0);
        }
        put_count(&mut out, self.removed.len());
        for partition in &self.removed {
            put_partition(&mut out, *partition);
        }
        // Behind everything that an older build reads.
        out.put_i64(self.life.unwrap_or(-1));
        for (_, s) in &self.changed {
            out.put_i64(s.start.unwrap_or(Offset::UNKNOWN).0);
            out.put_u8(u8::from(s.is_read));
        }
        for (_, s) in &self.changed {
            out.put_i32(s.partition_epoch.unwrap_or(-1));
        }
        out.freeze()
    }

    pub(super) fn decode(mut b: Bytes) -> Result<Self, Malformed> {
        let session = b.try_get_u64()?;
        let full = b.try_get_u8()? != 0;
        let count = get_count(&mut b, CHANGE_BYTES)?;
        let mut changed = Vec::with_capacity(count);
        for _ in 0..count {
            let partition = get_partition(&mut b)?;
            let standing = Standing {
                epoch: Epoch(b.try_get_i32()?),
                partition_epoch: None,
                position: Position {
                    next: Offset(b.try_get_i64()?),
                    held: Offset(b.try_get_i64()?),
                },
                last_epoch: Some(Epoch(b.try_get_i32()?)).filter(|e| *e >= Epoch(0)),
                start: None,
                is_read: false,
            };
            changed.push((partition, standing));
        }
        let count = get_count(&mut b, PARTITION_BYTES)?;
        let mut removed = Vec::with_capacity(count);
        for _ in 0..count {
            removed.push(get_partition(&mut b)?);
        }
        let mut life = None;
        if b.has_remaining() {
            life = Some(b.try_get_i64()?).filter(|life| *life >= 0);
            for (_, standing) in &mut changed {
                standing.start = Some(Offset(b.try_get_i64()?)).filter(|s| *s >= Offset(0));
                standing.is_read = b.try_get_u8()? != 0;
            }
        }
        if b.has_remaining() {
            for (_, standing) in &mut changed {
                standing.partition_epoch = Some(b.try_get_i32()?).filter(|e| *e >= 0);
            }
        }
        Ok(Self {
            session,
            full,
            changed,
            removed,
            life,
        })
    }
}

// === impl Response ===

impl Response {
    pub(super) fn encode(&self) -> Bytes {
        let Self::Partitions(partitions) = self else {
            return Bytes::from_static(&[1]);
        };
        let size: usize = partitions
            .iter()
            .map(|(_, _, answer)| 64 + answer.size_bytes())
            .sum();
        let mut out = BytesMut::with_capacity(8 + size);
        out.put_u8(0);
        put_count(&mut out, partitions.len());
        for (partition, epoch, answer) in partitions {
            put_partition(&mut out, *partition);
            out.put_i32(epoch.0);
            put_answer(&mut out, answer);
        }
        out.freeze()
    }

    pub(super) fn decode(mut b: Bytes) -> Result<Self, Malformed> {
        if b.try_get_u8()? != 0 {
            return Ok(Self::UnknownSession);
        }
        let count = get_count(&mut b, PARTITION_BYTES)?;
        let mut partitions = Vec::with_capacity(count);
        for _ in 0..count {
            let partition = get_partition(&mut b)?;
            let epoch = Epoch(b.try_get_i32()?);
            partitions.push((partition, epoch, get_answer(&mut b)?));
        }
        Ok(Self::Partitions(partitions))
    }
}

fn put_answer(out: &mut BytesMut, answer: &Answer) {
    match answer {
        Answer::Records {
            from,
            high_watermark,
            log_start,
            batches,
        } => {
            out.put_u8(0);
            out.put_i64(from.0);
            out.put_i64(high_watermark.0);
            out.put_i64(log_start.0);
            put_count(out, answer.size_bytes());
            for run in batches {
                out.put_slice(run);
            }
        }
        Answer::Diverging { from, known } => {
            out.put_u8(1);
            out.put_i64(from.0);
            out.put_i32(known.0.0);
            out.put_i64(known.1.0);
        }
        Answer::Reset { from, start } => {
            out.put_u8(2);
            out.put_i64(from.0);
            out.put_i64(start.0);
        }
    }
}

fn get_answer(b: &mut Bytes) -> Result<Answer, Malformed> {
    let kind = b.try_get_u8()?;
    let from = Offset(b.try_get_i64()?);
    Ok(match kind {
        0 => {
            let high_watermark = Offset(b.try_get_i64()?);
            let log_start = Offset(b.try_get_i64()?);
            let length = get_count(b, 1)?;
            let run = b.split_to(length);
            Answer::Records {
                from,
                high_watermark,
                log_start,
                batches: if run.is_empty() {
                    Vec::new()
                } else {
                    vec![run]
                },
            }
        }
        1 => Answer::Diverging {
            from,
            known: (Epoch(b.try_get_i32()?), Offset(b.try_get_i64()?)),
        },
        2 => Answer::Reset {
            from,
            start: Offset(b.try_get_i64()?),
        },
        _ => return Err(Malformed),
    })
}

fn put_count(out: &mut BytesMut, count: usize) {
    out.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
}

/// A count of things that take at least `each` bytes: never more than what is left can hold.
fn get_count(b: &mut Bytes, each: usize) -> Result<usize, Malformed> {
    let count = b.try_get_u32()? as usize;
    if count > b.remaining() / each {
        return Err(Malformed);
    }
    Ok(count)
}

fn put_partition(out: &mut BytesMut, partition: TopicPartition) {
    out.put_u128(partition.topic.0.as_u128());
    out.put_i32(partition.partition);
}

fn get_partition(b: &mut Bytes) -> Result<TopicPartition, Malformed> {
    Ok(TopicPartition {
        topic: TopicId(Uuid::from_u128(b.try_get_u128()?)),
        partition: b.try_get_i32()?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn partition(n: i32) -> TopicPartition {
        TopicPartition {
            topic: TopicId(Uuid::from_u128(7)),
            partition: n,
        }
    }

    #[test]
    fn frames_are_read_as_written_and_a_cut_one_is_refused() {
        let request = Request {
            session: 5,
            full: true,
            changed: vec![(
                partition(3),
                Standing {
                    epoch: Epoch(2),
                    partition_epoch: Some(3),
                    position: Position {
                        next: Offset(9),
                        held: Offset(8),
                    },
                    last_epoch: None,
                    start: Some(Offset(4)),
                    is_read: true,
                },
            )],
            removed: vec![partition(1)],
            life: Some(6),
        };
        let bytes = request.encode();
        assert_eq!(Request::decode(bytes.clone()), Ok(request));
        // Up to here older builds write it.
        let old = bytes.len() - CHANGE_KNOWN_BYTES;
        let older = old - CHANGE_MORE_BYTES - LIFE_BYTES;
        let read = Request::decode(bytes.slice(..older)).unwrap();
        let standing = read.changed[0].1;
        assert_eq!(
            (standing.start, standing.is_read, read.life),
            (None, false, None)
        );
        let standing = Request::decode(bytes.slice(..old)).unwrap().changed[0].1;
        assert_eq!(
            (standing.start, standing.partition_epoch),
            (Some(Offset(4)), None)
        );
        for cut in (0..bytes.len()).filter(|cut| ![old, older].contains(cut)) {
            assert_eq!(Request::decode(bytes.slice(..cut)), Err(Malformed));
        }
        let response = Response::Partitions(vec![
            (
                partition(3),
                Epoch(2),
                Answer::Records {
                    from: Offset(9),
                    high_watermark: Offset(8),
                    log_start: Offset(0),
                    batches: vec![Bytes::from_static(b"batches")],
                },
            ),
            (
                partition(4),
                Epoch(1),
                Answer::Diverging {
                    from: Offset(3),
                    known: (Epoch(0), Offset(1)),
                },
            ),
            (
                partition(5),
                Epoch(1),
                Answer::Reset {
                    from: Offset(3),
                    start: Offset(10),
                },
            ),
        ]);
        let bytes = response.encode();
        assert_eq!(Response::decode(bytes.clone()), Ok(response));
        for cut in 1..bytes.len() {
            assert_eq!(Response::decode(bytes.slice(..cut)), Err(Malformed));
        }
    }
}
