//! Opening a queue's log: at a start, and again after the disk failed.
//!
//! At a start the whole log is replayed: persistent messages without a settlement are what the queue
//! has. After a failed sync the queue is still in memory, and what the log holds behind its recovery
//! point is in doubt: the system may show bytes there that never reached the disk. So that part is read
//! back, cut off and written again; only a sync of the new bytes says that they are safe. What was
//! confirmed lies before the recovery point, since it is moved before a confirm leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use commitlog::{Log, Shutdown};
use machine::queue::NEVER;
use model::Offset;
use model::batch::{self, Record};

use super::record::{Entry, Unwritten};
use super::{Error, READ_BYTES, Store, offset, position};
use crate::queue::message::Message;

impl Store {
    /// Opens what there is; the messages are those to be restored, in order. After an error it can be
    /// tried again.
    pub(crate) fn open(&mut self) -> Result<Vec<machine::queue::Message>, Error> {
        let mut messages = Vec::new();
        if self.config.dir.exists() {
            let log = self.open_log()?;
            messages = replay(&log)?;
            self.next = position(log.end_offset());
            for message in &messages {
                self.live.add(message.position);
            }
            self.log = Some(log);
        }
        self.closed = false;
        Ok(messages)
    }

    /// Opens the log anew after a failure. `needed` are the positions whose bodies must be readable; those
    /// of them in doubt are written again at the next append. After an error it can be tried again.
    pub(crate) fn reopen(
        &mut self,
        now_ms: i64,
        needed: impl Iterator<Item = u64>,
    ) -> Result<(), Error> {
        self.log = None;
        self.closed = true;
        self.forget_ahead();
        self.config.opened_after = Shutdown::Unclean;
        if self.config.dir.exists() {
            let mut log = self.open_log()?;
            let sure = log.reader().synced_offset();
            self.keep_doubtful(&log, position(sure), now_ms, needed)?;
            log.truncate_to(sure)?;
            self.log = Some(log);
        }
        self.closed = false;
        Ok(())
    }

    /// Gathers what lies at `sure` and behind to be written again.
    fn keep_doubtful(
        &mut self,
        log: &Log,
        sure: u64,
        now_ms: i64,
        needed: impl Iterator<Item = u64>,
    ) -> Result<(), Error> {
        let needed = needed.map(|position| self.place(position));
        let needed: BTreeSet<u64> = needed.filter(|at| *at >= sure).collect();
        let unwritten = self.unwritten.iter();
        let mut again: BTreeMap<u64, (i64, Arc<Message>)> = unwritten
            .map(|u| (u.at, (u.time_ms, u.message.clone())))
            .collect();
        let mut settled: BTreeSet<u64> = self.settled.iter().copied().collect();
        scan(log, offset(sure), |record, entry| match entry {
            Entry::Message(message) => {
                let at = position(record.offset);
                if needed.contains(&at) {
                    again
                        .entry(at)
                        .or_insert_with(|| (record.timestamp, Arc::new(message)));
                }
            }
            Entry::Settled(positions) => settled.extend(positions),
        })?;
        for at in needed {
            if let Some(kept) = self.memory.get(&at).filter(|kept| kept.logged) {
                again
                    .entry(at)
                    .or_insert_with(|| (now_ms, kept.message.clone()));
            }
        }
        // What lies before is from a try that knew of less: it is on the disk.
        let again = again.split_off(&sure).into_iter();
        self.unwritten = again
            .map(|(at, (time_ms, message))| Unwritten {
                at,
                time_ms,
                message,
            })
            .collect();
        self.settled = settled.into_iter().collect();
        Ok(())
    }
}

/// Every entry from `from` on, in order.
fn scan(log: &Log, from: Offset, mut each: impl FnMut(&Record, Entry)) -> Result<(), Error> {
    let mut from = from.max(log.start_offset());
    while from < log.end_offset() {
        let mut last = from;
        for run in log.read(from, READ_BYTES)? {
            for batch in batch::split(run)? {
                last = batch.header.next_offset();
                for record in batch.records() {
                    let record = record?;
                    each(&record, Entry::parse(&record)?);
                }
            }
        }
        if last <= from {
            break;
        }
        from = last;
    }
    Ok(())
}

/// Persistent messages without a settlement.
fn replay(log: &Log) -> Result<Vec<machine::queue::Message>, Error> {
    let mut messages = BTreeMap::new();
    scan(log, log.start_offset(), |record, entry| match entry {
        Entry::Message(message) => {
            if message.persistent {
                let message = restored(record, &message);
                messages.insert(message.position, message);
            }
        }
        Entry::Settled(positions) => {
            for position in positions {
                messages.remove(&position);
            }
        }
    })?;
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
