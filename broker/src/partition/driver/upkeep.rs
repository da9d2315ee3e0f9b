//! What every replica gets now and then: retention, and what it knows written down.

use super::{hosted::Hosted, producers, watermark};
use crate::partition::clock;

impl Hosted {
    /// The look that every replica gets once in the retention interval.
    pub(super) fn sweep(&mut self, now_ms: i64) {
        let wall_ms = clock::wall_ms();
        self.machine
            .expire_producers(wall_ms - self.context.config.producers_expire_ms);
        // Deleting must not wait for a segment that finds no room.
        let rolled = self.log.roll_if_due(now_ms).unwrap_or_else(|error| {
            tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "segment was not closed"
            );
            false
        });
        let upto = self.machine.high_watermark();
        match self.log.apply_retention(wall_ms, upto) {
            Ok(start) => {
                if let Some(start) = start {
                    self.machine.deleted_before(start);
                }
                if rolled || self.producers_at != self.log.end_offset() {
                    self.store_producers();
                }
                self.publish();
            }
            Err(error) => tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "retention failed"
            ),
        }
    }

    pub(super) fn store_watermark(&mut self) {
        let watermark = self.machine.high_watermark();
        self.store_watermark_ms = None;
        if watermark != self.watermark_at {
            watermark::store(&self.directory, watermark);
            self.watermark_at = watermark;
        }
    }

    pub(super) fn store_producers(&mut self) {
        let end = self.log.end_offset();
        producers::store(&self.directory, end, self.machine.producers());
        self.producers_at = end;
    }
}
