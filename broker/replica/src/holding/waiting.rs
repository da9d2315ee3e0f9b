//! The records of a log that wait for their time, in the order in which they are due.
//!
//! In memory are some tens of thousands of entries and a little of each file; the other entries are in
//! files of half as many, so ten million that wait make some hundred files. Nothing is looked at but
//! what is due next.
//!
//! What was handed over is remembered until the batch that it went into can be taken back no more: a log
//! that is cut has it waiting again.

use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    path::{Path, PathBuf},
};

use model::Offset;

use super::{entry::Entry, run::Run};

/// Entries in memory; beyond, the half that is due later goes to a file.
pub(super) const MEMORY_MAX: usize = if cfg!(test) { 8 } else { 1 << 16 };

#[derive(Debug)]
pub(super) struct Waiting {
    directory: PathBuf,
    pub(super) memory: BTreeSet<Entry>,
    pub(super) runs: Vec<Run>,
    pub(super) next_run: u64,
    pub(super) handed: VecDeque<Handed>,
    /// Entries that wait, and bytes of their records.
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Everything handed over by batches below stays so.
    pub(super) settled: Offset,
    /// Files that nobody reads, but the list of files on the disk may name them.
    retired: Vec<PathBuf>,
}

/// What went into one batch.
#[derive(Debug)]
pub(super) struct Handed {
    /// Base offset of the batch.
    pub(super) at: Offset,
    pub(super) entries: Vec<Entry>,
}

/// What was handed over is not known that far back.
#[derive(Debug)]
pub(super) struct Forgotten;

impl Waiting {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            memory: BTreeSet::new(),
            runs: Vec::new(),
            next_run: 0,
            handed: VecDeque::new(),
            count: 0,
            bytes: 0,
            settled: Offset(0),
            retired: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.handed.is_empty()
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        if self.memory.insert(entry) {
            self.count += 1;
            self.bytes = self.bytes.saturating_add(entry.size_bytes.into());
        }
        if self.memory.len() > MEMORY_MAX {
            self.spill();
        }
    }

    fn spill(&mut self) {
        let Some(middle) = self.memory.iter().nth(self.memory.len() / 2).copied() else {
            return;
        };
        let mut far = self.memory.split_off(&middle);
        let entries: Vec<Entry> = far.iter().copied().collect();
        match Run::write(&self.directory, self.next_run, &entries) {
            Ok(run) => {
                self.next_run += 1;
                self.runs.push(run);
            }
            Err(error) => {
                // Memory keeps it meanwhile: on such a disk the log does not grow either.
                tracing::warn!(directory = %self.directory.display(), %error, "what waits for its time stays in memory");
                self.memory.append(&mut far);
            }
        }
    }

    /// What is due next, and in which of the files it is.
    fn next(&mut self) -> io::Result<Option<(Entry, Option<usize>)>> {
        let mut next = self.memory.first().map(|entry| (*entry, None));
        for (number, run) in self.runs.iter_mut().enumerate() {
            if let Some(entry) = run.first()?
                && next.is_none_or(|(known, _)| entry < known)
            {
                next = Some((entry, Some(number)));
            }
        }
        Ok(next)
    }

    /// When something is due next, in milliseconds since 1970.
    pub(super) fn next_due(&mut self) -> io::Result<Option<i64>> {
        Ok(self.next()?.map(|(entry, _)| entry.due_ms))
    }

    /// Takes the next one off, if it is not beyond `upto`.
    fn take(&mut self, upto: impl Fn(&Entry) -> bool) -> io::Result<Option<Entry>> {
        let Some((entry, place)) = self.next()?.filter(|(entry, _)| upto(entry)) else {
            return Ok(None);
        };
        match place {
            None => {
                self.memory.remove(&entry);
            }
            Some(number) => {
                if let Some(run) = self.runs.get_mut(number) {
                    run.take();
                    if run.is_empty() {
                        let path = self.runs.swap_remove(number).into_path();
                        self.retired.push(path);
                    }
                }
            }
        }
        Ok(Some(entry))
    }

    /// What is due at `now_ms`, in order; the first, then no more than so many records and bytes. It waits on.
    pub(super) fn due(
        &mut self,
        now_ms: i64,
        records: usize,
        bytes: usize,
    ) -> io::Result<Vec<Entry>> {
        let mut due = Vec::new();
        let mut left = bytes;
        while due.len() < records {
            let fits = |entry: &Entry| due.is_empty() || entry.size_bytes as usize <= left;
            let taken = self.take(|entry| entry.due_ms <= now_ms && fits(entry));
            let Some(entry) = taken.inspect_err(|_| self.memory.extend(&due))? else {
                break;
            };
            left = left.saturating_sub(entry.size_bytes as usize);
            due.push(entry);
        }
        self.memory.extend(&due);
        Ok(due)
    }

    /// The batch at `at` has everything that waits up to `last`, a time and an offset.
    pub(super) fn hand_over(&mut self, last: (i64, Offset), at: Offset) -> io::Result<()> {
        let mut entries = Vec::new();
        while let Some(entry) = self.take(|entry| (entry.due_ms, entry.offset) <= last)? {
            self.uncount(entry);
            entries.push(entry);
        }
        if !entries.is_empty() {
            self.handed.push_back(Handed { at, entries });
        }
        Ok(())
    }

    /// Forgets what waits at offsets below `start`, of `entries`: the log has it no more.
    pub(super) fn forget_before(&mut self, start: Offset, entries: &[Entry]) {
        for entry in entries.iter().filter(|entry| entry.offset < start) {
            if self.memory.remove(entry) {
                self.uncount(*entry);
            }
        }
    }

    fn uncount(&mut self, entry: Entry) {
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(entry.size_bytes.into());
    }

    /// Batches below `upto` can be taken back no more.
    pub(super) fn settle(&mut self, upto: Offset) {
        while let Some(handed) = self.handed.pop_front_if(|handed| handed.at < upto) {
            self.settled = Offset(handed.at.0.saturating_add(1));
        }
    }

    /// Records handed over and not settled.
    pub(super) fn unsettled(&self) -> usize {
        self.handed.iter().map(|handed| handed.entries.len()).sum()
    }

    /// The log was cut and ends at `end` now.
    pub(super) fn cut(&mut self, end: Offset) -> io::Result<Result<(), Forgotten>> {
        if end < self.settled {
            return Ok(Err(Forgotten));
        }
        let mut back = Vec::new();
        while let Some(handed) = self.handed.pop_back_if(|handed| handed.at >= end) {
            back.extend(handed.entries);
        }
        self.keep(Offset(i64::MIN), end)?;
        for entry in back {
            if entry.offset < end {
                self.insert(entry);
            }
        }
        Ok(Ok(()))
    }

    /// The log was deleted up to `start` when it was not looked at: what lay there had been handed over.
    pub(super) fn start_at(&mut self, start: Offset) -> io::Result<()> {
        self.handed.retain(|handed| handed.at >= start);
        self.keep(start, Offset(i64::MAX))
    }

    /// Forgets what waits below `start` and from `end` on.
    fn keep(&mut self, start: Offset, end: Offset) -> io::Result<()> {
        let stays = |entry: &Entry| (start..end).contains(&entry.offset);
        let gone: Vec<Entry> = self.memory.extract_if(.., |e| !stays(e)).collect();
        for entry in gone {
            self.uncount(entry);
        }
        for run in std::mem::take(&mut self.runs) {
            if run.offsets.0 >= start && run.offsets.1 < end {
                self.runs.push(run);
                continue;
            }
            let (stay, gone): (Vec<_>, Vec<_>) = run.rest()?.into_iter().partition(stays);
            for entry in gone {
                self.uncount(entry);
            }
            self.retired.push(run.into_path());
            if !stay.is_empty() {
                let run = Run::write(&self.directory, self.next_run, &stay)?;
                self.next_run += 1;
                self.runs.push(run);
            }
        }
        Ok(())
    }

    /// What waits, or may wait again, lies here or behind; `None` when nothing does.
    pub(super) fn oldest(&self) -> Option<Offset> {
        let memory = self.memory.iter().map(|entry| entry.offset);
        let handed = self.handed.iter().flat_map(|handed| &handed.entries);
        memory
            .chain(self.runs.iter().map(|run| run.offsets.0))
            .chain(handed.map(|entry| entry.offset))
            .min()
    }

    /// What is on the disk names no file but the present ones.
    pub(super) fn remove_retired(&mut self) {
        for path in self.retired.drain(..) {
            let _left = fs::remove_file(path);
        }
    }
}
