//! What becomes of a replica whose log takes nothing more.
//!
//! It refuses, leaves the in-sync set (see [`machine::replica`]) and stops following. When only room
//! was missing it looks for some by itself, mends its log and goes on; after any other fault it stays
//! as it is until a start after somebody has looked at the disk.

use std::path::Path;

use commitlog::Error;

use crate::{Effect, Local, local::extend};

/// Milliseconds between looks for room.
const LOOK_AGAIN_MS: i64 = 1000;

/// Why a replica is out of work.
#[derive(Debug)]
pub struct Fault {
    /// When to look for room; `None` when that is not what is missing.
    look_at_ms: Option<i64>,
}

impl Fault {
    pub fn of(error: &Error, now_ms: i64) -> Self {
        Self {
            look_at_ms: error.is_out_of_space().then_some(now_ms + LOOK_AGAIN_MS),
        }
    }

    pub fn next_look(&self) -> Option<i64> {
        self.look_at_ms
    }

    /// Whether to try again now: a look is due and there is room.
    pub fn is_over(&mut self, now_ms: i64, has_room: impl FnOnce() -> bool) -> bool {
        match &mut self.look_at_ms {
            Some(at) if *at <= now_ms => {
                *at = now_ms + LOOK_AGAIN_MS;
                has_room()
            }
            _ => false,
        }
    }
}

/// As opposed to bytes that are no batch or do not follow.
pub fn is_of_the_disk(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::Poisoned)
}

/// What somebody has to do about a log that cannot be used.
pub fn advice(error: &Error) -> &'static str {
    if error.is_out_of_space() {
        "free space on its disk, and it comes back by itself"
    } else {
        "see to its disk, then restart this broker"
    }
}

impl Local {
    /// The log refused to write or to sync.
    pub fn fail(&mut self, error: &Error, now_ms: i64) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.fault.is_none() {
            effects.push(Effect::Failed);
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
        extend(&mut effects, self.machine.fail(&error.to_string(), now_ms));
        effects.push(Effect::Follow);
        effects
    }

    /// Goes on if the fault is over.
    pub(crate) fn look_for_room(
        &mut self,
        now_ms: i64,
        has_room: impl FnOnce(&Path) -> bool,
    ) -> Vec<Effect> {
        let directory = &self.directory;
        let over = self
            .fault
            .as_mut()
            .is_some_and(|f| f.is_over(now_ms, || has_room(directory)));
        if !over || !self.machine.may_recover() {
            return Vec::new();
        }
        if let Err(error) = self.log.mend() {
            tracing::error!(
                partition = %self.partition,
                error = &error as &dyn std::error::Error,
                "log cannot be mended"
            );
            self.fault = Some(Fault::of(&error, now_ms));
            return Vec::new();
        }
        self.fault = None;
        tracing::info!(partition = %self.partition, "replica is back");
        let ends = self.ends();
        // A part of what was refused may have been written.
        let grown = ends.end > self.machine.position().next;
        self.find_held();
        let producers = grown.then(|| self.recount_producers());
        let mut effects = Vec::new();
        extend(
            &mut effects,
            self.machine.recovered(ends, producers, now_ms),
        );
        effects.push(Effect::Follow);
        effects.push(Effect::Recovered);
        effects
    }
}
