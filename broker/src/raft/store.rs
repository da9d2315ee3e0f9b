//! One group's log as openraft sees it: the index in memory, the records in the node's log.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use openraft::OptionalSend;
use openraft::storage::{IOFlushed, LogState, RaftLogReader, RaftLogStorage};
use parking_lot::Mutex;

use super::GroupId;
use super::codec;
use super::rejoin::{Part, Standing};
use super::types::{Entry, LogId, TypeConfig, Vote, term};
use super::wal::log::{Found, Log};
use super::wal::room::Room;
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

    /// Whether this broker never promised anything in the group, as far as its log tells.
    pub(super) fn is_empty(&self) -> bool {
        self.log.lock().vote().is_none()
    }

    /// The last entry, which may not be durable yet.
    pub(super) fn last(&self) -> Option<LogId> {
        self.log.lock().last()
    }

    /// What this broker says of itself to other voters.
    pub(super) fn standing(&self, part: Part, original: bool) -> Standing {
        let has_room = *self.wal.room().borrow() == Room::Ample;
        let log = self.log.lock();
        Standing {
            remembers: part == Part::Voter,
            original,
            has_room,
            term: log.vote().map_or(0, |vote| vote.leader_id.term),
            last: log.last(),
        }
    }

    /// Waits until all that was written before is durable.
    pub(super) async fn sync(&self) -> io::Result<()> {
        self.wal.write_durably(Vec::new()).await
    }

    /// Entries of `range`, of about `bytes_max` bytes. What is no longer in memory is read from the
    /// files by a thread for it, and without the lock, which every write of the group needs.
    async fn read(&self, range: Range<u64>, bytes_max: usize) -> io::Result<Vec<Entry>> {
        let found = self.log.lock().find(self.wal.files(), range, bytes_max)?;
        if found.iter().all(Found::in_memory) {
            return found.into_iter().map(Found::load).collect();
        }
        tokio::task::spawn_blocking(move || found.into_iter().map(Found::load).collect())
            .await
            .map_err(io::Error::other)?
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
        self.read(start..end, usize::MAX).await
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        Ok(self.log.lock().vote())
    }

    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<Entry>, io::Error> {
        self.read(start..end, READ_BYTES_MAX).await
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
