//! One group's log as openraft sees it: the index in memory, the records in the node's log.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use openraft::OptionalSend;
use openraft::storage::{IOFlushed, LogState, RaftLogReader, RaftLogStorage};
use parking_lot::Mutex;

use super::GroupId;
use super::codec;
use super::types::{Entry, LogId, TypeConfig, Vote, term};
use super::wal::log::Log;
use super::wal::{Kind, Record, Wal};

#[cfg(test)]
mod tests;

/// What one read for replication returns at most, one entry at least.
const READ_BYTES_MAX: usize = 512 << 10;

#[derive(Clone)]
pub(super) struct Store {
    group: GroupId,
    log: Arc<Mutex<Log>>,
    wal: Wal,
}

impl Store {
    pub(super) fn open(group: GroupId, wal: Wal) -> Self {
        Self {
            group,
            log: wal.log(group),
            wal,
        }
    }

    pub(super) fn log(&self) -> &Arc<Mutex<Log>> {
        &self.log
    }
}

impl RaftLogReader<TypeConfig> for Store {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, io::Error> {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => u64::MAX,
        };
        // Under the lock: the files that live entries are in are kept for as long as it is held.
        self.log
            .lock()
            .read(self.wal.files(), start..end, usize::MAX)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        Ok(self.log.lock().vote())
    }

    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<Entry>, io::Error> {
        self.log
            .lock()
            .read(self.wal.files(), start..end, READ_BYTES_MAX)
    }
}

impl RaftLogStorage<TypeConfig> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, io::Error> {
        let log = self.log.lock();
        Ok(LogState {
            last_purged_log_id: log.purged(),
            last_log_id: log.last(),
        })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        self.log.lock().set_vote(*vote);
        self.wal
            .write_durably(vec![Record::vote(self.group, vote)])
            .await
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: IOFlushed<TypeConfig>,
    ) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut records = Vec::new();
        {
            let mut log = self.log.lock();
            for entry in entries {
                let (kind, payload) = codec::encode_payload(&entry.payload);
                let kind = Kind::of_payload(kind);
                log.push(entry.log_id, kind, payload.clone())?;
                records.push(Record {
                    group: self.group,
                    kind,
                    a: entry.log_id.index,
                    b: term(&entry.log_id),
                    payload,
                });
            }
        }
        self.wal.write(
            records,
            Box::new(move |outcome| callback.io_completed(outcome)),
        );
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> Result<(), io::Error> {
        let from = last.map_or(0, |last| last.index + 1);
        self.log.lock().truncate_from(from);
        self.wal
            .write_durably(vec![Record::truncate(self.group, from)])
            .await
    }

    async fn purge(&mut self, upto: LogId) -> Result<(), io::Error> {
        self.log.lock().purge(upto);
        // Nothing waits for it: a purge that is lost is done again.
        self.wal
            .write(vec![Record::purge(self.group, &upto)], Box::new(|_| ()));
        Ok(())
    }
}
