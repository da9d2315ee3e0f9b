//! Bodies of one classic queue: in memory while they fit, in a log of its own when they must survive or
//! when memory is full, read back by position.
//!
//! A position is an offset of the log; a message that stays in memory only leaves a gap there. A record
//! is a message (key: kind 0 and envelope, value: body) or a settlement (key: kind 1 and positions).
//! Appends gather until [`Store::append`]: one write per wake-up. Recovery replays the whole log and
//! keeps the persistent messages without a settlement; segments that hold none are deleted from the head.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use commitlog::{Log, Shutdown, SyncTask};
use machine::queue::NEVER;
use model::Offset;
use model::batch::{self, Builder, Record};

use super::message::Message;
use super::protocol::codec;

/// Bytes of a segment of a queue's log.
const SEGMENT_BYTES: u64 = 32 << 20;
/// Bytes of its offset index: one entry per 4 KiB of log.
const INDEX_BYTES_MAX: usize = 128 << 10;
/// A batch is closed beyond this, so that reading one message back does not read much more.
const BATCH_BYTES_MAX: usize = 64 << 10;
/// Bytes read at once when messages come back from the log.
const READ_BYTES: usize = 256 << 10;
/// Positions of one settlement record.
const SETTLED_MAX: usize = 8_192;

const MESSAGE: u8 = 0;
const SETTLED: u8 = 1;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Log(#[from] commitlog::Error),
    #[error("a batch of a queue's log is not whole")]
    Batch(#[from] batch::Invalid),
    #[error("a record of a queue's log is not a message or settlement")]
    Record(#[from] codec::Malformed),
    #[error("the directory of a queue cannot be removed")]
    Remove(#[source] std::io::Error),
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Where the queue's log is, or would be.
    pub(crate) dir: PathBuf,
    pub(crate) opened_after: Shutdown,
    /// Bytes of bodies kept in memory.
    pub(crate) cache_bytes_max: usize,
}

pub(crate) struct Store {
    config: Config,
    /// Made with the first record.
    log: Option<Log>,
    next: u64,
    memory: BTreeMap<u64, Kept>,
    memory_bytes: usize,
    /// Read back and not asked for yet.
    ahead: BTreeMap<u64, Arc<Message>>,
    /// To be written at the next [`Store::append`].
    unwritten: Vec<(u64, i64, Arc<Message>)>,
    settled: Vec<u64>,
    live: Live,
    /// Bytes appended since the head was last looked at.
    untrimmed: u64,
}

struct Kept {
    message: Arc<Message>,
    logged: bool,
}

impl Store {
    /// Opens what there is; the messages are those to be restored, in order.
    pub(crate) fn open(config: Config) -> Result<(Self, Vec<machine::queue::Message>), Error> {
        let mut store = Self {
            config,
            log: None,
            next: 0,
            memory: BTreeMap::new(),
            memory_bytes: 0,
            ahead: BTreeMap::new(),
            unwritten: Vec::new(),
            settled: Vec::new(),
            live: Live::default(),
            untrimmed: 0,
        };
        let mut messages = Vec::new();
        if store.config.dir.exists() {
            let log = store.open_log()?;
            store.next = position(log.end_offset());
            messages = replay(&log)?;
            for message in &messages {
                store.live.add(message.position);
            }
            store.log = Some(log);
        }
        Ok((store, messages))
    }

    fn open_log(&self) -> Result<Log, Error> {
        let config = commitlog::Config {
            segment_bytes: SEGMENT_BYTES,
            segment_ms: i64::MAX,
            index_bytes_max: INDEX_BYTES_MAX,
            retention_ms: None,
            retention_bytes: None,
            delete_delay_ms: 0,
            tail_bytes_max: 0,
            opened_after: self.config.opened_after,
            ..commitlog::Config::default()
        };
        let (log, _) = Log::open(&self.config.dir, config)?;
        Ok(log)
    }

    /// The position that the next [`Store::put`] gives.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Keeps a message. With `durable` it is in the log after the next append; without, only when
    /// memory is full.
    pub(crate) fn put(&mut self, now_ms: i64, message: Arc<Message>, durable: bool) {
        let position = self.next;
        self.next += 1;
        let fits = self.memory_bytes + message.size() <= self.config.cache_bytes_max;
        let logged = durable || !fits;
        if logged {
            self.live.add(position);
            self.unwritten.push((position, now_ms, message.clone()));
        }
        if fits {
            self.memory_bytes += message.size();
            self.memory.insert(position, Kept { message, logged });
        }
    }

    /// The message at a position that is not settled.
    pub(crate) fn get(&mut self, position: u64) -> Result<Option<Arc<Message>>, Error> {
        if let Some(kept) = self.memory.get(&position) {
            return Ok(Some(kept.message.clone()));
        }
        if let Some(message) = self.ahead.remove(&position) {
            return Ok(Some(message));
        }
        let unwritten = self.unwritten.binary_search_by_key(&position, |u| u.0);
        if let Ok(at) = unwritten {
            return Ok(self
                .unwritten
                .get(at)
                .map(|(_, _, message)| message.clone()));
        }
        self.read(position)?;
        Ok(self.ahead.remove(&position))
    }

    fn read(&mut self, from: u64) -> Result<(), Error> {
        self.ahead.clear();
        let Some(log) = &self.log else {
            return Ok(());
        };
        for run in log.read(offset(from), READ_BYTES)? {
            for batch in batch::split(run)? {
                for record in batch.records() {
                    let record = record?;
                    let at = position(record.offset);
                    if at < from || self.memory.contains_key(&at) {
                        continue;
                    }
                    if let Entry::Message(message) = parse(&record)? {
                        self.ahead.insert(at, Arc::new(message));
                    }
                }
            }
        }
        Ok(())
    }

    /// The message at `position` is done with.
    pub(crate) fn settle(&mut self, position: u64) {
        self.ahead.remove(&position);
        let logged = match self.memory.remove(&position) {
            Some(kept) => {
                self.memory_bytes -= kept.message.size();
                kept.logged
            }
            None => true,
        };
        if logged {
            self.live.remove(position);
            self.settled.push(position);
        }
    }

    /// Writes what has gathered, in one go. True when there was something.
    pub(crate) fn append(&mut self) -> Result<bool, Error> {
        if self.unwritten.is_empty() && self.settled.is_empty() {
            return Ok(false);
        }
        let batches = self.batches();
        if self.log.is_none() {
            self.log = Some(self.open_log()?);
        }
        if let Some(log) = &mut self.log {
            log.append(&batches)?;
        }
        self.untrimmed += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        if self.untrimmed > SEGMENT_BYTES {
            self.untrimmed = 0;
            self.trim()?;
        }
        Ok(true)
    }

    fn batches(&mut self) -> Vec<Bytes> {
        let mut batches = Vec::new();
        let mut builder = Builder::default();
        let mut expected = None;
        let mut key = BytesMut::new();
        for (position, time, message) in self.unwritten.drain(..) {
            if expected != Some(position) || builder.size_bytes() > BATCH_BYTES_MAX {
                batches.extend(std::mem::take(&mut builder).build());
                builder = Builder::new(offset(position));
            }
            key.clear();
            key.put_u8(MESSAGE);
            codec::put_envelope(&mut key, &message);
            builder.push(time, Some(&key), Some(&message.body));
            expected = Some(position + 1);
        }
        batches.extend(builder.build());
        for positions in self.settled.chunks(SETTLED_MAX) {
            key.clear();
            key.put_u8(SETTLED);
            codec::put_positions(&mut key, positions);
            let mut builder = Builder::new(offset(self.next));
            self.next += 1;
            builder.push(0, Some(&key), None);
            batches.extend(builder.build());
        }
        self.settled.clear();
        batches
    }

    /// Deletes segments at the head that hold nothing unsettled.
    fn trim(&mut self) -> Result<(), Error> {
        let needed = self.live.first().unwrap_or(self.next);
        if let Some(log) = &mut self.log {
            let needed = offset(needed).min(log.end_offset());
            log.delete_before(needed)?;
            log.remove_retired(i64::MAX)?;
        }
        Ok(())
    }

    /// A sync of everything appended so far; `None` when all of it is durable.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<SyncTask>, Error> {
        match &mut self.log {
            Some(log) => Ok(log.begin_sync()?),
            None => Ok(None),
        }
    }

    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.append()?;
        match self.log {
            Some(log) => Ok(log.close()?),
            None => Ok(()),
        }
    }

    /// The queue is deleted: so are its files.
    pub(crate) fn delete(self) -> Result<(), Error> {
        drop(self.log);
        remove(&self.config.dir)
    }
}

pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::Remove(error)),
        _ => Ok(()),
    }
}

enum Entry {
    Message(Message),
    Settled(Vec<u64>),
}

fn parse(record: &Record) -> Result<Entry, Error> {
    let mut key = record.key.clone().unwrap_or_default();
    match key.try_get_u8() {
        Ok(MESSAGE) => {
            let mut message = codec::envelope(&mut key)?;
            message.body = record.value.clone().unwrap_or_default();
            Ok(Entry::Message(message))
        }
        Ok(SETTLED) => Ok(Entry::Settled(codec::positions(&mut key)?)),
        _ => Err(codec::Malformed.into()),
    }
}

/// Persistent messages without a settlement.
fn replay(log: &Log) -> Result<Vec<machine::queue::Message>, Error> {
    let mut messages = BTreeMap::new();
    let mut from = log.start_offset();
    while from < log.end_offset() {
        let runs = log.read(from, READ_BYTES)?;
        let mut last = from;
        for run in runs {
            for batch in batch::split(run)? {
                last = batch.header.next_offset();
                for record in batch.records() {
                    let record = record?;
                    match parse(&record)? {
                        Entry::Message(message) if message.persistent => {
                            let message = restored(&record, &message);
                            messages.insert(message.position, message);
                        }
                        Entry::Message(_) => {}
                        Entry::Settled(positions) => {
                            for position in positions {
                                messages.remove(&position);
                            }
                        }
                    }
                }
            }
        }
        if last <= from {
            break;
        }
        from = last;
    }
    Ok(messages.into_values().collect())
}

fn restored(record: &Record, message: &Message) -> machine::queue::Message {
    let deadline_ms = message.expiration.map_or(NEVER, |ttl| {
        record
            .timestamp
            .saturating_add(i64::try_from(ttl).unwrap_or(NEVER))
    });
    machine::queue::Message {
        position: position(record.offset),
        size: u32::try_from(message.size()).unwrap_or(u32::MAX),
        enqueued_ms: record.timestamp,
        deadline_ms,
        priority: message.priority.unwrap_or(0),
        delivery_count: 0,
        redelivered: false,
    }
}

fn offset(position: u64) -> Offset {
    Offset(i64::try_from(position).unwrap_or(i64::MAX))
}

fn position(offset: Offset) -> u64 {
    u64::try_from(offset.0).unwrap_or(0)
}

/// How many logged positions are unsettled, by bucket of 32 positions: an eighth of a byte per message.
#[derive(Default)]
struct Live {
    base: u64,
    counts: VecDeque<u32>,
}

const BUCKET_BITS: u32 = 5;

impl Live {
    fn add(&mut self, position: u64) {
        let bucket = position >> BUCKET_BITS;
        if self.counts.is_empty() {
            self.base = bucket;
        }
        let Some(at) = bucket.checked_sub(self.base) else {
            return;
        };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        while self.counts.len() <= at {
            self.counts.push_back(0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }

    fn remove(&mut self, position: u64) {
        let bucket = (position >> BUCKET_BITS).checked_sub(self.base);
        let at = bucket.and_then(|at| usize::try_from(at).ok());
        if let Some(count) = at.and_then(|at| self.counts.get_mut(at)) {
            *count = count.saturating_sub(1);
        }
        while self.counts.front() == Some(&0) {
            self.counts.pop_front();
            self.base += 1;
        }
    }

    /// Nothing below is needed.
    fn first(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.base << BUCKET_BITS)
    }
}
