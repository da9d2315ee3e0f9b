//! Deleting records because somebody asks for it.

use model::Offset;

use crate::Local;

/// Why records could not be deleted.
#[derive(Debug)]
pub enum NotDeleted {
    NotLeader,
    OutOfRange {
        start: Offset,
        /// Of what consumers can read.
        end: Offset,
    },
    Storage(commitlog::Error),
}

impl Local {
    /// Deletes what is before `before` and answers where the log begins now. -1 asks for all that
    /// consumers can read: what waits for its delay is not there yet. Where a record waits for a time of its
    /// own the log begins no later than there.
    ///
    /// # Errors
    /// See [`NotDeleted`]; nothing is deleted then.
    pub fn delete_records(&mut self, before: Offset) -> Result<Offset, NotDeleted> {
        if !self.machine.is_leading() {
            return Err(NotDeleted::NotLeader);
        }
        let end = self.readable_end();
        let before = if before == Offset::UNKNOWN {
            end
        } else {
            before
        };
        if before < Offset(0) || before > end {
            return Err(NotDeleted::OutOfRange {
                start: self.log.start_offset(),
                end,
            });
        }
        // A record that waits stays, and so does what lies behind it.
        let before = before.min(self.deletable_end().max(self.log.start_offset()));
        self.log
            .delete_before(before)
            .map_err(NotDeleted::Storage)?;
        self.machine.deleted_before(before);
        Ok(self.log.start_offset())
    }
}
