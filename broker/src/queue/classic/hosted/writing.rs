//! To the disk, and the confirms that wait for it.

use std::collections::VecDeque;

use machine::queue::Effect;

use super::Hosted;
use crate::queue::classic::outage::Outage;
use crate::queue::outbox::Outbox;
use crate::queue::store;
use crate::queue::sync::{Job, Unsynced};

/// Effects for which room is kept when none is pending.
const PENDING_KEPT: usize = 1_024;

impl Hosted {
    /// Writes what has gathered. The answer is what must be synced, and who waits for it.
    pub(in crate::queue::classic) fn write(
        &mut self,
        now_ms: i64,
        outbox: &mut Outbox,
    ) -> Option<Job> {
        if self.outage.is_some() {
            let unsynced = std::mem::take(&mut self.unsynced);
            self.refuse(unsynced, outbox);
            self.count_memory();
            return None;
        }
        let store = &mut self.store;
        let written = store.append().and_then(|_| {
            if self.unsynced.is_empty() && !store.wants_sync() {
                Ok(None)
            } else {
                store.begin_sync()
            }
        });
        let job = match written {
            Ok(Some(task)) => Some(Job {
                queue: self.queue.id,
                task,
                waiting: std::mem::take(&mut self.unsynced),
            }),
            Ok(None) => {
                for unsynced in self.unsynced.drain(..) {
                    outbox.confirm(unsynced.session, unsynced.publish);
                }
                None
            }
            Err(error) => {
                self.fail(&error, now_ms);
                let unsynced = std::mem::take(&mut self.unsynced);
                self.refuse(unsynced, outbox);
                None
            }
        };
        self.count_memory();
        job
    }

    /// Bodies, and what is not carried out yet: that is much where dead letters find no room for long.
    fn count_memory(&mut self) {
        if self.pending.is_empty() && self.pending.capacity() > PENDING_KEPT {
            self.pending = VecDeque::new();
        }
        let pending = self.pending.capacity() * size_of::<Effect>();
        self.memory.set(self.store.held_bytes() + pending);
    }

    /// A sync has failed that these waited for. The log may have been opened anew since.
    pub(in crate::queue::classic) fn not_synced(
        &mut self,
        unsynced: Vec<Unsynced>,
        error: &store::Error,
        now_ms: i64,
        outbox: &mut Outbox,
    ) {
        if self.store.is_broken() {
            self.fail(error, now_ms);
        }
        self.refuse(unsynced, outbox);
    }

    /// Tells publishers that their messages are not taken, and takes them back where no consumer has them
    /// already.
    pub(super) fn refuse(&mut self, unsynced: Vec<Unsynced>, outbox: &mut Outbox) {
        let mut withdrawn = Vec::new();
        for unsynced in unsynced {
            outbox.refuse(unsynced.session, unsynced.publish);
            if self.machine.withdraw(unsynced.position) {
                withdrawn.push(unsynced.position);
            }
        }
        self.store.withdraw(&withdrawn);
    }

    /// The disk has failed. The driver's next timer tries again.
    pub(super) fn fail(&mut self, error: &store::Error, now_ms: i64) {
        if self.outage.is_none() {
            tracing::error!(
                queue = %self.queue.name,
                error = error as &dyn std::error::Error,
                "the disk has failed a queue: publishes are refused until it serves again"
            );
            // An append that failed is tried again later; a log that is in doubt is opened anew now.
            self.outage = Some(Outage::new(now_ms, self.store.is_broken()));
        }
    }
}
