//! Reading: beside appends, straight from the log.

use bytes::{Buf, Bytes};
use commitlog::Reader;
use machine::replica::divergence;
use model::{
    BrokerId, Epoch, Offset,
    batch::{self, Batch, Record, Records},
};
use replica::epoch_end;

use super::{handle::Snapshot, inflate};

/// A range to read.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub offset: Offset,
    /// The first batch comes whole however small this is.
    pub max_bytes: usize,
    pub limit: Limit,
    /// What the caller believes the leader epoch to be; checked when given.
    pub leader_epoch: Option<Epoch>,
    /// Epoch of the last record the caller has; looked at for divergence when given.
    pub last_fetched_epoch: Option<Epoch>,
}

/// How far a read may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// What is committed and, where the topic delays delivery, due.
    HighWatermark,
    LastStable,
    LogEnd,
}

#[derive(Clone, Debug)]
pub struct ReadData {
    /// Each one whole batch or a run of them.
    pub batches: Vec<Bytes>,
    pub high_watermark: Offset,
    pub last_stable_offset: Offset,
    pub log_start: Offset,
    /// The caller's log parted from this one: largest epoch at or below the asked one, and its end.
    /// No batches then.
    pub diverging: Option<(Epoch, Offset)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("this broker does not lead the partition")]
    NotLeader {
        leader: Option<BrokerId>,
        epoch: Epoch,
    },
    #[error("offset is outside [{start}, {end}]")]
    OffsetOutOfRange { start: Offset, end: Offset },
    /// The caller's leader epoch is older than this replica's.
    #[error("leader epoch is old, {0} is current")]
    FencedEpoch(Epoch),
    /// The caller's leader epoch is newer than this replica's.
    #[error("leader epoch is not known here yet, {0} is current")]
    UnknownEpoch(Epoch),
    /// A new leader does not know yet how far its predecessor had come.
    #[error("offset is not available yet")]
    NotAvailable,
    #[error("{0}")]
    Storage(String),
    /// The disk gives back other bytes than were written.
    #[error("{why}")]
    Damaged { offset: Offset, why: String },
}

/// A record found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOffset {
    pub offset: Offset,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    pub epoch: Epoch,
}

/// See [`super::Handle::read`].
pub(super) fn read(reader: &Reader, now: &Snapshot, read: &Read) -> Result<ReadData, ReadError> {
    let (mut data, limit) = begin(reader, now, read)?;
    if let Some(limit) = limit {
        data.batches = shown(
            reader.read_until(read.offset, limit, read.max_bytes)?,
            now,
            read,
        )?;
    }
    Ok(data)
}

/// See [`super::Handle::read_cached`].
pub(super) fn read_cached(
    reader: &Reader,
    now: &Snapshot,
    read: &Read,
) -> Result<Option<ReadData>, ReadError> {
    let (mut data, limit) = begin(reader, now, read)?;
    if let Some(limit) = limit {
        match reader.read_cached(read.offset, limit, read.max_bytes)? {
            Some(batches) => data.batches = shown(batches, now, read)?,
            None => return Ok(None),
        }
    }
    Ok(Some(data))
}

/// What was read, with nothing in it of what waits for its time.
fn shown(batches: Vec<Bytes>, now: &Snapshot, read: &Read) -> Result<Vec<Bytes>, ReadError> {
    if read.offset >= now.hidden_upto {
        return Ok(batches);
    }
    let mut shown = Vec::with_capacity(batches.len());
    for mut run in batches {
        let mut open = 0;
        while open < run.len() {
            let batch =
                Batch::parse(&run.slice(open..)).map_err(|e| ReadError::Storage(e.to_string()))?;
            if !batch.header.is_held() {
                open += batch.bytes.len();
                continue;
            }
            if open > 0 {
                shown.push(run.split_to(open));
            }
            run.advance(batch.bytes.len());
            shown.push(batch::hide(&batch.header));
            open = 0;
        }
        if !run.is_empty() {
            shown.push(run);
        }
    }
    Ok(shown)
}

/// Everything but the batches, and how far they may go; no limit when there are to be none.
fn begin(
    reader: &Reader,
    now: &Snapshot,
    read: &Read,
) -> Result<(ReadData, Option<Offset>), ReadError> {
    if let Some(epoch) = read.leader_epoch {
        if epoch < now.leader_epoch {
            return Err(ReadError::FencedEpoch(now.leader_epoch));
        }
        if epoch > now.leader_epoch {
            return Err(ReadError::UnknownEpoch(now.leader_epoch));
        }
    }
    let mut data = ReadData {
        batches: Vec::new(),
        // As far as a reader of this kind can come.
        high_watermark: match read.limit {
            Limit::HighWatermark | Limit::LastStable => now.readable_end,
            Limit::LogEnd => now.high_watermark,
        },
        last_stable_offset: now.readable_end,
        log_start: reader.start_offset(),
        diverging: None,
    };
    if let Some(epoch) = read.last_fetched_epoch {
        let known = epoch_end(reader, now.leader_epoch, epoch);
        // Newer than anything here: there is no place where the two logs can have parted.
        if known.0 == Epoch::UNKNOWN {
            return Err(ReadError::OffsetOutOfRange {
                start: data.log_start,
                end: reader.end_offset(),
            });
        }
        data.diverging = divergence::diverging(Some(epoch), read.offset, known);
        if data.diverging.is_some() {
            return Ok((data, None));
        }
    }
    let end = reader.end_offset();
    if read.offset < data.log_start || read.offset > end {
        return Err(ReadError::OffsetOutOfRange {
            start: data.log_start,
            end,
        });
    }
    let limit = match read.limit {
        Limit::HighWatermark | Limit::LastStable => now.readable_end,
        Limit::LogEnd => end,
    };
    Ok((data, Some(limit)))
}

/// The first record as new as asked.
pub(super) fn offset_for_time(
    reader: &Reader,
    timestamp: i64,
) -> Result<Option<TimedOffset>, ReadError> {
    let Some(batch) = reader.batch_for_time(timestamp)? else {
        return Ok(None);
    };
    let start = reader.start_offset();
    find(&batch, |r| r.timestamp >= timestamp && r.offset >= start)
}

/// The first of the records with the newest timestamp. Where delivery is delayed, of those below
/// `waits_from`: the newest are then those of the last batch.
pub(super) fn max_timestamp(
    reader: &Reader,
    waits_from: Option<Offset>,
) -> Result<Option<TimedOffset>, ReadError> {
    let Some(mut batch) = reader.newest_batch()? else {
        return Ok(None);
    };
    if let Some(end) = waits_from.filter(|end| *end <= batch.header.base_offset) {
        let last = Offset(end.0 - 1).max(reader.start_offset());
        let runs = reader.read_until(last, end, 1)?;
        match runs.into_iter().next() {
            Some(run) => {
                batch = Batch::parse(&run).map_err(|e| ReadError::Storage(e.to_string()))?
            }
            None => return Ok(None),
        }
    }
    let newest = batch.header.max_timestamp;
    find(&batch, |r| r.timestamp == newest)
}

fn find(batch: &Batch, wanted: impl Fn(&Record) -> bool) -> Result<Option<TimedOffset>, ReadError> {
    let failed = |e: &dyn std::fmt::Display| ReadError::Storage(e.to_string());
    let codec = batch.header.compression();
    let records = if codec == 0 {
        batch.records()
    } else {
        let payload = batch.payload();
        let max = inflate::bytes_max(payload.len());
        let payload = inflate::inflate(codec, &payload, max).map_err(|e| failed(&e))?;
        Records::of_payload(batch.header, payload)
    };
    for record in records {
        let record = record.map_err(|e| failed(&e))?;
        if wanted(&record) {
            return Ok(Some(TimedOffset {
                offset: record.offset,
                timestamp: record.timestamp,
                epoch: batch.header.leader_epoch,
            }));
        }
    }
    Ok(None)
}

impl From<commitlog::Error> for ReadError {
    fn from(error: commitlog::Error) -> Self {
        match error {
            commitlog::Error::OutOfRange { start, end, .. } => {
                Self::OffsetOutOfRange { start, end }
            }
            commitlog::Error::Corrupt { offset, .. } => Self::Damaged {
                offset,
                why: error.to_string(),
            },
            _ => Self::Storage(error.to_string()),
        }
    }
}
