//! A replica's log is read again once in an interval: begun here, done by the scrubber, judged here. When, the
//! clock says and not the start, so that a broker that starts often reads all of it nevertheless.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use commitlog::{Error, Hole};
use model::{Offset, TopicPartition};

use super::{Driver, hosted::Hosted};
use crate::partition::scrubber::Pending;

/// What is known of damage to a log, and the scrub that is under way; dropped, that ends.
#[derive(Debug, Default)]
pub(super) struct Scrubbing {
    stop: Option<Arc<AtomicBool>>,
    due_ms: Option<i64>,
    /// Where the holes begin that another replica is asked to fill.
    pub(super) asked: BTreeSet<Offset>,
    /// Where those begin that were spoken of.
    pub(super) told: BTreeSet<Offset>,
}

impl Scrubbing {
    /// The scrubber is through with the scrub of this `stop`. False when that was begun before the log was
    /// last opened.
    fn end(&mut self, stop: &Arc<AtomicBool>) -> bool {
        self.stop.take_if(|ours| Arc::ptr_eq(ours, stop)).is_some()
    }
}

impl Drop for Scrubbing {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Hosted {
    /// Has the log read again if that is due.
    pub(super) fn scrub(&mut self, now_ms: i64) {
        let every_ms = self.context.config.scrub_every_ms;
        if every_ms <= 0 || self.local.fault().is_some() || self.scrubbing.stop.is_some() {
            return;
        }
        let partition = self.partition;
        let next = |after_ms| next_turn(partition, every_ms, after_ms);
        let due = *self.scrubbing.due_ms.get_or_insert_with(|| next(now_ms));
        if now_ms < due {
            return;
        }
        self.scrubbing.due_ms = Some(next(now_ms));
        self.begin_scrub();
    }

    pub(super) fn begin_scrub(&mut self) {
        let stop = Arc::new(AtomicBool::new(false));
        self.scrubbing.stop = Some(stop.clone());
        self.context.scrubber.run(Pending {
            scrub: self.local.log().begin_scrub(),
            stop,
            mailbox: self.shared.mailbox.clone(),
            partition: self.partition,
        });
    }
}

impl Driver {
    /// The scrubber has read a log.
    pub(super) fn scrubbed(
        &mut self,
        partition: TopicPartition,
        stop: &Arc<AtomicBool>,
        outcome: Result<Vec<Hole>, Error>,
    ) {
        let Some(hosted) = self.hosted.get_mut(&partition) else {
            return;
        };
        if !hosted.scrubbing.end(stop) {
            return;
        }
        let holes = outcome.unwrap_or_else(|error| {
            tracing::warn!(
                %partition,
                error = &error as &dyn std::error::Error,
                "log was not read through; it is tried again when its turn comes"
            );
            Vec::new()
        });
        for hole in holes {
            self.suspected(partition, hole.from);
        }
    }
}

/// The first turn of a partition after `after_ms`: turns of many are spread over the interval.
fn next_turn(partition: TopicPartition, every_ms: i64, after_ms: i64) -> i64 {
    let mut hasher = DefaultHasher::new();
    partition.hash(&mut hasher);
    let phase = i64::try_from(hasher.finish() % every_ms.unsigned_abs().max(1)).unwrap_or(0);
    let wait = (phase - after_ms - 1).rem_euclid(every_ms) + 1;
    after_ms.saturating_add(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_once_in_an_interval_and_are_spread_over_it() {
        let turns: BTreeSet<i64> = (0..50)
            .map(|number| {
                let partition = TopicPartition {
                    topic: model::TopicId(uuid::Uuid::from_u128(7)),
                    partition: number,
                };
                let first = next_turn(partition, 1000, 5000);
                assert!((5001..=6000).contains(&first), "{first}");
                // However often it is asked in between, as after a restart.
                assert_eq!(next_turn(partition, 1000, first - 1), first);
                assert_eq!(next_turn(partition, 1000, first), first + 1000);
                first
            })
            .collect();
        assert!(turns.len() > 40);
    }
}
