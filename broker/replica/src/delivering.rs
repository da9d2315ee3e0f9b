//! A log with a delivery delay: the end of what consumers may read moves as the clock goes on.
//!
//! Reads ahead of that end a few KiB at a time, and has nothing to do until the first batch that waits is
//! due.

use std::path::Path;

use commitlog::{Error, Reader};
use machine::delivery::{Appended, Delivery};
use model::{Offset, batch};

use crate::{Local, delivered::Delivered};

/// Bytes of the log that are looked at in one go; a larger batch comes whole.
const LOOK_BYTES: usize = 16 << 10;
/// Times that one log is looked at before others have their turn.
const LOOKS_MAX: usize = 64;
/// Milliseconds after which the system's clock is asked again although nothing is due yet: somebody may
/// have set it, or the machine may have slept.
const CLOCK_TRUSTED_MS: i64 = 60_000;
/// Milliseconds after which a log that could not be read is tried again.
const LOOK_AGAIN_MS: i64 = 1000;

/// What of a log is due.
#[derive(Debug, Default)]
pub(crate) struct Delivering {
    due: Delivery,
    /// As it was written down; `None` until that was looked for.
    kept: Option<Delivered>,
    /// When to look at the clock.
    wake_ms: Option<i64>,
}

impl Delivering {
    /// See [`Local::delay_delivery`].
    fn delay(&mut self, delay_ms: i64, reader: &Reader, directory: &Path, wall_ms: i64) {
        let kept = match self.kept {
            Some(kept) => kept,
            None => self.find(delay_ms, reader, directory, wall_ms),
        };
        if kept.delay_ms == delay_ms {
            return;
        }
        let kept = Delivered {
            delay_ms,
            upto: self.due.readable_end(reader.end_offset()),
        };
        kept.store(directory);
        self.begin(kept, reader, wall_ms);
    }

    /// As the log was left. Where that is not known nothing counts as due that is not by its age.
    fn find(
        &mut self,
        delay_ms: i64,
        reader: &Reader,
        directory: &Path,
        wall_ms: i64,
    ) -> Delivered {
        let found = Delivered::load(directory);
        let kept = found.unwrap_or(Delivered {
            delay_ms,
            upto: Offset(0),
        });
        if found.is_none() && delay_ms > 0 {
            kept.store(directory);
        }
        self.begin(kept, reader, wall_ms);
        kept
    }

    fn begin(&mut self, kept: Delivered, reader: &Reader, wall_ms: i64) {
        let end = reader.end_offset();
        let due = if kept.delay_ms == 0 {
            end
        } else {
            first_waiting(kept.delay_ms, reader, wall_ms).max(kept.upto.min(end))
        };
        self.due.begin(kept.delay_ms, due);
        self.kept = Some(kept);
        self.wake_ms = None;
    }

    /// The log in `directory` is about to be cut at `end`, or ends there now.
    pub(crate) fn cut(&mut self, end: Offset, directory: &Path) {
        self.due.cut(end);
        if let Some(kept) = &mut self.kept
            && kept.delay_ms > 0
            && end < kept.upto
        {
            kept.upto = end;
            kept.store(directory);
        }
    }

    /// When [`Local::deliver`] has something to do.
    pub(crate) fn next_look(&self) -> Option<i64> {
        self.wake_ms
    }
}

impl Local {
    /// Consumers may read what was appended at least `delay_ms` ago; 0 holds nothing back. To be told when
    /// the log was opened, and of every other delay. What was due before stays so. Waits for the disk when
    /// the delay is another one.
    pub fn delay_delivery(&mut self, delay_ms: i64, wall_ms: i64) {
        self.delivering
            .delay(delay_ms, &self.reader, &self.directory, wall_ms);
    }

    /// Records may have to wait.
    pub fn delays_delivery(&self) -> bool {
        self.delivering.due.is_on()
    }

    /// Consumers may read what lies below. As of the last [`Self::deliver`].
    pub fn readable_end(&self) -> Offset {
        let high_watermark = self.machine.high_watermark();
        self.delivering.due.readable_end(high_watermark)
    }

    /// Looks at the clock for what is due. Where the log is found damaged meanwhile is the answer.
    pub fn deliver(&mut self, now_ms: i64, wall_ms: i64) -> Option<Offset> {
        if !self.delays_delivery() {
            return None;
        }
        let (start, end) = (self.log.start_offset(), self.log.end_offset());
        // More than is looked at now goes on at once.
        self.delivering.wake_ms = Some(now_ms);
        for _ in 0..LOOKS_MAX {
            let Some(from) = self.delivering.due.advance(start, end, wall_ms) else {
                let next = self.delivering.due.next_due();
                let wait = |due_ms: i64| due_ms.saturating_sub(wall_ms).clamp(0, CLOCK_TRUSTED_MS);
                self.delivering.wake_ms = next.map(|due_ms| now_ms.saturating_add(wait(due_ms)));
                return None;
            };
            match ahead(&self.reader, from, end) {
                Ok(batches) => self.delivering.due.found(batches, end),
                Err(error) => {
                    self.delivering.wake_ms = Some(now_ms.saturating_add(LOOK_AGAIN_MS));
                    tracing::error!(
                        partition = %self.partition,
                        error = &error as &dyn std::error::Error,
                        "records wait beyond their delay: the log cannot be read and is tried again"
                    );
                    return match error {
                        Error::Corrupt { offset, .. } => Some(offset),
                        _ => None,
                    };
                }
            }
        }
        None
    }
}

/// The first batches from the one that holds `from` on.
fn ahead(reader: &Reader, from: Offset, end: Offset) -> Result<Vec<Appended>, Error> {
    let mut found = Vec::new();
    for run in reader.read_until(from, end, LOOK_BYTES)? {
        let batches = batch::split(run)?;
        found.extend(batches.iter().map(|batch| Appended::of(&batch.header)));
    }
    Ok(found)
}

/// The first batch that is not due by its age. Where the time index cannot say, all there is is looked at.
fn first_waiting(delay_ms: i64, reader: &Reader, wall_ms: i64) -> Offset {
    let appended_after = Delivery::appended_after(delay_ms, wall_ms);
    match reader.batch_for_time(appended_after.saturating_add(1)) {
        Ok(Some(batch)) => batch.header.base_offset,
        Ok(None) => reader.end_offset(),
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "what is due cannot be looked up by time"
            );
            reader.start_offset()
        }
    }
}
