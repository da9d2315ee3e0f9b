//! What every replica gets now and then: retention, and what it knows written down.

use machine::replica::producers::Producers;
use model::Offset;

use crate::{Local, Prepared, producers};

impl Local {
    /// The look that every replica gets once in the retention interval. Producers without a batch since
    /// `producers_since_ms` are forgotten.
    pub fn sweep(&mut self, now_ms: i64, wall_ms: i64, producers_since_ms: i64) {
        self.machine.expire_producers(producers_since_ms);
        // Deleting must not wait for a segment that finds no room.
        let rolled = self.log.roll_if_due(now_ms).unwrap_or_else(|error| {
            tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "segment was not closed"
            );
            false
        });
        // What nobody could read yet is never too old.
        let upto = self.deletable_end();
        match self.log.apply_retention(wall_ms, upto) {
            Ok(start) => {
                if let Some(start) = start {
                    self.machine.deleted_before(start);
                }
                if rolled || self.producers_at != self.log.end_offset() {
                    self.store_producers();
                    self.holding.store(&self.directory, self.log.start_offset());
                }
                self.note_watermark();
            }
            Err(error) => tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "retention failed"
            ),
        }
    }

    /// What lies below may be deleted: everybody can read it, and nothing there waits.
    pub(crate) fn deletable_end(&self) -> Offset {
        let end = self.readable_end();
        self.holding.oldest().map_or(end, |oldest| oldest.min(end))
    }

    /// Forgets producers without a batch since `since_ms`.
    pub fn expire_producers(&mut self, since_ms: i64) {
        self.machine.expire_producers(since_ms);
    }

    /// The first step of closing: writes down what is known of producers, to be put in its place when that is
    /// on the disk.
    #[must_use]
    pub fn prepare_close(&self) -> Option<Prepared> {
        let end = self.log.end_offset();
        producers::prepare(&self.directory, end, self.machine.producers())
    }

    /// Closes the log and leaves the files of a clean shutdown, but for those of [`Self::prepare_close`].
    ///
    /// # Errors
    /// As [`commitlog::Log::close`].
    pub fn close(mut self) -> Result<(), commitlog::Error> {
        self.holding.store(&self.directory, self.log.start_offset());
        self.note_watermark();
        self.log.close()
    }

    pub(crate) fn store_producers(&mut self) {
        let end = self.log.end_offset();
        producers::store(&self.directory, end, self.machine.producers());
        self.producers_at = end;
    }

    /// What the log says of producers.
    pub(crate) fn recount_producers(&self) -> Producers {
        producers::recount(&self.directory, &self.reader)
    }
}
