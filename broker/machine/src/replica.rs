//! One replica of a log: who leads, who is in sync, how far everybody has come.
//!
//! Owns roles and leader epochs, the in-sync set, the high watermark, appends that wait for it, and
//! what is known of idempotent producers. The log itself lies elsewhere: this is told where it ends
//! and answers with what to do ([`Effect`]). Knows no protocol, no disk and no clock.
//!
//! ```text
//!            admit / written              position_of(follower)
//!  append ──────────────────> Leader <───────────────────────── fetch
//!                               │ high watermark, answers, in-sync proposals
//!            copied             │
//!  leader's bytes ──────────> Follower      (truncates by epoch: see `divergence`)
//! ```
//! Invariants: the high watermark never goes back while a replica leads; it does not move while fewer
//! than the required replicas are in sync (KIP-966); it counts every member of the in-sync set that
//! the cluster may have agreed on, proposals in flight included; nothing is ever truncated because of
//! it.

mod admission;
pub mod divergence;
mod failing;
mod followers;
mod in_sync;
mod missed;
pub mod nearby;
pub mod producers;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{BrokerId, Epoch, Offset};

use failing::Failing;
use followers::Followers;
use missed::Missed;
use producers::Producers;
use waiting::Waiting;

pub use admission::{Admission, Placed, Refusal};

/// Settings of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// In-sync replicas that an append acknowledged by all needs; never more than there are replicas.
    pub in_sync_min: usize,
    /// A follower that has not been caught up for this many milliseconds leaves the in-sync set.
    pub lag_max_ms: i64,
    /// Only what is synced to disk counts as held.
    pub synced_only: bool,
}

/// What the cluster has agreed on for a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    pub leader: Option<BrokerId>,
    pub leader_epoch: Epoch,
    /// Version of this record; a proposal that names another one is refused.
    pub partition_epoch: i32,
    pub replicas: Vec<BrokerId>,
    pub in_sync: Vec<BrokerId>,
    /// May lead without loss where nobody in sync can (KIP-966).
    pub eligible: Vec<BrokerId>,
}

/// Where the log lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub start: Offset,
    pub end: Offset,
    /// Everything below is durable.
    pub synced: Offset,
}

/// How far a follower has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its log's end.
    pub next: Offset,
    /// What it answers for: its end, or what it has synced when only that counts.
    pub held: Offset,
}

/// When an append is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// When it is written.
    Written,
    /// When this replica holds it.
    Leader,
    /// When the high watermark has passed it.
    InSync,
}

/// Name that the caller gives to an append.
pub type Token = u64;

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The append is settled.
    Answer {
        token: Token,
        outcome: Result<(), Refusal>,
    },
    /// Ask the cluster for this in-sync set. Its answer comes as [`Replica::assign`] or
    /// [`Replica::proposal_refused`].
    Propose {
        in_sync: Vec<BrokerId>,
        leader_epoch: Epoch,
        partition_epoch: i32,
    },
    /// Ask the cluster to take this replica out of the in-sync set: its log takes nothing more. The
    /// answer comes as [`Replica::assign`] or [`Replica::resignation_refused`].
    Resign { partition_epoch: i32 },
}

/// See the module.
#[derive(Debug)]
pub struct Replica {
    this: BrokerId,
    rules: Rules,
    membership: Membership,
    ends: Ends,
    high_watermark: Offset,
    leading: Option<Leading>,
    producers: Producers,
    missed: Missed,
    /// The log takes nothing more.
    failing: Option<Failing>,
    /// Brokers that this one heard and hears no more.
    unheard: Arc<BTreeSet<BrokerId>>,
}

#[derive(Debug)]
struct Leading {
    /// End of the log when this replica was elected.
    epoch_start: Offset,
    /// End including what was admitted and is not written yet.
    staged: Offset,
    followers: Followers,
    /// In-sync set that was asked for and may have been agreed on: neither was it refused, nor is a
    /// later partition epoch known.
    proposed: Option<Vec<BrokerId>>,
    /// No proposal before this time: the last one was refused.
    propose_after_ms: i64,
    waiting: Waiting,
}

impl Membership {
    /// Whether the cluster counts on `replica`, as it does on others: while it does, that one must not come
    /// back with less than it had.
    pub fn shares(&self, replica: BrokerId) -> bool {
        let Self {
            in_sync, eligible, ..
        } = self;
        let counted = in_sync.len() + eligible.len();
        (eligible.contains(&replica) && counted > 1)
            || (in_sync.contains(&replica) && in_sync.len() > 1)
    }
}

impl Replica {
    /// A replica that has a log and no role yet. `high_watermark` is the last one known; it is never
    /// taken as a reason to truncate.
    pub fn new(
        this: BrokerId,
        rules: Rules,
        ends: Ends,
        high_watermark: Offset,
        producers: Producers,
    ) -> Self {
        Self {
            this,
            rules,
            membership: Membership {
                leader_epoch: Epoch::UNKNOWN,
                partition_epoch: -1,
                ..Membership::default()
            },
            ends,
            high_watermark: high_watermark.clamp(ends.start, ends.end),
            leading: None,
            producers,
            missed: Missed::default(),
            failing: None,
            unheard: Arc::default(),
        }
    }

    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    pub fn is_leading(&self) -> bool {
        self.leading.is_some()
    }

    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// A leader knows how far its predecessor had come once the watermark has passed the log that it
    /// took over. Until then what it can say about the end may be too little (KIP-207).
    pub fn is_watermark_settled(&self) -> bool {
        self.leading
            .as_ref()
            .is_none_or(|l| self.high_watermark >= l.epoch_start)
    }

    pub fn producers(&self) -> &Producers {
        &self.producers
    }

    /// This replica as a follower reports it.
    pub fn position(&self) -> Position {
        Position {
            next: self.ends.end,
            held: self.held(),
        }
    }

    /// In-sync replicas needed: no more than there are.
    pub fn required(&self) -> usize {
        self.rules
            .in_sync_min
            .min(self.membership.replicas.len())
            .max(1)
    }

    pub fn is_under_min_in_sync(&self) -> bool {
        self.membership.in_sync.len() < self.required()
    }

    pub fn reconfigure(&mut self, rules: Rules, now_ms: i64) -> Vec<Effect> {
        self.rules = rules;
        self.settle(now_ms)
    }

    /// Takes over what the cluster has agreed on, and the settings that hold with it, as one: under either
    /// alone the watermark could pass what an eligible replica does not have.
    pub fn agree(&mut self, rules: Rules, membership: Membership, now_ms: i64) -> Vec<Effect> {
        self.rules = rules;
        let mut effects = self.assign(membership, now_ms);
        effects.extend(self.settle(now_ms));
        effects
    }

    /// Takes over what the cluster has agreed on. Older than what is known: ignored.
    pub fn assign(&mut self, membership: Membership, now_ms: i64) -> Vec<Effect> {
        let known = (
            self.membership.leader_epoch,
            self.membership.partition_epoch,
        );
        if (membership.leader_epoch, membership.partition_epoch) < known {
            return Vec::new();
        }
        let new_epoch = membership.leader_epoch > self.membership.leader_epoch;
        let before = std::mem::replace(&mut self.membership, membership);
        if self.membership.leader != Some(self.this) {
            let mut effects = self.leading.take().map_or_else(Vec::new, |mut leading| {
                leading.waiting.fail_all(&Refusal::NotLeader)
            });
            effects.extend(self.resign(now_ms));
            return effects;
        }
        match &mut self.leading {
            Some(leading) if !new_epoch => {
                // The same version again says nothing of a proposal in flight; a later one ends it,
                // since it names the version that was current.
                if self.membership.partition_epoch > before.partition_epoch
                    && let Some(proposed) = leading.proposed.take()
                    && proposed != self.membership.in_sync
                {
                    // Who was to join may have gone again at once: no race with it.
                    leading.propose_after_ms = now_ms + in_sync::PROPOSE_AGAIN_MS;
                }
                let joined = |b: &&BrokerId| !before.in_sync.contains(*b);
                for member in self.membership.in_sync.iter().filter(joined) {
                    leading.followers.joined(*member, now_ms);
                }
                // Whoever was put out from elsewhere has to show itself again, knowing that it was.
                for gone in before.in_sync {
                    if !self.membership.in_sync.contains(&gone) {
                        let since = self.membership.partition_epoch;
                        leading.followers.forget(gone, since);
                    }
                }
            }
            _ => {
                let mut waiting = self.leading.take().map(|l| l.waiting).unwrap_or_default();
                // Appends of an earlier epoch of our own may since have been undone by another leader, but
                // not where nobody led in between: the epoch was raised since a replica has left.
                let led_on = self.membership.leader_epoch.0 == before.leader_epoch.0 + 1;
                let kept = if led_on {
                    self.ends.end
                } else {
                    Offset(i64::MIN)
                };
                let mut effects = waiting.fail_from(kept, &Refusal::NotLeader);
                self.leading = Some(Leading {
                    epoch_start: self.ends.end,
                    staged: self.ends.end,
                    followers: Followers::elected(&self.membership, self.this, now_ms),
                    proposed: None,
                    propose_after_ms: now_ms,
                    waiting,
                });
                effects.extend(self.settle(now_ms));
                return effects;
            }
        }
        self.settle(now_ms)
    }

    /// What was admitted is in the log, which now ends at `end`.
    pub fn written(&mut self, end: Offset, now_ms: i64) -> Vec<Effect> {
        if let Some(leading) = &mut self.leading {
            leading.followers.left_behind(self.ends.end, end, now_ms);
        }
        self.ends.end = end;
        self.settle(now_ms)
    }

    /// The log could not take what was admitted since the last [`Self::written`].
    pub fn write_failed(&mut self, why: &str, now_ms: i64) -> Vec<Effect> {
        let end = self.ends.end;
        let refusal = Refusal::Storage(why.into());
        self.retract(&refusal, now_ms);
        self.leading.as_mut().map_or_else(Vec::new, |leading| {
            leading.staged = end;
            leading.waiting.fail_from(end, &refusal)
        })
    }

    /// What was admitted since the last [`Self::written`] did not come to be in the log.
    fn retract(&mut self, why: &Refusal, now_ms: i64) {
        for lost in self.producers.retract(self.ends.end) {
            self.missed.note_lost(lost, why, now_ms);
        }
    }

    /// `synced` is durable.
    pub fn synced(&mut self, synced: Offset, now_ms: i64) -> Vec<Effect> {
        self.ends.synced = synced;
        self.settle(now_ms)
    }

    /// Records below `start` were deleted.
    pub fn deleted_before(&mut self, start: Offset) {
        self.ends.start = self.ends.start.max(start);
        self.high_watermark = self.high_watermark.max(start);
    }

    /// A follower has taken over bytes of the leader; both watermarks come from it.
    pub fn copied(&mut self, ends: Ends, leader_watermark: Offset) {
        self.ends = ends;
        self.follow_watermark(leader_watermark);
    }

    /// A follower's log was cut. What is known of producers has to be found again from the log.
    pub fn truncated(&mut self, ends: Ends, producers: Producers, now_ms: i64) {
        self.ends = ends;
        let mut before = std::mem::replace(&mut self.producers, producers);
        for lost in before.retract(ends.end) {
            self.missed.note_lost(lost, &Refusal::NotLeader, now_ms);
        }
        self.follow_watermark(self.high_watermark);
    }

    /// For a batch that was copied from the leader.
    pub fn observe_copied(&mut self, header: &model::batch::Header) {
        self.producers.observe(header);
    }

    /// Forgets producers whose last batch is of `before_ms` or earlier.
    pub fn expire_producers(&mut self, before_ms: i64) {
        self.producers.expire(before_ms);
    }

    /// A follower says how far it has come, not knowing what the cluster agreed on last.
    pub fn position_of(&mut self, from: BrokerId, at: Position, now_ms: i64) -> Vec<Effect> {
        self.position_as_of(-1, from, at, now_ms)
    }

    /// A follower that knows this partition epoch, or -1, says how far it has come. It may know of it before
    /// its leader does.
    pub fn position_as_of(
        &mut self,
        partition_epoch: i32,
        from: BrokerId,
        at: Position,
        now_ms: i64,
    ) -> Vec<Effect> {
        let end = self.ends.end;
        if let Some(leading) = &mut self.leading
            && self.membership.replicas.contains(&from)
        {
            let followers = &mut leading.followers;
            followers.report(from, at, end, partition_epoch, now_ms);
        }
        self.settle(now_ms)
    }

    /// Which brokers this one heard and hears no more. A follower among them leaves the in-sync set as soon as
    /// it lacks a record, if enough remain: the quorum does not fence it while it hears it itself, and after
    /// `replica.lag.time.max.ms` the clients have given up.
    pub fn lost(&mut self, unheard: Arc<BTreeSet<BrokerId>>, now_ms: i64) -> Vec<Effect> {
        self.unheard = unheard;
        self.settle(now_ms)
    }

    /// The cluster has not taken the in-sync set that was proposed for `partition_epoch`, and never
    /// will. Must not be told of a proposal whose outcome is unknown: its members would no longer
    /// count, and one of them could lead without what was acknowledged meanwhile (KIP-966).
    pub fn proposal_refused(&mut self, partition_epoch: i32, now_ms: i64) -> Vec<Effect> {
        if partition_epoch != self.membership.partition_epoch {
            return Vec::new();
        }
        if let Some(leading) = &mut self.leading {
            leading.proposed = None;
            leading.propose_after_ms = now_ms + in_sync::PROPOSE_AGAIN_MS;
        }
        self.settle(now_ms)
    }

    /// Looks at the clock: due at [`Self::next_deadline`] or any time.
    pub fn tick(&mut self, now_ms: i64) -> Vec<Effect> {
        let mut effects = self
            .leading
            .as_mut()
            .map_or_else(Vec::new, |l| l.waiting.expire(now_ms, &Refusal::Timeout));
        effects.extend(self.settle(now_ms));
        effects
    }

    /// When [`Self::tick`] has something to do; an idle replica has no such time.
    pub fn next_deadline(&self) -> Option<i64> {
        let leading = self.leading.as_ref();
        let waiting = leading.and_then(|l| l.waiting.next_deadline());
        let in_sync = leading.and_then(|l| self.next_in_sync_change(l));
        [waiting, in_sync, self.next_resignation()]
            .into_iter()
            .flatten()
            .min()
    }

    fn held(&self) -> Offset {
        if self.rules.synced_only {
            self.ends.synced.min(self.ends.end)
        } else {
            self.ends.end
        }
    }

    fn follow_watermark(&mut self, leader_watermark: Offset) {
        self.high_watermark = leader_watermark.clamp(self.ends.start, self.ends.end);
    }

    /// Everything that follows from a change: the watermark, whom it answers, the in-sync set.
    fn settle(&mut self, now_ms: i64) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(watermark) = self.advanced_watermark() {
            self.high_watermark = watermark;
        }
        let (held, watermark) = (self.held(), self.high_watermark);
        if let Some(leading) = &mut self.leading {
            leading.waiting.reach(held, watermark, &mut effects);
        }
        effects.extend(self.resign(now_ms).or_else(|| self.propose(now_ms)));
        effects
    }
}
