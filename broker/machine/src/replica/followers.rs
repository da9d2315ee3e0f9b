//! What a leader knows of its followers.

use std::collections::BTreeMap;

use model::{BrokerId, Offset};

use super::{Membership, Position};

#[derive(Debug, Default)]
pub(super) struct Followers(BTreeMap<BrokerId, Follower>);

#[derive(Debug)]
pub(super) struct Follower {
    /// `None` until it has reported in this epoch.
    pub at: Option<Position>,
    /// Last time at which it had everything that the leader had when it asked before.
    pub caught_up_ms: i64,
    /// When it reported last and where the leader's log ended then.
    reported: (i64, Offset),
    /// Partition epoch that it knew then, or -1.
    knew: i32,
}

/// Before any time.
const NEVER_MS: i64 = i64::MIN / 2;

impl Followers {
    /// At an election the members of the in-sync set get the benefit of the doubt.
    pub(super) fn elected(membership: &Membership, leader: BrokerId, now_ms: i64) -> Self {
        let followers = membership.replicas.iter().filter(|b| **b != leader);
        Self(
            followers
                .map(|b| {
                    let in_sync = membership.in_sync.contains(b);
                    (
                        *b,
                        Follower::unknown(if in_sync { now_ms } else { NEVER_MS }),
                    )
                })
                .collect(),
        )
    }

    pub(super) fn report(
        &mut self,
        from: BrokerId,
        at: Position,
        end: Offset,
        knows: i32,
        now_ms: i64,
    ) {
        let follower = self
            .0
            .entry(from)
            .or_insert_with(|| Follower::unknown(NEVER_MS));
        let (before_ms, before_end) = follower.reported;
        if at.next >= end {
            follower.caught_up_ms = follower.caught_up_ms.max(now_ms);
        } else if at.next >= before_end {
            // It has all that was there when it asked before: caught up as of then.
            follower.caught_up_ms = follower.caught_up_ms.max(before_ms);
        }
        follower.at = Some(at);
        follower.reported = (now_ms, end);
        follower.knew = knows;
    }

    /// The log grew from `before`: whoever had all of it was caught up until now.
    pub(super) fn left_behind(&mut self, before: Offset, end: Offset, now_ms: i64) {
        if end == before {
            return;
        }
        for follower in self.0.values_mut() {
            if follower.at.is_some_and(|at| at.next >= before) {
                follower.caught_up_ms = follower.caught_up_ms.max(now_ms);
            }
        }
    }

    /// It is in sync from now on, and has as long as every other to catch up with what it lacks above the
    /// watermark. Otherwise it would be put out at once, and let in again when it reports next.
    pub(super) fn joined(&mut self, broker: BrokerId, now_ms: i64) {
        if let Some(follower) = self.0.get_mut(&broker) {
            follower.caught_up_ms = follower.caught_up_ms.max(now_ms);
        }
    }

    /// Forgets what was said before partition epoch `since` was known. What was said after it is not said
    /// again.
    pub(super) fn forget(&mut self, broker: BrokerId, since: i32) {
        if self.get(broker).is_none_or(|f| f.knew < since) {
            self.0.insert(broker, Follower::unknown(NEVER_MS));
        }
    }

    pub(super) fn get(&self, broker: BrokerId) -> Option<&Follower> {
        self.0.get(&broker)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (BrokerId, &Follower)> {
        self.0.iter().map(|(b, f)| (*b, f))
    }
}

impl Follower {
    fn unknown(caught_up_ms: i64) -> Self {
        Self {
            at: None,
            caught_up_ms,
            reported: (NEVER_MS, Offset(i64::MAX)),
            knew: -1,
        }
    }

    /// It has everything, whenever it said so.
    pub(super) fn has_all(&self, end: Offset) -> bool {
        self.at.is_some_and(|at| at.next >= end)
    }
}
