//! Replicas that should be here and whose log could not be opened, or is damaged.
//!
//! The cluster must not count on one: it leaves the in-sync set where somebody else is in it. What
//! changes then may be what opening waited for: a damaged log is set aside only when the cluster does
//! not count on it.

use std::sync::Arc;

use commitlog::Error;
use machine::replica::Membership;
use model::TopicPartition;
use replica::{Fault, advice};

use super::{Driver, hosted::has_room};
use crate::partition::settings::Settings;

/// Milliseconds between a resignation that came to nothing and the next.
const RESIGN_AGAIN_MS: i64 = 500;

/// All that is needed to try again.
pub(super) struct Offline {
    topic: Arc<str>,
    membership: Membership,
    settings: Arc<Settings>,
    fault: Fault,
    /// Reading has found damage that opening may not see.
    damaged: bool,
    /// When to ask the cluster to let this replica go; `None` when it need not or has been asked.
    resign_at_ms: Option<i64>,
}

impl Offline {
    fn next_look(&self) -> Option<i64> {
        [self.fault.next_look(), self.resign_at_ms]
            .into_iter()
            .flatten()
            .min()
    }
}

impl Driver {
    /// Takes note of a log that was not opened.
    pub(super) fn stays_offline(
        &mut self,
        partition: TopicPartition,
        topic: &Arc<str>,
        membership: Membership,
        settings: Arc<Settings>,
        error: &Error,
        now_ms: i64,
    ) {
        self.opened_all = false;
        self.context.metrics.failed(partition, true);
        if !self.offline.contains_key(&partition) {
            tracing::error!(
                %partition,
                %topic,
                error = error as &dyn std::error::Error,
                "replica is offline: its log cannot be opened; {}",
                advice(error)
            );
        }
        let damaged = self.is_damaged(partition);
        self.set_offline(
            partition,
            topic,
            membership,
            settings,
            (error, damaged),
            now_ms,
        );
    }

    /// Asks to be let go where somebody else is in sync.
    pub(super) fn set_offline(
        &mut self,
        partition: TopicPartition,
        topic: &Arc<str>,
        membership: Membership,
        settings: Arc<Settings>,
        (error, damaged): (&Error, bool),
        now_ms: i64,
    ) {
        let offline = Offline {
            topic: topic.clone(),
            resign_at_ms: self.is_counted_on(&membership).then_some(now_ms),
            membership,
            settings,
            fault: Fault::of(error, now_ms),
            damaged,
        };
        self.offline.insert(partition, offline);
    }

    /// The cluster has somebody else as well.
    pub(super) fn is_counted_on(&self, membership: &Membership) -> bool {
        membership.shares(self.context.this)
    }

    pub(super) fn is_damaged(&self, partition: TopicPartition) -> bool {
        self.offline.get(&partition).is_some_and(|o| o.damaged)
    }

    /// Whether a damaged replica is still to be let go: then it is asked for with what is agreed on now.
    pub(super) fn still_gives_up(
        &mut self,
        partition: TopicPartition,
        membership: &Membership,
        settings: &Arc<Settings>,
        now_ms: i64,
    ) -> bool {
        let counted_on = self.is_counted_on(membership);
        let Some(offline) = self.offline.get_mut(&partition) else {
            return false;
        };
        if !(offline.damaged && counted_on) {
            return false;
        }
        offline.membership = membership.clone();
        offline.settings = settings.clone();
        offline.resign_at_ms = Some(now_ms);
        true
    }

    pub(super) fn next_offline_look(&self) -> Option<i64> {
        self.offline.values().filter_map(Offline::next_look).min()
    }

    pub(super) fn look_at_offline(&mut self, now_ms: i64) {
        let mut again = Vec::new();
        for (partition, offline) in &mut self.offline {
            if offline.resign_at_ms.is_some_and(|at| at <= now_ms) {
                offline.resign_at_ms = None;
                self.context.proposals.resign(
                    self.mailbox.clone(),
                    *partition,
                    offline.membership.partition_epoch,
                );
            }
            if offline
                .fault
                .is_over(now_ms, || has_room(&self.context.directory))
            {
                let known = (offline.membership.clone(), offline.settings.clone());
                again.push((*partition, offline.topic.clone(), known));
            }
        }
        for (partition, topic, (membership, settings)) in again {
            self.assign(partition, &topic, membership, settings, now_ms);
        }
    }

    pub(super) fn resignation_refused(
        &mut self,
        partition: TopicPartition,
        partition_epoch: i32,
        now_ms: i64,
    ) {
        if let Some(offline) = self.offline.get_mut(&partition)
            && offline.membership.partition_epoch == partition_epoch
        {
            offline.resign_at_ms = Some(now_ms + RESIGN_AGAIN_MS);
        }
        self.with(partition, |hosted| {
            hosted.resignation_refused(partition_epoch, now_ms);
        });
    }
}
