//! The leader's side of copying: where a follower stands, and what there is to say to it.

use bytes::Bytes;
use commitlog::{Error, Reader};
use machine::replica::{Position, divergence};
use model::{Epoch, Offset};

/// Where a follower stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Leader epoch that the follower follows.
    pub epoch: Epoch,
    /// Partition epoch that it knew when it said so; an older build does not say.
    pub partition_epoch: Option<i32>,
    pub position: Position,
    /// Epoch of its last record.
    pub last_epoch: Option<Epoch>,
    /// Where its log begins; an older build does not say.
    pub start: Option<Offset>,
    /// Consumers read from it: it is told of every watermark.
    pub is_read: bool,
}

/// What a leader has for a follower that goes on at `from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Records {
        from: Offset,
        high_watermark: Offset,
        log_start: Offset,
        /// Whole batches, each one or a run of them; none when only the watermark is news.
        batches: Vec<Bytes>,
    },
    /// The logs part: an epoch of the leader and where it ends there.
    Diverging {
        from: Offset,
        known: (Epoch, Offset),
    },
    /// The leader's log begins later than the follower's ends.
    Reset { from: Offset, start: Offset },
}

/// Where records may be taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Memory,
    /// Memory too. Not on a thread of the runtime.
    Disk,
}

/// What a look at the leader's log came to.
#[derive(Debug)]
pub enum Looked {
    /// The follower has everything.
    Nothing,
    Answer(Answer),
    /// Only the disk has it.
    Cold,
    Unreadable(Error),
}

impl Answer {
    /// Where the follower stood that this is for.
    pub fn from(&self) -> Offset {
        match self {
            Self::Records { from, .. }
            | Self::Diverging { from, .. }
            | Self::Reset { from, .. } => *from,
        }
    }

    /// Bytes of batches.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Records { batches, .. } => batches.iter().map(Bytes::len).sum(),
            Self::Diverging { .. } | Self::Reset { .. } => 0,
        }
    }
}

impl Standing {
    /// Of the replica behind `reader`, which follows the leader of `epoch`. With `synced_only` it
    /// answers for what is on its disk alone.
    pub fn of(reader: &Reader, epoch: Epoch, synced_only: bool) -> Self {
        let next = reader.end_offset();
        let held = if synced_only {
            reader.synced_offset().min(next)
        } else {
            next
        };
        Self {
            epoch,
            partition_epoch: None,
            position: Position { next, held },
            last_epoch: reader.latest_epoch(),
            start: Some(reader.start_offset()),
            is_read: false,
        }
    }
}

/// What to say to a follower that stands there. `high_watermark` is asked for last.
pub fn look(
    reader: &Reader,
    standing: &Standing,
    bytes_max: usize,
    source: Source,
    high_watermark: impl FnOnce() -> Offset,
) -> Looked {
    let from = standing.position.next;
    if let Some(known) = parting(reader, standing) {
        return Looked::Answer(Answer::Diverging { from, known });
    }
    let (start, end) = (reader.start_offset(), reader.end_offset());
    if from < start || from > end {
        return Looked::Answer(Answer::Reset { from, start });
    }
    if from == end {
        return Looked::Nothing;
    }
    let read = match source {
        Source::Memory => reader.read_cached(from, end, bytes_max),
        Source::Disk => reader.read_until(from, end, bytes_max).map(Some),
    };
    match read {
        Ok(Some(batches)) => Looked::Answer(Answer::Records {
            from,
            high_watermark: high_watermark(),
            log_start: start,
            batches,
        }),
        Ok(None) => Looked::Cold,
        Err(error) => Looked::Unreadable(error),
    }
}

/// A standing on a log that parted from the leader's acknowledges nothing.
pub fn is_diverging(reader: &Reader, standing: &Standing) -> bool {
    parting(reader, standing).is_some()
}

fn parting(reader: &Reader, standing: &Standing) -> Option<(Epoch, Offset)> {
    let known = epoch_end(reader, standing.epoch, standing.last_epoch?);
    divergence::diverging(standing.last_epoch, standing.position.next, known)
}

/// Where `asked` ends in this log (KIP-101). The current epoch has begun at the latest at the end, with
/// or without records.
pub fn epoch_end(reader: &Reader, current: Epoch, asked: Epoch) -> (Epoch, Offset) {
    let end = reader.end_offset();
    if asked > current || asked < Epoch(0) {
        return (Epoch::UNKNOWN, Offset::UNKNOWN);
    }
    match reader.latest_epoch() {
        Some(latest) if asked <= latest => reader.epoch_end(asked),
        _ if asked == current => (asked, end),
        Some(latest) => (latest, end),
        None => (asked, end),
    }
}
