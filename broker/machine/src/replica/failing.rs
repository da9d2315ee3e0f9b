//! A replica whose log takes nothing more: it refuses appends, its watermark stands still, and it
//! gives its place in the in-sync set to those that can go on.
//!
//! The last in-sync member has nobody to give it to. It stays, refuses, and still lets followers join:
//! as soon as one has, it goes.

use super::{Effect, Ends, Refusal, Replica, producers::Producers};

/// Milliseconds between a resignation that came to nothing and the next.
const RESIGN_AGAIN_MS: i64 = 500;

#[derive(Debug)]
pub(super) struct Failing {
    pub(super) why: String,
    /// Partition epoch for which the cluster was asked to let this replica go, until it has answered.
    asked: Option<i32>,
    ask_after_ms: i64,
}

impl Replica {
    /// The log takes nothing more: what waits is refused and so is what comes. What was admitted since
    /// the last [`Self::written`] is not in the log.
    pub fn fail(&mut self, why: &str, now_ms: i64) -> Vec<Effect> {
        let end = self.ends.end;
        let refusal = Refusal::Storage(why.into());
        self.retract(&refusal, now_ms);
        let mut effects = self.leading.as_mut().map_or_else(Vec::new, |leading| {
            leading.staged = end;
            leading.waiting.fail_all(&refusal)
        });
        self.failing.get_or_insert_with(|| Failing {
            why: why.into(),
            asked: None,
            ask_after_ms: now_ms,
        });
        effects.extend(self.settle(now_ms));
        effects
    }

    pub fn is_failing(&self) -> bool {
        self.failing.is_some()
    }

    /// Whether the log may take records again as soon as it can: the cluster counts on others, or on
    /// nobody else. Before that a log that comes back with less than it had could be elected.
    pub fn may_recover(&self) -> bool {
        !self.membership.shares(self.this)
    }

    /// The log takes records again, between these ends. `producers` is what the log says of them where it
    /// has more than this replica knows of.
    pub fn recovered(
        &mut self,
        ends: Ends,
        producers: Option<Producers>,
        now_ms: i64,
    ) -> Vec<Effect> {
        self.failing = None;
        self.ends = ends;
        if let Some(producers) = producers {
            self.producers = producers;
        }
        self.high_watermark = self.high_watermark.clamp(ends.start, ends.end);
        if let Some(leading) = &mut self.leading {
            leading.staged = ends.end;
        }
        self.settle(now_ms)
    }

    /// The cluster has not let this replica go, or its answer was lost: asked again later.
    pub fn resignation_refused(&mut self, partition_epoch: i32, now_ms: i64) {
        if let Some(failing) = &mut self.failing
            && failing.asked == Some(partition_epoch)
        {
            failing.asked = None;
            failing.ask_after_ms = now_ms + RESIGN_AGAIN_MS;
        }
    }

    /// Asks to be let go where the cluster has somebody else.
    pub(super) fn resign(&mut self, now_ms: i64) -> Option<Effect> {
        let due = self.next_resignation()?;
        let partition_epoch = self.membership.partition_epoch;
        if now_ms < due {
            return None;
        }
        self.failing.as_mut()?.asked = Some(partition_epoch);
        Some(Effect::Resign { partition_epoch })
    }

    /// When the next resignation is due, if one is.
    pub(super) fn next_resignation(&self) -> Option<i64> {
        let failing = self.failing.as_ref()?;
        let asked = failing.asked == Some(self.membership.partition_epoch);
        // Alone in sync it may stay, and still rather has an eligible one lead.
        let alone = self.leading.is_some() && !self.membership.eligible.is_empty();
        let gives_way = alone || self.membership.shares(self.this);
        (gives_way && !asked).then_some(failing.ask_after_ms)
    }
}
