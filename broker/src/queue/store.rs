//! Bodies of one classic queue: in memory while they fit, in a log of its own when they must survive or
//! when memory is full, read back by position.
//!
//! A position is an offset of the log; a message that stays in memory only leaves a gap there, and gets a
//! place of its own in the log when memory has to be given back. Appends gather until [`Store::append`]:
//! one write per wake-up. After a failure nothing is forgotten: the append is tried again, or
//! `store/recovery.rs` opens the log anew.

mod live;
mod record;
mod recovery;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use commitlog::{Log, Shutdown, SyncTask};
use model::Offset;
use model::batch;

use self::live::Live;
use self::record::{Batches, Entry, Unwritten};
use super::message::Message;
use super::protocol::codec;

/// Bytes of a segment of a queue's log.
const SEGMENT_BYTES: u64 = 32 << 20;
/// Bytes of its offset index: one entry per 4 KiB of log.
const INDEX_BYTES_MAX: usize = 128 << 10;
/// Bytes read at once when messages come back from the log.
const READ_BYTES: usize = 256 << 10;
/// A sync is due when this much is not synced, also when nobody waits for it: what a failed sync puts
/// in doubt is read back and written again.
const UNSYNCED_BYTES_MAX: u64 = 8 << 20;

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
    #[error("the log of a queue is closed after a failure")]
    Closed,
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
    /// The log could not be opened: what is only there cannot be read.
    closed: bool,
    next: u64,
    memory: BTreeMap<u64, Kept>,
    /// Bytes of those bodies, and what they take with all that is around them.
    cached_bytes: usize,
    memory_bytes: usize,
    /// Read back and not asked for yet, by place in the log.
    ahead: BTreeMap<u64, Arc<Message>>,
    ahead_bytes: usize,
    /// Where in the log those are that were in memory only and had to leave it.
    moved: BTreeMap<u64, u64>,
    /// To be written at the next [`Store::append`], in order.
    unwritten: Vec<Unwritten>,
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
    /// Nothing is known before [`Store::open`].
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            log: None,
            closed: true,
            next: 0,
            memory: BTreeMap::new(),
            cached_bytes: 0,
            memory_bytes: 0,
            ahead: BTreeMap::new(),
            ahead_bytes: 0,
            moved: BTreeMap::new(),
            unwritten: Vec::new(),
            settled: Vec::new(),
            live: Live::default(),
            untrimmed: 0,
        }
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

    /// Whether the log has to be opened (anew) before it takes anything.
    pub(crate) fn is_broken(&self) -> bool {
        self.closed || self.log.as_ref().is_some_and(Log::is_poisoned)
    }

    /// The position that the next [`Store::put`] gives.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of memory that messages take here.
    pub(crate) fn held_bytes(&self) -> usize {
        self.memory_bytes + self.ahead_bytes
    }

    /// Keeps a message. With `durable` it is in the log after the next append; without, only when it may
    /// not be `cached` or the cache is full.
    pub(crate) fn put(&mut self, now_ms: i64, message: Arc<Message>, durable: bool, cached: bool) {
        let at = self.next;
        self.next += 1;
        let fits = cached && self.cached_bytes + message.size() <= self.config.cache_bytes_max;
        let logged = durable || !fits;
        if logged {
            self.live.add(at);
            self.unwritten.push(Unwritten {
                at,
                time_ms: now_ms,
                message: message.clone(),
            });
        }
        if fits {
            self.cached_bytes += message.size();
            self.memory_bytes += message.memory_bytes();
            self.memory.insert(at, Kept { message, logged });
        }
    }

    /// The message at a position that is not settled. None: its body is lost.
    pub(crate) fn get(&mut self, position: u64) -> Result<Option<Arc<Message>>, Error> {
        if let Some(kept) = self.memory.get(&position) {
            return Ok(Some(kept.message.clone()));
        }
        let at = self.place(position);
        if let Some(message) = self.take_ahead(at) {
            return Ok(Some(message));
        }
        if let Ok(index) = self.unwritten.binary_search_by_key(&at, |u| u.at) {
            return Ok(self.unwritten.get(index).map(|u| u.message.clone()));
        }
        self.read(at)?;
        Ok(self.take_ahead(at))
    }

    fn place(&self, position: u64) -> u64 {
        if self.moved.is_empty() {
            return position;
        }
        self.moved.get(&position).copied().unwrap_or(position)
    }

    fn take_ahead(&mut self, at: u64) -> Option<Arc<Message>> {
        let message = self.ahead.remove(&at)?;
        self.ahead_bytes = self.ahead_bytes.saturating_sub(message.memory_bytes());
        Some(message)
    }

    fn uncount(&mut self, message: &Message) {
        self.cached_bytes -= message.size();
        self.memory_bytes -= message.memory_bytes();
    }

    fn forget_ahead(&mut self) {
        self.ahead.clear();
        self.ahead_bytes = 0;
    }

    fn read(&mut self, from: u64) -> Result<(), Error> {
        self.forget_ahead();
        if self.closed {
            return Err(Error::Closed);
        }
        let runs = match &self.log {
            // Beyond the end is nothing.
            Some(log) if offset(from) < log.end_offset() => log.read(offset(from), READ_BYTES)?,
            _ => return Ok(()),
        };
        for run in runs {
            let run_bytes = run.len();
            for batch in batch::split(run)? {
                for record in batch.records() {
                    let record = record?;
                    let at = position(record.offset);
                    if at < from || self.memory.contains_key(&at) {
                        continue;
                    }
                    if let Entry::Message(mut message) = Entry::parse(&record)? {
                        message.detach(run_bytes);
                        self.ahead_bytes += message.memory_bytes();
                        self.ahead.insert(at, Arc::new(message));
                    }
                }
            }
        }
        Ok(())
    }

    /// The message at `position` is done with.
    pub(crate) fn settle(&mut self, position: u64) {
        if let Some(kept) = self.memory.remove(&position) {
            self.uncount(&kept.message);
            if !kept.logged {
                return;
            }
        } else if let Some(at) = self.moved.remove(&position) {
            // A restart forgets it by itself.
            self.take_ahead(at);
            self.live.remove(at);
            return;
        }
        self.take_ahead(position);
        self.live.remove(position);
        self.settled.push(position);
    }

    /// Settles messages of the last [`Store::put`]s that shall not be written either.
    pub(crate) fn withdraw(&mut self, positions: &[u64]) {
        for position in positions {
            self.settle(*position);
        }
        self.unwritten.retain(|u| !positions.contains(&u.at));
    }

    /// Moves bodies out of memory, those last that are delivered first, until `bytes` are free or none is
    /// left. What was only there is in the log after the next append. How many bytes it was.
    pub(crate) fn evict(&mut self, bytes: usize) -> usize {
        let before = self.held_bytes();
        self.forget_ahead();
        while before - self.held_bytes() < bytes {
            let Some((position, kept)) = self.memory.pop_last() else {
                break;
            };
            self.uncount(&kept.message);
            if !kept.logged {
                let at = self.next;
                self.next += 1;
                self.live.add(at);
                self.moved.insert(position, at);
                self.unwritten.push(Unwritten {
                    at,
                    time_ms: 0,
                    message: kept.message,
                });
            }
        }
        before - self.held_bytes()
    }

    /// Writes what has gathered, in one go. True when there was something. After an error all of it is
    /// still there to be written.
    pub(crate) fn append(&mut self) -> Result<bool, Error> {
        if self.unwritten.is_empty() && self.settled.is_empty() {
            return Ok(false);
        }
        if self.closed {
            return Err(Error::Closed);
        }
        let batches = self.batches();
        if self.log.is_none() {
            self.log = Some(self.open_log()?);
        }
        if let Some(log) = &mut self.log {
            log.append(&batches)?;
        }
        self.unwritten.clear();
        self.settled.clear();
        self.untrimmed += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        if self.untrimmed > SEGMENT_BYTES {
            self.untrimmed = 0;
            if let Err(error) = self.trim() {
                // Tried again with the next segment.
                tracing::warn!(dir = %self.config.dir.display(), %error, "old segments of a queue remain");
            }
        }
        Ok(true)
    }

    fn batches(&mut self) -> Vec<Bytes> {
        let mut batches = Batches::default();
        for unwritten in &self.unwritten {
            batches.message(unwritten);
        }
        for positions in self.settled.chunks(record::SETTLED_MAX) {
            batches.settled(self.next, positions);
            self.next += 1;
        }
        batches.build()
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

    /// Whether so much is not synced that it shall be, though nobody waits.
    pub(crate) fn wants_sync(&self) -> bool {
        let log = self.log.as_ref();
        log.is_some_and(|log| log.unsynced_bytes() > UNSYNCED_BYTES_MAX)
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
            None if self.closed => Err(Error::Closed),
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

fn offset(position: u64) -> Offset {
    Offset(i64::try_from(position).unwrap_or(i64::MAX))
}

fn position(offset: Offset) -> u64 {
    u64::try_from(offset.0).unwrap_or(0)
}
