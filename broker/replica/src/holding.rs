//! Records with a time of delivery of their own: they wait in the log, hidden, and the leader hands them over.
//!
//! A batch with such a record is stored as any other, so it is replicated, acknowledged, recognised when it
//! comes again and cut like any other; it only says that consumers are not to see it ([`model::batch::hold`]).
//! When a record is due, the leader appends it once more, in a batch that says so, with the offset where it
//! waited. What waits is therefore a function of the log alone: held batches add to it, and a batch of what was
//! handed over takes away everything up to its last record, in the order of times and offsets. Whichever
//! replica leads, and wherever a crash or a cut has ended its log, nothing is missing and nothing comes twice,
//! since no batch can be in the log without what it says having happened.
//!
//! ```text
//! log:      a  [b 12:00]  c  [d 11:00]  e   d'   f   b'        [..] hidden from consumers
//! waiting:       b        b   b d      b d  b    b   -
//! ```
//! Records of a held batch that name no time to come are handed over at once. Nothing that waits is deleted, nor
//! what lies behind it.

mod ahead;
mod entry;
mod manifest;
mod run;
#[cfg(test)]
mod tests;
mod waiting;

use std::path::Path;

use bytes::Bytes;
use commitlog::{Error, Reader};
use machine::replica::{Ack, Admission, Token};
use model::{
    Offset,
    batch::{self, Batch, HELD_OFFSET, Header, Record},
};

use crate::{Effect, Local};
use ahead::{Ahead, Fetched};
use entry::Entry;
use manifest::Found;
use waiting::Waiting;

/// Records, and bytes of them, that are handed over in one batch; a larger record comes alone.
const BATCH_RECORDS: usize = 1000;
const BATCH_BYTES: usize = 256 << 10;
/// Batches in one go, before others have their turn.
const BATCHES_MAX: usize = 8;
/// Records handed over that a crash may still take back; then that is waited for.
const UNSETTLED_MAX: usize = 1 << 16;
/// Milliseconds after which the system's clock is asked again although nothing is due yet.
const CLOCK_TRUSTED_MS: i64 = 60_000;
/// Milliseconds after which what could not be read is tried again.
const AGAIN_MS: i64 = 1000;
/// Bytes of the log that are read at once where all of it is looked for.
const READ_BYTES: usize = 1 << 20;
/// Bytes of held batches that are gone through in one go to hand over records of them; a larger batch alone.
const GO_BYTES_MAX: usize = 4 << 20;
/// Nobody waits for what a leader hands over.
const NOBODY: Token = Token::MAX;
const READING: &str = "read what waits in";
const NOTING: &str = "write down what waits in";

/// What of a log waits.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    /// `None` in a log that holds nothing.
    held: Option<Held>,
    /// When to look at the clock.
    wake_ms: Option<i64>,
    /// Of the log as it is: nothing when that was cut.
    ahead: Ahead,
}

#[derive(Debug)]
struct Held {
    waiting: Waiting,
    /// End of the part of the log that is in it.
    seen: Offset,
    /// Hidden batches lie below.
    hidden_upto: Offset,
    /// It could not be kept, and has to be found from the log.
    is_lost: bool,
}

impl Holding {
    /// What waits in the log in `directory`, of which nothing below `settled` will be cut.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn open(directory: &Path, reader: &Reader, settled: Offset) -> Result<Self, Error> {
        let found = manifest::load(directory).map_err(Error::io(READING, directory))?;
        let mut held = match found {
            Found::Nothing => return Ok(Self::default()),
            Found::Whole {
                waiting,
                seen,
                hidden_upto,
            } => Held {
                waiting,
                seen,
                hidden_upto,
                is_lost: false,
            },
            Found::NotWhole => {
                tracing::warn!(directory = %directory.display(), "what waits is not known and looked for in the log");
                Held {
                    is_lost: true,
                    ..Held::new(directory, reader.start_offset())
                }
            }
        };
        run::remove_others(directory, &held.waiting.runs);
        let end = reader.end_offset();
        if end < held.seen {
            // The log has lost its end. Other records may come there, of which what is written down must say
            // nothing.
            held.cut(end);
            held.store(directory)
                .map_err(Error::io(NOTING, directory))?;
        }
        held.find(directory, reader, settled)?;
        Ok(Self {
            held: Some(held),
            ..Self::default()
        })
    }

    /// The log may hold something.
    fn is_on(&self) -> bool {
        self.held.is_some()
    }

    pub(crate) fn next_look(&self) -> Option<i64> {
        self.wake_ms
    }

    /// What lies here and behind has to stay.
    pub(crate) fn oldest(&self) -> Option<Offset> {
        let held = self.held.as_ref()?;
        if held.is_lost {
            return Some(Offset(0));
        }
        held.waiting.oldest()
    }

    /// Before the log gets something to hold, which ends at `end` now.
    fn begin(&mut self, directory: &Path, end: Offset) -> Result<(), Error> {
        if self.held.is_none() {
            let mut held = Held::new(directory, end);
            held.store(directory)
                .map_err(Error::io(NOTING, directory))?;
            self.held = Some(held);
        }
        Ok(())
    }

    /// The log is about to be cut and to end at `end`. Other records may come there, of which what is written
    /// down must say nothing.
    pub(crate) fn cut(&mut self, directory: &Path, end: Offset) -> Result<(), Error> {
        self.ahead = Ahead::default();
        let Some(held) = &mut self.held else {
            return Ok(());
        };
        held.cut(end);
        held.store(directory).map_err(Error::io(NOTING, directory))
    }

    /// The log is about to be emptied.
    pub(crate) fn forget(&mut self, directory: &Path) -> Result<(), Error> {
        self.ahead = Ahead::default();
        let Some(held) = &mut self.held else {
            return Ok(());
        };
        held.is_lost = true;
        held.store(directory).map_err(Error::io(NOTING, directory))
    }

    /// The log is empty and begins anew at `start`.
    pub(crate) fn reset(&mut self, directory: &Path, start: Offset) {
        if let Some(held) = &mut self.held {
            *held = Held::new(directory, start);
            held.note_down(directory);
        }
    }

    /// This entry, of what was due just now, waits on.
    fn still_waits(&self, entry: &Entry) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| !held.is_lost && held.waiting.memory.contains(entry))
    }

    /// Writes down what is known. Waits for the disk.
    pub(crate) fn store(&mut self, directory: &Path, start: Offset) {
        let Some(held) = &mut self.held else {
            return;
        };
        if held.waiting.is_empty() && held.hidden_upto <= start && !held.is_lost {
            held.waiting.remove_retired();
            manifest::remove(directory);
            self.held = None;
            return;
        }
        held.note_down(directory);
    }
}

impl Held {
    fn new(directory: &Path, seen: Offset) -> Self {
        Self {
            waiting: Waiting::new(directory),
            seen,
            hidden_upto: Offset(0),
            is_lost: false,
        }
    }

    fn store(&mut self, directory: &Path) -> std::io::Result<()> {
        if self.is_lost {
            return manifest::spoil(directory);
        }
        manifest::store(directory, &mut self.waiting, self.seen, self.hidden_upto)
    }

    fn note_down(&mut self, directory: &Path) {
        // An older one is as good: more of the log is read then.
        if let Err(error) = self.store(directory) {
            tracing::warn!(directory = %directory.display(), %error, "what waits cannot be written down");
        }
    }

    fn cut(&mut self, end: Offset) {
        self.seen = self.seen.min(end);
        self.hidden_upto = self.hidden_upto.min(end);
        if !self.is_lost {
            self.is_lost = !matches!(self.waiting.cut(end), Ok(Ok(())));
        }
    }

    /// Reads what the log has beyond what is known: all of it where nothing is.
    fn find(&mut self, directory: &Path, reader: &Reader, settled: Offset) -> Result<(), Error> {
        if self.is_lost {
            *self = Self::new(directory, reader.start_offset());
            self.is_lost = true;
            run::remove_others(directory, &[]);
        }
        let (start, end) = (reader.start_offset(), reader.end_offset());
        if self.seen < start {
            let kept = self.waiting.start_at(start);
            kept.map_err(Error::io(READING, directory))?;
            self.seen = start;
        }
        while self.seen < end {
            let before = self.seen;
            for run in reader.read_until(self.seen, end, READ_BYTES)? {
                for batch in batch::split(run)? {
                    if batch.header.next_offset() > self.seen {
                        self.note(&batch)?;
                        self.waiting.settle(settled);
                        self.seen = batch.header.next_offset();
                    }
                }
            }
            if self.seen <= before {
                break;
            }
        }
        self.is_lost = false;
        Ok(())
    }

    /// The log has this batch.
    fn note(&mut self, batch: &Batch) -> Result<(), Error> {
        if batch.header.is_held() {
            self.hidden_upto = self.hidden_upto.max(batch.header.next_offset());
            for record in batch.records() {
                self.waiting.insert(Entry::of(&record?));
            }
        } else if batch.header.is_handed_over() {
            let mut last = None;
            for record in batch.records() {
                last = last.max(waited(&record?));
            }
            if let Some(last) = last {
                self.waiting
                    .hand_over(last, batch.header.base_offset)
                    .map_err(Error::io("read what waits for", "its time"))?;
            }
        }
        Ok(())
    }

    /// As [`Self::note`] of what was just appended.
    fn note_all(&mut self, batches: &[Bytes], end: Offset) {
        for bytes in batches {
            if self.is_lost || !claims(bytes) {
                continue;
            }
            let noted = Batch::parse(bytes)
                .map_err(Error::from)
                .and_then(|batch| self.note(&batch));
            if let Err(error) = noted {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "what waits is lost sight of and looked for in the log"
                );
                self.is_lost = true;
            }
        }
        self.seen = end;
    }
}

fn claims(batch: &[u8]) -> bool {
    Header::parse(batch).is_ok_and(|header| header.claims_delivery())
}

/// Time and offset under which a record waited that was handed over.
fn waited(record: &Record) -> Option<(i64, Offset)> {
    let mut named = record.headers.iter().filter(|(key, _)| key == HELD_OFFSET);
    let value = named.next_back()?.1.as_deref()?;
    let offset = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some((entry::due_ms(record), Offset(offset)))
}

impl Local {
    /// Hidden batches lie below; 0 when there are none.
    pub fn hidden_upto(&self) -> Offset {
        let held = self.holding.held.as_ref();
        held.map_or(Offset(0), |held| held.hidden_upto)
    }

    /// Records that wait for the time that they name, and their bytes.
    pub fn held(&self) -> (u64, u64) {
        let held = self.holding.held.as_ref();
        held.map_or((0, 0), |held| (held.waiting.count, held.waiting.bytes))
    }

    /// Before a batch goes into the log that records are to wait in.
    pub(crate) fn begin_holding(&mut self) -> Result<(), Error> {
        let end = self.log.end_offset();
        self.holding.begin(&self.directory, end)
    }

    /// The log has got these batches, and nothing else since the last time.
    pub(crate) fn note_held(&mut self, batches: &[Bytes]) {
        if let Some(held) = &mut self.holding.held {
            held.note_all(batches, self.log.end_offset());
        }
    }

    /// The log may have got more than was noted.
    pub(crate) fn find_held(&mut self) {
        let settled = self.settled();
        let Some(held) = &mut self.holding.held else {
            return;
        };
        if let Err(error) = held.find(&self.directory, &self.reader, settled) {
            held.is_lost = true;
            tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "what waits for its time cannot be read and is tried again"
            );
        }
    }

    /// As [`Self::hand_over`], where there is no room for more on the disk now.
    pub fn hand_over_later(&mut self, now_ms: i64) {
        let on = self.holding.is_on();
        self.holding.wake_ms = on.then(|| now_ms.saturating_add(AGAIN_MS));
    }

    /// Appends what is due, where this replica leads. With `stamp` it gets the time of that, otherwise the one
    /// that it named. To be called whenever anything has happened, and at [`Self::next_deadline`].
    pub fn hand_over(&mut self, now_ms: i64, wall_ms: i64, stamp: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !self.holding.is_on() {
            return effects;
        }
        self.holding.wake_ms = None;
        let settled = self.settled();
        if let Some(held) = &mut self.holding.held {
            held.waiting.settle(settled);
        }
        let mut left = GO_BYTES_MAX;
        for _ in 0..BATCHES_MAX {
            if !self.machine.is_leading() || self.fault.is_some() {
                self.holding.ahead = Ahead::default();
                return effects;
            }
            match self.next_due(now_ms, wall_ms, stamp, &mut left) {
                Ok(Some((batch, first))) => {
                    let admitted = self.admit(batch, Ack::Written, now_ms, now_ms, NOBODY);
                    if !matches!(admitted, Admission::Write { .. }) {
                        self.holding.wake_ms = Some(now_ms.saturating_add(AGAIN_MS));
                        return effects;
                    }
                    effects.extend(self.write(now_ms));
                    if self.fault.is_none() && self.holding.still_waits(&first) {
                        // Or it would be handed over again and again.
                        self.lose_sight(now_ms);
                        return effects;
                    }
                }
                Ok(None) => return effects,
                Err(error) => {
                    self.holding.wake_ms = Some(now_ms.saturating_add(AGAIN_MS));
                    tracing::error!(
                        partition = %self.partition,
                        error = &error as &dyn std::error::Error,
                        "records wait beyond their time: they cannot be read and are tried again"
                    );
                    return effects;
                }
            }
        }
        self.holding.wake_ms = Some(now_ms);
        effects
    }

    /// What is known to wait is not what the log says, which tells it anew a little later.
    fn lose_sight(&mut self, now_ms: i64) {
        tracing::error!(
            partition = %self.partition,
            "what was known to wait is not what the log holds, where it is looked for now"
        );
        self.holding.ahead = Ahead::default();
        self.holding.wake_ms = Some(now_ms.saturating_add(AGAIN_MS));
        if let Some(held) = &mut self.holding.held {
            held.is_lost = true;
        }
    }

    /// Neither a cut nor a crash takes back what lies below.
    fn settled(&self) -> Offset {
        let synced = self.reader.synced_offset();
        self.machine.high_watermark().min(synced)
    }

    /// The next batch of what is due and the first entry of it; without one, when to look again is noted.
    /// `left` are the bytes that may still be read for it in this go.
    fn next_due(
        &mut self,
        now_ms: i64,
        wall_ms: i64,
        stamp: bool,
        left: &mut usize,
    ) -> Result<Option<(Batch, Entry)>, Error> {
        let (start, settled) = (self.log.start_offset(), self.settled());
        let Holding {
            held: Some(held),
            wake_ms,
            ahead,
        } = &mut self.holding
        else {
            return Ok(None);
        };
        if held.is_lost {
            held.find(&self.directory, &self.reader, settled)
                .inspect_err(|_| held.is_lost = true)?;
        }
        if held.waiting.unsettled() >= UNSETTLED_MAX {
            // The watermark or a sync has it looked at again.
            return Ok(None);
        }
        loop {
            let mut due = held
                .waiting
                .due(wall_ms, BATCH_RECORDS, BATCH_BYTES)
                .map_err(Error::io(READING, &*self.directory))?;
            if due.is_empty() {
                *ahead = Ahead::default();
                let next = held
                    .waiting
                    .next_due()
                    .map_err(Error::io(READING, &*self.directory))?;
                let wait = |due_ms: i64| due_ms.saturating_sub(wall_ms).clamp(0, CLOCK_TRUSTED_MS);
                *wake_ms = next.map(|due_ms| now_ms.saturating_add(wait(due_ms)));
                return Ok(None);
            }
            // An unclean leader may know of records that were deleted since.
            held.waiting.forget_before(start, &due);
            due.retain(|entry| entry.offset >= start);
            let Some(first) = due.first().copied() else {
                continue;
            };
            if !ahead.has(&due) {
                let (records, bytes) = (BATCHES_MAX * BATCH_RECORDS, BATCHES_MAX * BATCH_BYTES);
                let soon = held
                    .waiting
                    .due(wall_ms, records, bytes)
                    .map_err(Error::io(READING, &*self.directory))?;
                match ahead.fetch(&self.reader, &due, &soon, left)? {
                    Fetched::All => {}
                    Fetched::Some => {
                        // Others have their turn.
                        *wake_ms = Some(now_ms);
                        return Ok(None);
                    }
                    Fetched::Other => {
                        self.lose_sight(now_ms);
                        return Ok(None);
                    }
                }
            }
            let Some(bytes) = ahead.assemble(&due) else {
                return Ok(None);
            };
            let bytes = if stamp {
                batch::set_max_timestamp(bytes, wall_ms, true)
            } else {
                bytes
            };
            return Ok(Some((Batch::parse(&bytes)?, first)));
        }
    }
}
