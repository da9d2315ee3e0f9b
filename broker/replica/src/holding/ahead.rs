//! Records that are due, taken out of their batches before their turn.
//!
//! Those due one after the other may lie in many batches, and those of one batch may be due over many times:
//! whatever is due soon is taken along from a batch that is gone through, in copies, so that no batch is kept
//! in memory for a record of it. The last batch stays, to go on in it.

use std::collections::BTreeMap;

use bytes::Bytes;
use commitlog::{Error, Reader};
use model::{
    Offset,
    batch::{self, Builder, HELD_OFFSET, Header, Record, Records},
};

use super::entry::Entry;

#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// As many as are due soon.
    records: BTreeMap<Entry, Record>,
    last: Option<Walk>,
}

/// The way through a batch.
#[derive(Debug)]
struct Walk {
    header: Header,
    size_bytes: usize,
    /// From the first one on.
    all: Records,
    /// From `next` on.
    rest: Records,
    next: Offset,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    All,
    /// There is more to read than may be in one go.
    Some,
    /// At a place is not the record that was to wait there.
    Other,
}

impl Ahead {
    pub(super) fn has(&self, entries: &[Entry]) -> bool {
        entries.iter().all(|entry| self.records.contains_key(entry))
    }

    /// Goes through the batches that `due` are in, for no more than `left` bytes and one batch, and takes
    /// along what is due `soon`.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(super) fn fetch(
        &mut self,
        reader: &Reader,
        due: &[Entry],
        soon: &[Entry],
        left: &mut usize,
    ) -> Result<Fetched, Error> {
        let wanted: BTreeMap<Offset, Entry> = soon
            .iter()
            .chain(due)
            .map(|entry| (entry.offset, *entry))
            .collect();
        self.records
            .retain(|entry, _| wanted.get(&entry.offset) == Some(entry));
        let mut missing: Vec<Entry> = due.to_vec();
        missing.sort_unstable_by_key(|entry| entry.offset);
        for entry in missing {
            if self.records.contains_key(&entry) {
                continue;
            }
            if *left == 0 {
                return Ok(Fetched::Some);
            }
            self.take_along(reader, entry.offset, &wanted, left)?;
            if !self.records.contains_key(&entry) {
                return Ok(Fetched::Other);
            }
        }
        Ok(Fetched::All)
    }

    /// Takes what is wanted out of the batch that has `offset`, and goes no farther than that. Nothing is taken
    /// of a batch in which nothing waits.
    fn take_along(
        &mut self,
        reader: &Reader,
        offset: Offset,
        wanted: &BTreeMap<Offset, Entry>,
        left: &mut usize,
    ) -> Result<(), Error> {
        let known = self.last.take().filter(|walk| walk.covers(offset));
        let is_known = known.is_some();
        let Some(mut walk) = known.map_or_else(|| Walk::of(reader, offset), |w| Ok(Some(w)))?
        else {
            return Ok(());
        };
        let mut lacking = wanted
            .range(walk.header.base_offset..walk.header.next_offset())
            .filter(|(_, entry)| !self.records.contains_key(entry))
            .map(|(offset, _)| *offset);
        let Some(first) = lacking.next() else {
            return Ok(());
        };
        let last = lacking.next_back().unwrap_or(first);
        let again = first < walk.next;
        if again {
            walk.begin();
        }
        if again || !is_known {
            *left = left.saturating_sub(walk.size_bytes);
        }
        while walk.next <= last
            && let Some(record) = walk.rest.next()
        {
            let record = record?;
            walk.next = Offset(record.offset.0.saturating_add(1));
            if let Some(entry) = wanted.get(&record.offset)
                && *entry == Entry::of(&record)
            {
                self.records.insert(*entry, copy(&record));
            }
        }
        self.last = Some(walk);
        Ok(())
    }

    /// A batch of these, which are not taken along any longer; `None` when there are none.
    pub(super) fn assemble(&mut self, due: &[Entry]) -> Option<Bytes> {
        let mut builder = Builder::default().handed_over();
        for entry in due {
            let Some(record) = self.records.remove(entry) else {
                continue;
            };
            let place = entry.offset.to_string();
            let mut headers: Vec<(&[u8], Option<&[u8]>)> = record
                .headers
                .iter()
                .filter(|(key, _)| key != HELD_OFFSET)
                .map(|(key, value)| (key.as_ref(), value.as_deref()))
                .collect();
            headers.push((HELD_OFFSET.as_bytes(), Some(place.as_bytes())));
            // It comes into being when it is due: retention, lookups by time and lag go by that.
            builder.push_with_headers(
                record.timestamp.max(entry.due_ms),
                record.key.as_deref(),
                record.value.as_deref(),
                &headers,
            );
        }
        builder.build()
    }

    #[cfg(test)]
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }
}

// === impl Walk ===

impl Walk {
    /// Through the held batch that has `offset`; `None` where there is none.
    fn of(reader: &Reader, offset: Offset) -> Result<Option<Self>, Error> {
        if offset < reader.start_offset() || offset >= reader.end_offset() {
            return Ok(None);
        }
        for run in reader.read_until(offset, reader.end_offset(), 1)? {
            for batch in batch::split(run)? {
                let walk = Self {
                    header: batch.header,
                    size_bytes: batch.bytes.len(),
                    all: batch.records(),
                    rest: batch.records(),
                    next: batch.header.base_offset,
                };
                if batch.header.is_held() && walk.covers(offset) {
                    return Ok(Some(walk));
                }
            }
        }
        Ok(None)
    }

    fn covers(&self, offset: Offset) -> bool {
        (self.header.base_offset..self.header.next_offset()).contains(&offset)
    }

    fn begin(&mut self) {
        self.rest = self.all.clone();
        self.next = self.header.base_offset;
    }
}

/// What does not keep the batch in memory.
fn copy(record: &Record) -> Record {
    let own = |bytes: &Option<Bytes>| bytes.as_deref().map(Bytes::copy_from_slice);
    Record {
        offset: record.offset,
        timestamp: record.timestamp,
        key: own(&record.key),
        value: own(&record.value),
        headers: record
            .headers
            .iter()
            .map(|(key, value)| (Bytes::copy_from_slice(key), own(value)))
            .collect(),
    }
}
