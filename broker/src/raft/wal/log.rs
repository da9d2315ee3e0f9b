//! What is live of one group: which entries there are and where, the vote, what was purged.
//!
//! Recent payloads are kept in memory for replication; older ones are read back from their file.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::super::GroupId;
use super::super::codec;
use super::super::types::{Entry, LogId, Vote, log_id, term};
use super::Files;
use super::record::{Kind, Record};

/// Payload bytes of one group kept in memory once they are on disk.
const CACHED_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, Default)]
pub(in crate::raft) struct Log {
    vote: Option<Vote>,
    purged: Option<LogId>,
    /// Without gaps, in the order of their indexes.
    slots: VecDeque<Slot>,
    /// Slots before this one have had their payloads dropped from memory.
    cached_from: u64,
    cached_bytes: usize,
    bytes: u64,
}

#[derive(Debug)]
struct Slot {
    log_id: LogId,
    kind: Kind,
    len: usize,
    payload: Option<Bytes>,
    /// `None` until it is on disk.
    at: Option<Position>,
}

/// Where a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) file: u64,
    pub(super) offset: u64,
}

impl Log {
    pub(in crate::raft) fn vote(&self) -> Option<Vote> {
        self.vote
    }

    pub(in crate::raft) fn set_vote(&mut self, vote: Vote) {
        self.vote = Some(vote);
    }

    pub(in crate::raft) fn purged(&self) -> Option<LogId> {
        self.purged
    }

    /// The last entry, or what was purged last.
    pub(in crate::raft) fn last(&self) -> Option<LogId> {
        self.slots.back().map(|slot| slot.log_id).or(self.purged)
    }

    /// Payload bytes of all live entries.
    pub(in crate::raft) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn first_index(&self) -> u64 {
        self.slots.front().map_or(0, |slot| slot.log_id.index)
    }

    fn position_of(&self, index: u64) -> Option<usize> {
        let at = usize::try_from(index.checked_sub(self.first_index())?).ok()?;
        (at < self.slots.len()).then_some(at)
    }

    /// Takes a new entry. Refused when it would leave a gap.
    pub(in crate::raft) fn push(
        &mut self,
        log_id: LogId,
        kind: Kind,
        payload: Bytes,
    ) -> io::Result<()> {
        let len = payload.len();
        self.insert(Slot {
            log_id,
            kind,
            len,
            payload: Some(payload),
            at: None,
        })
    }

    fn insert(&mut self, slot: Slot) -> io::Result<()> {
        let expected = self
            .slots
            .back()
            .map(|last| last.log_id.index + 1)
            .or_else(|| self.purged.map(|purged| purged.index + 1));
        if expected.is_some_and(|expected| expected != slot.log_id.index) {
            return Err(io::Error::other(format!(
                "entry {} does not follow the log, whose next index is {expected:?}",
                slot.log_id
            )));
        }
        if slot.payload.is_some() {
            self.cached_bytes += slot.len;
        } else {
            self.cached_from = slot.log_id.index + 1;
        }
        self.bytes += slot.len as u64;
        self.slots.push_back(slot);
        Ok(())
    }

    /// Drops entries from `index` on.
    pub(in crate::raft) fn truncate_from(&mut self, index: u64) {
        while self
            .slots
            .back()
            .is_some_and(|last| last.log_id.index >= index)
        {
            if let Some(slot) = self.slots.pop_back() {
                self.forget(&slot);
            }
        }
    }

    /// Drops entries up to `upto`, which the log need not have.
    pub(in crate::raft) fn purge(&mut self, upto: LogId) {
        if self.purged.is_some_and(|purged| purged.index >= upto.index) {
            return;
        }
        while self
            .slots
            .front()
            .is_some_and(|first| first.log_id.index <= upto.index)
        {
            if let Some(slot) = self.slots.pop_front() {
                self.forget(&slot);
            }
        }
        self.purged = Some(upto);
    }

    fn forget(&mut self, slot: &Slot) {
        self.bytes -= slot.len as u64;
        if slot.payload.is_some() {
            self.cached_bytes -= slot.len;
        }
    }

    /// Where the entries of `range` that are there can be had, stopping once `bytes_max` is exceeded but
    /// after one at least.
    pub(in crate::raft) fn find(
        &self,
        files: &Files,
        range: Range<u64>,
        bytes_max: usize,
    ) -> io::Result<Vec<Found>> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        let start = range.start.max(self.first_index());
        for slot in self
            .slots
            .iter()
            .skip(self.position_of(start).unwrap_or(usize::MAX))
        {
            if slot.log_id.index >= range.end || (bytes > 0 && bytes + slot.len > bytes_max) {
                break;
            }
            bytes += slot.len.max(1);
            entries.push(slot.find(files)?);
        }
        Ok(entries)
    }

    /// An entry reached the disk. It may have been truncated meanwhile.
    pub(super) fn placed(&mut self, index: u64, entry_term: u64, at: Position) {
        let Some(slot) = self
            .position_of(index)
            .and_then(|i| self.slots.get_mut(i))
            .filter(|slot| term(&slot.log_id) == entry_term)
        else {
            return;
        };
        slot.at = Some(at);
        self.evict();
    }

    fn evict(&mut self) {
        while self.cached_bytes > CACHED_BYTES_MAX {
            let from = self.cached_from.max(self.first_index());
            let Some(slot) = self
                .position_of(from)
                .and_then(|i| self.slots.get_mut(i))
                .filter(|slot| slot.at.is_some())
            else {
                return;
            };
            if slot.payload.take().is_some() {
                self.cached_bytes -= slot.len;
            }
            self.cached_from = from + 1;
        }
    }

    /// The oldest file that holds a live entry.
    pub(super) fn oldest_file(&self) -> Option<u64> {
        self.slots
            .iter()
            .filter_map(|slot| slot.at)
            .map(|at| at.file)
            .min()
    }

    /// The live entries of one file, to be written again.
    pub(super) fn find_in(&self, file: u64, files: &Files) -> io::Result<Vec<Found>> {
        self.slots
            .iter()
            .filter(|slot| slot.at.is_some_and(|at| at.file == file))
            .map(|slot| slot.find(files))
            .collect()
    }

    /// What the disk must say, beside the live entries on it, before older files may go. Entries behind
    /// the last live one on disk were truncated.
    pub(super) fn state_records(&self, group: GroupId) -> Vec<Record> {
        let vote = self.vote.map(|vote| Record::vote(group, &vote));
        let purged = self.purged.map(|upto| Record::purge(group, &upto));
        let on_disk = self.slots.iter().rev().find(|slot| slot.at.is_some());
        let last = on_disk.map(|slot| slot.log_id).or(self.purged);
        let next = last.map_or(0, |last| last.index + 1);
        vote.into_iter()
            .chain(purged)
            .chain([Record::truncate(group, next)])
            .collect()
    }
}

/// A log being read back. Records may occur twice, entries may come after the purge that covers them,
/// and old ones that were written again come after newer ones.
#[derive(Debug, Default)]
pub(super) struct Replay {
    vote: Option<Vote>,
    purged: Option<LogId>,
    slots: BTreeMap<u64, Slot>,
}

impl Replay {
    pub(super) fn take(&mut self, record: &Record, at: Position) {
        match record.kind {
            Kind::Blank | Kind::Normal | Kind::Membership => {
                let index = record.a;
                if self.purged.is_none_or(|purged| index > purged.index) {
                    let slot = Slot {
                        log_id: log_id(record.b, index),
                        kind: record.kind,
                        len: record.payload.len(),
                        payload: None,
                        at: Some(at),
                    };
                    self.slots.insert(index, slot);
                }
            }
            Kind::Vote => {
                let vote = record.as_vote();
                if self.vote.is_none_or(|known| known <= vote) {
                    self.vote = Some(vote);
                }
            }
            Kind::Truncate => {
                self.slots.split_off(&record.a);
            }
            Kind::Purge => {
                if self.purged.is_none_or(|purged| purged.index < record.a) {
                    self.purged = Some(log_id(record.b, record.a));
                    self.slots = self.slots.split_off(&(record.a + 1));
                }
            }
            Kind::End => {}
        }
    }

    /// Refused when an entry is missing.
    pub(super) fn finish(self) -> io::Result<Log> {
        let mut log = Log {
            vote: self.vote,
            purged: self.purged,
            ..Log::default()
        };
        if let Some(first) = self.slots.keys().next().copied()
            && first != self.purged.map_or(0, |purged| purged.index + 1)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the log begins at entry {first} but was purged up to {:?}",
                    self.purged
                ),
            ));
        }
        for slot in self.slots.into_values() {
            log.insert(slot)?;
        }
        Ok(log)
    }
}

impl Slot {
    fn find(&self, files: &Files) -> io::Result<Found> {
        let place = match &self.payload {
            Some(payload) => Place::Memory(payload.clone()),
            None => {
                let at = self
                    .at
                    .ok_or_else(|| io::Error::other("an entry is neither in memory nor on disk"))?;
                let file = files.read().get(&at.file).cloned();
                let file =
                    file.ok_or_else(|| io::Error::other(format!("log file {} is gone", at.file)))?;
                Place::File {
                    file,
                    offset: at.offset,
                    len: self.len,
                }
            }
        };
        Ok(Found {
            log_id: self.log_id,
            kind: self.kind,
            place,
        })
    }
}

/// An entry that was live when it was looked for. A file that a reader holds is not used again.
#[derive(Debug)]
pub(in crate::raft) struct Found {
    log_id: LogId,
    kind: Kind,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
        len: usize,
    },
}

impl Found {
    /// Whether to load it reads no file.
    pub(in crate::raft) fn in_memory(&self) -> bool {
        matches!(self.place, Place::Memory(_))
    }

    pub(in crate::raft) fn load(self) -> io::Result<Entry> {
        let payload = codec::decode_payload(self.kind.payload(), self.place.load()?)?;
        Ok(Entry {
            log_id: self.log_id,
            payload,
        })
    }

    /// As the record that it was written as.
    pub(super) fn record(self, group: GroupId) -> io::Result<Record> {
        Ok(Record {
            group,
            kind: self.kind,
            a: self.log_id.index,
            b: term(&self.log_id),
            payload: self.place.load()?,
        })
    }
}

impl Place {
    fn load(self) -> io::Result<Bytes> {
        match self {
            Self::Memory(payload) => Ok(payload),
            Self::File { file, offset, len } => {
                let mut payload = BytesMut::zeroed(len);
                file.read_exact_at(&mut payload, offset)?;
                Ok(payload.freeze())
            }
        }
    }
}

impl Kind {
    /// The payload kind of an entry record.
    fn payload(self) -> u8 {
        match self {
            Self::Normal => codec::NORMAL,
            Self::Membership => codec::MEMBERSHIP,
            _ => codec::BLANK,
        }
    }

    pub(in crate::raft) fn of_payload(kind: u8) -> Self {
        match kind {
            codec::NORMAL => Self::Normal,
            codec::MEMBERSHIP => Self::Membership,
            _ => Self::Blank,
        }
    }
}

impl Record {
    pub(in crate::raft) fn vote(group: GroupId, vote: &Vote) -> Self {
        Self {
            group,
            kind: Kind::Vote,
            a: vote.leader_id.term,
            b: vote.leader_id.voted_for << 1 | u64::from(vote.committed),
            payload: Bytes::new(),
        }
    }

    fn as_vote(&self) -> Vote {
        if self.b & 1 == 1 {
            Vote::new_committed(self.a, self.b >> 1)
        } else {
            Vote::new(self.a, self.b >> 1)
        }
    }

    pub(in crate::raft) fn purge(group: GroupId, upto: &LogId) -> Self {
        Self {
            group,
            kind: Kind::Purge,
            a: upto.index,
            b: term(upto),
            payload: Bytes::new(),
        }
    }

    pub(in crate::raft) fn truncate(group: GroupId, from: u64) -> Self {
        Self {
            group,
            kind: Kind::Truncate,
            a: from,
            b: 0,
            payload: Bytes::new(),
        }
    }
}
