//! The in-sync set: who leaves it, who joins it, and what it allows the watermark.

use model::{BrokerId, Offset};

use super::{Effect, Leading, Replica};

/// Milliseconds between a refused proposal and the next one.
pub(super) const PROPOSE_AGAIN_MS: i64 = 500;

impl Replica {
    /// Where the watermark may go now, if that is further than where it is.
    ///
    /// It counts the agreed set and the proposed one together: whichever of the two the cluster ends
    /// up with, each of its members has everything below.
    pub(super) fn advanced_watermark(&self) -> Option<Offset> {
        let leading = self.leading.as_ref()?;
        if self.is_under_min_in_sync() || self.is_failing() {
            return None;
        }
        let proposed = leading.proposed.iter().flatten();
        let mut watermark = self.held();
        for member in self.membership.in_sync.iter().chain(proposed) {
            if *member != self.this {
                watermark = watermark.min(leading.followers.get(*member)?.at?.held);
            }
        }
        (watermark > self.high_watermark).then_some(watermark)
    }

    /// Proposes another in-sync set when one is due and none is in flight.
    pub(super) fn propose(&mut self, now_ms: i64) -> Option<Effect> {
        let leading = self.leading.as_ref()?;
        if leading.proposed.is_some() || now_ms < leading.propose_after_ms {
            return None;
        }
        // It goes itself: putting others out would leave nobody to go to.
        if self.is_failing() && !self.may_recover() {
            return None;
        }
        let agreed = &self.membership.in_sync;
        let mut wanted: Vec<BrokerId> = agreed
            .iter()
            .copied()
            .filter(|b| *b == self.this || !self.is_to_leave(leading, *b, now_ms))
            .collect();
        wanted.extend(
            leading
                .followers
                .iter()
                .filter(|(b, f)| {
                    !agreed.contains(b) && self.may_join(leading, f.at.map(|a| a.held))
                })
                .map(|(b, _)| b),
        );
        // A set is only ever agreed on with its leader in it.
        if wanted == *agreed || !wanted.contains(&self.this) {
            return None;
        }
        let effect = Effect::Propose {
            in_sync: wanted.clone(),
            leader_epoch: self.membership.leader_epoch,
            partition_epoch: self.membership.partition_epoch,
        };
        self.leading.as_mut()?.proposed = Some(wanted);
        Some(effect)
    }

    /// When the clock alone would change the set.
    pub(super) fn next_in_sync_change(&self, leading: &Leading) -> Option<i64> {
        if leading.proposed.is_some() || (self.is_failing() && !self.may_recover()) {
            return None;
        }
        let agreed = &self.membership.in_sync;
        let due = leading.followers.iter().filter_map(|(b, f)| {
            if agreed.contains(&b) {
                let behind = !f.has_all(self.ends.end);
                let late_ms = f.caught_up_ms.saturating_add(self.rules.lag_max_ms) + 1;
                behind.then(|| if self.is_done_without(b) { 0 } else { late_ms })
            } else {
                self.may_join(leading, f.at.map(|a| a.held)).then_some(0)
            }
        });
        due.min().map(|due| due.max(leading.propose_after_ms))
    }

    fn is_to_leave(&self, leading: &Leading, member: BrokerId, now_ms: i64) -> bool {
        let Some(follower) = leading.followers.get(member) else {
            return false;
        };
        // A member without what is committed has lost it: an unclean stop or another disk. It must not
        // be elected before it has caught up again.
        if follower.at.is_some_and(|at| at.next < self.high_watermark) {
            return true;
        }
        !follower.has_all(self.ends.end)
            && (now_ms.saturating_sub(follower.caught_up_ms) > self.rules.lag_max_ms
                || self.is_done_without(member))
    }

    /// It is not heard any more, and those that are suffice. With fewer nothing could be acknowledged anyway,
    /// and it may come back.
    fn is_done_without(&self, member: BrokerId) -> bool {
        let in_sync = self.membership.in_sync.iter();
        self.unheard.contains(&member)
            && in_sync.filter(|b| !self.unheard.contains(b)).count() >= self.required()
    }

    /// A follower joins when it holds all that is committed and all that this leader took over.
    fn may_join(&self, leading: &Leading, held: Option<Offset>) -> bool {
        held.is_some_and(|held| held >= self.high_watermark && held >= leading.epoch_start)
    }
}
