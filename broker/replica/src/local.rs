//! The replica: writing, role changes, syncs.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use commitlog::{Error, Log, Reader, SyncTask};
use machine::replica::{
    Ack, Admission, Ends, Membership, Position, Refusal, Replica, Rules, Token,
};
use model::{
    BrokerId, Epoch, Offset, TopicPartition,
    batch::{self, Batch, Header},
};

use crate::{Fault, Watermarks, delivering::Delivering, holding::Holding, is_of_the_disk};

/// Milliseconds without a write after which the newest batches leave memory.
const TAIL_IDLE_MS: i64 = 10_000;

/// Before any time.
const LONG_AGO_MS: i64 = i64::MIN / 2;

/// When what was written is synced, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub sync_ms: i64,
    pub sync_bytes: u64,
}

/// Syncs that are due within so many parts of `sync_ms` begin together.
const SYNC_PARTS: i64 = 4;

impl Timing {
    /// When bytes that were written at `since_ms` are to be synced. Those of many logs come due at once: they
    /// are then synced with one call.
    fn sync_due_ms(&self, since_ms: i64) -> i64 {
        let due = since_ms.saturating_add(self.sync_ms);
        due - due.rem_euclid((self.sync_ms / SYNC_PARTS).max(1))
    }
}

/// What is for others to do.
#[derive(Debug)]
pub enum Effect {
    /// The append is settled. To be told when readers can see what it speaks of.
    Answer {
        token: Token,
        outcome: Result<(), Refusal>,
    },
    /// Ask the cluster for this in-sync set: see [`crate::Proposal`].
    Propose {
        in_sync: Vec<BrokerId>,
        leader_epoch: Epoch,
        partition_epoch: i32,
    },
    /// Ask the cluster to do without this replica. When it does not: [`Local::resignation_refused`].
    Resign { partition_epoch: i32 },
    /// So many records came to this leader: followers that wait may have them.
    Grown { records: u64 },
    /// To be run anywhere; its outcome comes as [`Local::synced`].
    Sync(SyncTask),
    /// [`Local::followed`] may be another.
    Follow,
    /// The leader is to hear again where this follower stands.
    Report,
    /// The log takes nothing more.
    Failed,
    /// The log takes records again: whoever waits for this replica may look anew.
    Recovered,
}

/// See the crate. Dropping it loses nothing that was written; [`Self::close`] makes the next start quick.
#[derive(Debug)]
pub struct Local {
    pub(crate) this: BrokerId,
    pub(crate) partition: TopicPartition,
    pub(crate) directory: PathBuf,
    pub(crate) log: Log,
    pub(crate) reader: Reader,
    pub(crate) machine: Replica,
    pub(crate) rules: Rules,
    pub(crate) timing: Timing,
    /// Admitted and not written.
    pub(crate) staged: Vec<Bytes>,
    pub(crate) staged_records: u64,
    pub(crate) sync: SyncState,
    pub(crate) delivering: Delivering,
    pub(crate) holding: Holding,
    /// The log takes nothing more.
    pub(crate) fault: Option<Fault>,
    /// When the log was last written, until its tail was let go.
    pub(crate) warm_since_ms: Option<i64>,
    /// End of the log when the producers were last written down.
    pub(crate) producers_at: Offset,
    pub(crate) watermarks: Arc<Watermarks>,
    /// High watermark as it was noted there.
    pub(crate) watermark_at: Offset,
}

#[derive(Debug, Default)]
pub(crate) struct SyncState {
    in_flight: bool,
    /// When the first byte was written that no sync covers.
    since_ms: Option<i64>,
}

impl SyncState {
    /// Records that recovery found behind the last sync are to be synced at once: until then nobody may
    /// count on them, and there may be no other write to wait for.
    pub(crate) fn after_opening(ends: Ends) -> Self {
        Self {
            in_flight: false,
            since_ms: (ends.synced < ends.end).then_some(LONG_AGO_MS),
        }
    }
}

impl Local {
    pub fn machine(&self) -> &Replica {
        &self.machine
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// For what is between the log and others alone: compaction.
    pub fn log_mut(&mut self) -> &mut Log {
        &mut self.log
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Why the log takes nothing more, if so.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub(crate) fn ends(&self) -> Ends {
        Ends {
            start: self.reader.start_offset(),
            end: self.reader.end_offset(),
            synced: self.reader.synced_offset(),
        }
    }

    /// The leader whose records this replica copies.
    pub fn followed(&self) -> Option<BrokerId> {
        let leader = self.machine.membership().leader;
        leader.filter(|l| *l != self.this && self.fault.is_none())
    }

    /// Takes over what the cluster agreed on, and changed settings.
    pub fn assign(
        &mut self,
        membership: Membership,
        rules: Rules,
        log: Option<commitlog::Config>,
        now_ms: i64,
    ) -> Vec<Effect> {
        if let Some(config) = log {
            self.log.reconfigure(config);
        }
        // What was admitted under the old role is written before the new one is known.
        let mut effects = self.write(now_ms);
        self.rules = rules;
        extend(&mut effects, self.machine.agree(rules, membership, now_ms));
        effects.push(Effect::Follow);
        effects
    }

    /// Takes, recognises or refuses a batch that has been checked. What is taken goes out with the next
    /// [`Self::write`], and [`Effect::Answer`] speaks of it.
    pub fn admit(
        &mut self,
        batch: Batch,
        ack: Ack,
        now_ms: i64,
        deadline_ms: i64,
        token: Token,
    ) -> Admission {
        if batch.header.is_held()
            && let Err(error) = self.begin_holding()
        {
            return self.turn_away(&batch.header, Refusal::Storage(error.to_string()), now_ms);
        }
        let admission = self
            .machine
            .admit(&batch.header, ack, now_ms, deadline_ms, token);
        if let Admission::Write { base_offset, epoch } = admission {
            self.staged
                .push(batch::place(batch.bytes, base_offset, epoch));
            self.staged_records += u64::from(batch.header.record_count.unsigned_abs());
        }
        admission
    }

    /// As [`Replica::refuse`].
    pub fn turn_away(&mut self, header: &Header, why: Refusal, now_ms: i64) -> Admission {
        self.machine.refuse(header, why, now_ms)
    }

    /// Writes what was admitted, in one call, and answers whom that satisfies.
    pub fn write(&mut self, now_ms: i64) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.staged.is_empty() && self.fault.is_none() {
            // A duplicate may be waiting for what is committed already.
            let end = self.log.end_offset();
            extend(&mut effects, self.machine.written(end, now_ms));
        } else if !self.staged.is_empty() {
            let staged = std::mem::take(&mut self.staged);
            let records = std::mem::take(&mut self.staged_records);
            match self.log.append(&staged) {
                Ok(()) => {
                    self.note_held(&staged);
                    self.wrote(now_ms);
                    let end = self.log.end_offset();
                    extend(&mut effects, self.machine.written(end, now_ms));
                    effects.push(Effect::Grown { records });
                }
                Err(error) => effects.extend(self.append_failed(&error, now_ms)),
            }
        }
        self.sync_if_due(now_ms, &mut effects);
        self.note_watermark();
        effects
    }

    fn append_failed(&mut self, error: &Error, now_ms: i64) -> Vec<Effect> {
        // Whatever was wrong with the batch: when it could not be taken back, the log takes nothing more.
        if is_of_the_disk(error) || self.log.is_poisoned() {
            return self.fail(error, now_ms);
        }
        tracing::error!(
            partition = %self.partition,
            error = error as &dyn std::error::Error,
            "append failed"
        );
        let failed = self.machine.write_failed(&error.to_string(), now_ms);
        failed.into_iter().map(Effect::from).collect()
    }

    /// Forgets what was admitted and not written: whoever waits for it is told by other means.
    pub(crate) fn discard_staged(&mut self) {
        self.staged.clear();
        self.staged_records = 0;
    }

    /// Notes that the log grew.
    pub(crate) fn wrote(&mut self, now_ms: i64) {
        self.sync.since_ms.get_or_insert(now_ms);
        self.warm_since_ms = Some(now_ms);
    }

    /// A follower says how far it has come, following the leader of that epoch, and which partition epoch
    /// it knows.
    pub fn follower_at(
        &mut self,
        from: BrokerId,
        (epoch, partition_epoch): (Epoch, i32),
        at: Position,
        now_ms: i64,
    ) -> Vec<Effect> {
        // Compared with the log of that epoch, it says nothing of a later one's.
        if epoch != self.machine.membership().leader_epoch {
            return Vec::new();
        }
        let effects = self
            .machine
            .position_as_of(partition_epoch, from, at, now_ms);
        effects.into_iter().map(Effect::from).collect()
    }

    /// As [`Replica::lost`].
    pub fn lost(&mut self, unheard: Arc<BTreeSet<BrokerId>>, now_ms: i64) -> Vec<Effect> {
        let effects = self.machine.lost(unheard, now_ms);
        effects.into_iter().map(Effect::from).collect()
    }

    /// As [`Replica::proposal_refused`].
    pub fn proposal_refused(&mut self, partition_epoch: i32, now_ms: i64) -> Vec<Effect> {
        let effects = self.machine.proposal_refused(partition_epoch, now_ms);
        effects.into_iter().map(Effect::from).collect()
    }

    pub fn resignation_refused(&mut self, partition_epoch: i32, now_ms: i64) {
        self.machine.resignation_refused(partition_epoch, now_ms);
    }

    /// A sync has ended.
    pub fn synced(&mut self, outcome: Result<Offset, Error>, now_ms: i64) -> Vec<Effect> {
        self.sync.in_flight = false;
        match outcome {
            Ok(upto) => {
                let mut effects = Vec::new();
                extend(&mut effects, self.machine.synced(upto, now_ms));
                if self.followed().is_some() && self.rules.synced_only {
                    effects.push(Effect::Report);
                }
                effects
            }
            Err(error) => self.fail(&error, now_ms),
        }
    }

    /// Looks at the clock: due at [`Self::next_deadline`] or any time. `has_room` says whether the disk
    /// of that directory takes more.
    pub fn tick(&mut self, now_ms: i64, has_room: impl FnOnce(&Path) -> bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        extend(&mut effects, self.machine.tick(now_ms));
        effects.extend(self.look_for_room(now_ms, has_room));
        if self
            .warm_since_ms
            .is_some_and(|at| at + TAIL_IDLE_MS <= now_ms)
        {
            self.log.rest();
            self.warm_since_ms = None;
        }
        effects
    }

    /// When [`Self::tick`], [`Self::write`], [`Self::deliver`] or [`Self::hand_over`] has something to do. An
    /// idle replica has no such time.
    pub fn next_deadline(&self) -> Option<i64> {
        let sync = match self.sync {
            SyncState {
                in_flight: false,
                since_ms: Some(since),
            } => Some(self.timing.sync_due_ms(since)),
            _ => None,
        };
        let cool = self.warm_since_ms.map(|at| at + TAIL_IDLE_MS);
        let room = self.fault.as_ref().and_then(Fault::next_look);
        let due = self.machine.next_deadline();
        let (delivery, holding) = (self.delivering.next_look(), self.holding.next_look());
        [due, sync, cool, room, delivery, holding]
            .into_iter()
            .flatten()
            .min()
    }

    fn sync_if_due(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        let Some(since) = self.sync.since_ms else {
            return;
        };
        let due = self.rules.synced_only
            || self.log.unsynced_bytes() >= self.timing.sync_bytes
            || self.timing.sync_due_ms(since) <= now_ms;
        if self.sync.in_flight || !due {
            return;
        }
        match self.log.begin_sync() {
            Ok(Some(task)) => {
                self.sync = SyncState {
                    in_flight: true,
                    since_ms: None,
                };
                effects.push(Effect::Sync(task));
            }
            Ok(None) => self.sync.since_ms = None,
            Err(error) => {
                // Tried again when the next is due.
                self.sync.since_ms = self.fault.is_none().then_some(now_ms);
                tracing::error!(
                    partition = %self.partition,
                    error = &error as &dyn std::error::Error,
                    "sync cannot begin"
                );
            }
        }
    }

    /// Has a watermark that moved written down with the others.
    pub(crate) fn note_watermark(&mut self) {
        let watermark = self.machine.high_watermark();
        if watermark != self.watermark_at {
            self.watermarks.note(self.partition, watermark);
            self.watermark_at = watermark;
        }
    }
}

pub(crate) fn extend(effects: &mut Vec<Effect>, more: Vec<machine::replica::Effect>) {
    effects.extend(more.into_iter().map(Effect::from));
}

// === impl Effect ===

impl From<machine::replica::Effect> for Effect {
    fn from(effect: machine::replica::Effect) -> Self {
        match effect {
            machine::replica::Effect::Answer { token, outcome } => Self::Answer { token, outcome },
            machine::replica::Effect::Propose {
                in_sync,
                leader_epoch,
                partition_epoch,
            } => Self::Propose {
                in_sync,
                leader_epoch,
                partition_epoch,
            },
            machine::replica::Effect::Resign { partition_epoch } => {
                Self::Resign { partition_epoch }
            }
        }
    }
}
