//! What becomes of a replica whose log takes nothing more.
//!
//! It refuses, leaves the in-sync set (see [`machine::replica`]) and stops following. When only room
//! was missing it looks for some by itself, mends its log and goes on; after any other fault it stays
//! as it is until a start after somebody has looked at the disk.

use std::path::Path;

use commitlog::Error;

use super::hosted::Hosted;

/// Free bytes at which a log that found no room is tried again.
const ROOM_BYTES_MIN: u64 = 4 << 20;
/// Milliseconds between looks for room.
const LOOK_AGAIN_MS: i64 = 1000;

/// Why a replica is out of work.
pub(super) struct Fault {
    /// When to look for room; `None` when that is not what is missing.
    look_at_ms: Option<i64>,
}

impl Fault {
    pub(super) fn of(error: &Error, now_ms: i64) -> Self {
        Self {
            look_at_ms: error.is_out_of_space().then_some(now_ms + LOOK_AGAIN_MS),
        }
    }

    pub(super) fn next_look(&self) -> Option<i64> {
        self.look_at_ms
    }

    /// Whether to try again now: a look is due and there is room.
    pub(super) fn is_over(&mut self, directory: &Path, now_ms: i64) -> bool {
        match &mut self.look_at_ms {
            Some(at) if *at <= now_ms => {
                *at = now_ms + LOOK_AGAIN_MS;
                has_room(directory)
            }
            _ => false,
        }
    }
}

fn has_room(directory: &Path) -> bool {
    crate::disk::Disk::holding(directory).is_ok_and(|disk| disk.free_bytes >= ROOM_BYTES_MIN)
}

/// What somebody has to do about a log that cannot be used.
pub(super) fn advice(error: &Error) -> &'static str {
    if error.is_out_of_space() {
        "free space on its disk, and it comes back by itself"
    } else {
        "see to its disk, then restart this broker"
    }
}

impl Hosted {
    /// The log refused to write or to sync.
    pub(super) fn fail(&mut self, error: &Error, now_ms: i64) {
        if self.fault.is_none() {
            self.context.metrics.failed(self.partition, true);
            tracing::error!(
                partition = %self.partition,
                error = error as &dyn std::error::Error,
                "replica is offline; {}",
                advice(error)
            );
        }
        // A poisoned log says nothing of the cause: the sync that failed does, before or after.
        if self.fault.is_none() || !matches!(error, Error::Poisoned) {
            self.fault = Some(Fault::of(error, now_ms));
        }
        self.discard_staged();
        let effects = self.machine.fail(&error.to_string(), now_ms);
        self.act(effects);
        self.follow();
    }

    /// Goes on if the fault is over.
    pub(super) fn look_for_room(&mut self, now_ms: i64) {
        let over = self
            .fault
            .as_mut()
            .is_some_and(|f| f.is_over(&self.directory, now_ms));
        if !over || !self.machine.may_recover() {
            return;
        }
        if let Err(error) = self.log.mend() {
            tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "log cannot be mended"
            );
            self.fault = Some(Fault::of(&error, now_ms));
            return;
        }
        self.fault = None;
        self.context.metrics.failed(self.partition, false);
        tracing::info!(partition = %self.partition, "replica is back");
        let ends = self.ends();
        // A part of what was refused may have been written.
        let grown = ends.end > self.machine.position().next;
        let producers = grown.then(|| self.recount_producers());
        let effects = self.machine.recovered(ends, producers, now_ms);
        self.act(effects);
        self.follow();
        self.context.sessions.role_changed(self.partition);
        self.context.roster.changed();
    }
}
