//! A replica's log is compacted: begun here, done by the cleaner, put in place here.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use commitlog::{Compacted, Error};
use replica::is_of_the_disk;

use super::hosted::Hosted;
use crate::partition::{cleaner::Pending, clock};

/// A log's compaction that is under way; dropped, it ends.
#[derive(Debug, Default)]
pub(super) struct Compacting {
    stop: Option<Arc<AtomicBool>>,
    /// The last one failed, and that was said.
    failing: bool,
}

impl Compacting {
    /// Ends it soon. It is under way until the cleaner has said so: two of one log write the same files.
    pub(super) fn stop(&self) {
        if let Some(stop) = &self.stop {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// The cleaner has said so of the one with this `stop`. False when that was begun before the log was
    /// last opened.
    fn end(&mut self, stop: &Arc<AtomicBool>) -> bool {
        self.stop.take_if(|ours| Arc::ptr_eq(ours, stop)).is_some()
    }
}

impl Drop for Compacting {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Hosted {
    /// Has the log compacted if that is due.
    pub(super) fn compact(&mut self, now_ms: i64) {
        if self.compacting.stop.is_some() || self.local.fault().is_some() || self.uncleanable {
            return;
        }
        if self.local.hidden_upto() > self.local.log().start_offset() {
            // A replica that copies the log has to find whole what was handed over.
            return;
        }
        // A record that waits must not take the place of one that can be read.
        let upto = self.local.readable_end();
        let log = self.local.log_mut();
        let rolled = log.roll_if_due(now_ms);
        let begun = rolled.and_then(|_| log.begin_compaction(upto, clock::wall_ms()));
        match begun {
            Ok(None) => {}
            Ok(Some(compaction)) => {
                let stop = Arc::new(AtomicBool::new(false));
                self.compacting.stop = Some(stop.clone());
                self.context.cleaner.run(Pending {
                    compaction,
                    producers: self.local.machine().producers().last_offsets().collect(),
                    stop,
                    mailbox: self.shared.mailbox.clone(),
                    partition: self.partition,
                });
            }
            Err(error) => self.not_compacted(&error),
        }
    }

    /// The cleaner is through with the log.
    pub(super) fn compacted(
        &mut self,
        stop: &Arc<AtomicBool>,
        outcome: Result<Option<Compacted>, Error>,
        now_ms: i64,
    ) {
        if !self.compacting.end(stop) {
            return;
        }
        let finished = match outcome {
            Ok(Some(done)) => {
                self.compacting.failing = false;
                self.local.log_mut().finish_compaction(done)
            }
            // The log was cut while it was read: that it ended early is no damage.
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Ok(None) => return,
            Err(error) => {
                self.not_compacted(&error);
                return;
            }
        };
        if let Err(error) = finished {
            if is_of_the_disk(&error) {
                self.fail(&error, now_ms);
            } else {
                self.not_compacted(&error);
            }
        }
        self.context.roster.changed();
    }

    /// What failed for want of room is tried again; a log with records that cannot be read is not.
    fn not_compacted(&mut self, error: &Error) {
        self.uncleanable = !is_of_the_disk(error);
        if std::mem::replace(&mut self.compacting.failing, true) && !self.uncleanable {
            return;
        }
        tracing::error!(
            partition = %self.partition,
            error = error as &dyn std::error::Error,
            "log was not compacted and grows; {}",
            if self.uncleanable {
                "see to its disk, then restart this broker"
            } else {
                "it is tried again"
            }
        );
    }
}
