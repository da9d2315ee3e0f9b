//! One replica on its driver: the log, the machine, and whoever waits for an answer.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use commitlog::Log;
use machine::replica::{
    Admission, Effect, Ends, Membership, Position, Refusal, Replica, Token, producers::Producers,
};
use model::{
    BrokerId, Offset, TopicPartition,
    batch::{self, Batch},
};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{Context, compacting::Compacting, fault::Fault, producers, watermark};
use crate::partition::{
    append::{Acks, AppendError, Appended},
    handle::{DeleteError, Handle, Progress, Role, Shared, Snapshot},
    settings::Settings,
    sync::Pending as PendingSync,
};

/// Ending of the directory of a replica that is gone.
const REMOVED: &str = "removed";
/// Milliseconds without a write after which the newest batches leave memory.
const TAIL_IDLE_MS: i64 = 10_000;

pub(super) struct Hosted {
    pub(super) context: Arc<Context>,
    pub(super) partition: TopicPartition,
    pub(super) topic: Arc<str>,
    /// Counts what is appended.
    pub(super) records: prometheus_client::metrics::counter::Counter,
    pub(super) directory: PathBuf,
    pub(super) log: Log,
    pub(super) machine: Replica,
    pub(super) shared: Arc<Shared>,
    /// Admitted and not written.
    pub(super) staged: Vec<Bytes>,
    pub(super) staged_records: u64,
    pub(super) waiting: HashMap<Token, Waiter>,
    pub(super) next_token: Token,
    /// Answers that go out when readers can see what they speak of.
    pub(super) answers: Vec<(Waiter, Result<(), AppendError>)>,
    pub(super) sync: SyncState,
    /// The leader this follower fetches from.
    pub(super) following: Option<BrokerId>,
    /// The log takes nothing more.
    pub(super) fault: Option<Fault>,
    pub(super) compacting: Compacting,
    /// It has records that compaction cannot read.
    pub(super) uncleanable: bool,
    /// In the driver's set of deadlines.
    pub(super) deadline_ms: Option<i64>,
    /// When the log was last written, until its tail was let go.
    pub(super) warm_since_ms: Option<i64>,
    /// End of the log when the producers were last written down.
    pub(super) producers_at: Offset,
    /// High watermark as it was written down, and when to write down a later one.
    pub(super) watermark_at: Offset,
    pub(super) store_watermark_ms: Option<i64>,
}

pub(super) struct Waiter {
    answer: oneshot::Sender<Result<Appended, AppendError>>,
    appended: Appended,
}

#[derive(Default)]
pub(super) struct SyncState {
    in_flight: bool,
    /// When the first byte was written that no sync covers.
    since_ms: Option<i64>,
}

impl Hosted {
    pub(super) fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    pub(super) fn ends(&self) -> Ends {
        let reader = &self.shared.reader;
        Ends {
            start: reader.start_offset(),
            end: reader.end_offset(),
            synced: reader.synced_offset(),
        }
    }

    pub(super) fn assign(&mut self, membership: Membership, settings: Arc<Settings>, now_ms: i64) {
        if **self.shared.settings.load() != *settings {
            self.log.reconfigure(settings.log(&self.context.resources));
            self.shared.settings.store(settings.clone());
        }
        // What was admitted under the old role is written before the new one is known.
        self.write(now_ms);
        let rules = settings.rules(&self.context.config);
        let effects = self.machine.reconfigure(rules, now_ms);
        self.act(effects);
        let before = self.machine.membership().in_sync.len();
        let was_leading = self.machine.is_leading();
        let effects = self.machine.assign(membership, now_ms);
        self.act(effects);
        let after = self.machine.membership().in_sync.len();
        if was_leading && self.machine.is_leading() {
            self.context.metrics.in_sync_changed(before, after);
        }
        self.publish();
        self.follow();
        self.context.sessions.role_changed(self.partition);
    }

    /// Fetches from the leader, or stops.
    pub(super) fn follow(&mut self) {
        let leader = self.machine.membership().leader;
        let wanted = leader.filter(|l| *l != self.context.this && self.fault.is_none());
        if let Some(before) = self.following
            && wanted != Some(before)
        {
            self.context.fetchers.unfollow(before, self.partition);
        }
        if let Some(leader) = wanted {
            self.context.fetchers.follow(leader, self.shared.clone());
        }
        self.following = wanted;
    }

    pub(super) fn admit(
        &mut self,
        batch: Batch,
        acks: Acks,
        (now_ms, deadline_ms): (i64, i64),
        log_append_time: Option<i64>,
        answer: oneshot::Sender<Result<Appended, AppendError>>,
        permit: OwnedSemaphorePermit,
    ) {
        let token = self.next_token;
        self.next_token += 1;
        let log_start = self.log.start_offset();
        match self
            .machine
            .admit(&batch.header, acks.into(), now_ms, deadline_ms, token)
        {
            Admission::Write { base_offset, epoch } => {
                let delta = i64::from(batch.header.last_offset_delta);
                let appended = Appended {
                    base_offset,
                    last_offset: Offset(base_offset.0 + delta),
                    log_start,
                    log_append_time,
                };
                self.staged
                    .push(batch::place(batch.bytes, base_offset, epoch));
                self.staged_records += u64::from(batch.header.record_count.unsigned_abs());
                self.waiting.insert(token, Waiter { answer, appended });
            }
            Admission::Duplicate(placed) => {
                let appended = Appended {
                    base_offset: placed.base_offset,
                    last_offset: placed.last_offset,
                    log_start,
                    log_append_time: Some(placed.timestamp),
                };
                self.waiting.insert(token, Waiter { answer, appended });
            }
            Admission::Refused(refusal) => {
                let _unheard = answer.send(Err(self.refused(refusal)));
            }
        }
        drop(permit);
    }

    /// Writes what was admitted, in one call, and answers whom that satisfies.
    pub(super) fn write(&mut self, now_ms: i64) {
        if self.staged.is_empty() && self.fault.is_none() {
            // A duplicate may be waiting for what is committed already.
            let effects = self.machine.written(self.log.end_offset(), now_ms);
            self.act(effects);
        } else if !self.staged.is_empty() {
            let staged = std::mem::take(&mut self.staged);
            let records = std::mem::take(&mut self.staged_records);
            match self.log.append(&staged) {
                Ok(()) => {
                    self.records.inc_by(records);
                    self.wrote(now_ms);
                    let effects = self.machine.written(self.log.end_offset(), now_ms);
                    self.act(effects);
                    let replicas = &self.machine.membership().replicas;
                    self.context.sessions.grown(self.partition, replicas);
                }
                Err(error) => self.append_failed(&error, now_ms),
            }
        }
        self.sync_if_due(now_ms);
    }

    fn append_failed(&mut self, error: &commitlog::Error, now_ms: i64) {
        if is_of_the_disk(error) {
            self.fail(error, now_ms);
            return;
        }
        tracing::error!(
            partition = %self.partition,
            error = error as &dyn std::error::Error,
            "append failed"
        );
        let effects = self.machine.write_failed(&error.to_string(), now_ms);
        self.act(effects);
    }

    /// Forgets what was admitted and not written: whoever waits for it is told by other means.
    pub(super) fn discard_staged(&mut self) {
        self.staged.clear();
        self.staged_records = 0;
    }

    /// Notes that the log grew.
    pub(super) fn wrote(&mut self, now_ms: i64) {
        self.sync.since_ms.get_or_insert(now_ms);
        self.warm_since_ms = Some(now_ms);
    }

    pub(super) fn follower_at(&mut self, from: BrokerId, position: Position, now_ms: i64) {
        let effects = self.machine.position_of(from, position, now_ms);
        self.act(effects);
    }

    pub(super) fn proposal_refused(&mut self, partition_epoch: i32, now_ms: i64) {
        let effects = self.machine.proposal_refused(partition_epoch, now_ms);
        self.act(effects);
    }

    pub(super) fn resignation_refused(&mut self, partition_epoch: i32, now_ms: i64) {
        self.machine.resignation_refused(partition_epoch, now_ms);
    }

    pub(super) fn synced(&mut self, outcome: Result<Offset, commitlog::Error>, now_ms: i64) {
        self.sync.in_flight = false;
        match outcome {
            Ok(upto) => {
                let effects = self.machine.synced(upto, now_ms);
                self.act(effects);
                if self.following.is_some() && self.settings().synced_only() {
                    self.refetch();
                }
            }
            Err(error) => self.fail(&error, now_ms),
        }
    }

    pub(super) fn delete_records(&mut self, before: Offset) -> Result<Offset, DeleteError> {
        let m = self.machine.membership();
        if !self.machine.is_leading() {
            return Err(DeleteError::NotLeader {
                leader: m.leader,
                epoch: m.leader_epoch,
            });
        }
        let high_watermark = self.machine.high_watermark();
        // -1 asks for all that is committed.
        let before = if before == Offset::UNKNOWN {
            high_watermark
        } else {
            before
        };
        if before < Offset(0) || before > high_watermark {
            return Err(DeleteError::OffsetOutOfRange {
                start: self.log.start_offset(),
                high_watermark,
            });
        }
        self.log
            .delete_before(before)
            .map_err(|e| DeleteError::Storage(e.to_string()))?;
        self.machine.deleted_before(before);
        Ok(self.log.start_offset())
    }

    pub(super) fn tick(&mut self, now_ms: i64) {
        let effects = self.machine.tick(now_ms);
        self.act(effects);
        self.look_for_room(now_ms);
        if self.store_watermark_ms.is_some_and(|at| at <= now_ms) {
            self.store_watermark();
        }
        if self
            .warm_since_ms
            .is_some_and(|at| at + TAIL_IDLE_MS <= now_ms)
        {
            self.log.release_tail();
            self.warm_since_ms = None;
        }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        let sync = match self.sync {
            SyncState {
                in_flight: false,
                since_ms: Some(since),
            } => Some(since + self.context.config.sync_ms),
            _ => None,
        };
        let cool = self.warm_since_ms.map(|at| at + TAIL_IDLE_MS);
        let room = self.fault.as_ref().and_then(Fault::next_look);
        let due = self.machine.next_deadline();
        [due, sync, cool, room, self.store_watermark_ms]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn act(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Answer { token, outcome } => {
                    let Some(waiter) = self.waiting.remove(&token) else {
                        continue;
                    };
                    let outcome = outcome.map_err(|refusal| self.refused(refusal));
                    self.answers.push((waiter, outcome));
                }
                Effect::Propose {
                    in_sync,
                    leader_epoch,
                    partition_epoch,
                } => self.context.proposals.submit(
                    self.shared.mailbox.clone(),
                    self.partition,
                    in_sync,
                    leader_epoch,
                    partition_epoch,
                ),
                Effect::Resign { partition_epoch } => self.context.proposals.resign(
                    self.shared.mailbox.clone(),
                    self.partition,
                    partition_epoch,
                ),
            }
        }
    }

    /// Shows handles and readers what is true now, and only then answers: who has been answered
    /// finds what it wrote.
    pub(super) fn publish(&mut self) {
        let m = self.machine.membership();
        let leading = self.machine.is_leading();
        let snapshot = Snapshot {
            role: if leading {
                Role::Leader
            } else {
                Role::Follower
            },
            leader: m.leader,
            leader_epoch: m.leader_epoch,
            partition_epoch: m.partition_epoch,
            replicas: m.replicas.clone(),
            isr: m.in_sync.clone(),
            min_isr: self.machine.required(),
            high_watermark: self.machine.high_watermark(),
            watermark_settled: self.machine.is_watermark_settled(),
        };
        let progress = Progress {
            high_watermark: snapshot.high_watermark,
            last_stable_offset: snapshot.high_watermark,
            log_end: self.log.end_offset(),
            log_start: self.log.start_offset(),
            leader_epoch: snapshot.leader_epoch,
            leading,
        };
        if self.store_watermark_ms.is_none() && snapshot.high_watermark != self.watermark_at {
            let now_ms = self.context.clock.now_ms();
            self.store_watermark_ms = Some(now_ms + watermark::STORE_AFTER_MS);
        }
        *self.shared.snapshot.write() = snapshot;
        self.shared.progress.send_if_modified(|p| {
            let changed = *p != progress;
            *p = progress;
            changed
        });
        for (waiter, outcome) in self.answers.drain(..) {
            let _unheard = waiter.answer.send(outcome.map(|()| waiter.appended));
        }
    }

    /// Closes the log and leaves the files of a clean shutdown; false when it could not.
    pub(super) fn close(mut self) -> bool {
        self.stop("the broker stops");
        self.store_producers();
        self.store_watermark();
        let partition = self.partition;
        let closed = self.log.close();
        if let Err(error) = &closed {
            tracing::error!(
                %partition,
                error = error as &dyn std::error::Error,
                "log was not closed cleanly"
            );
        }
        closed.is_ok()
    }

    /// Removes the files.
    pub(super) fn remove(mut self) {
        self.stop("the partition is gone");
        self.compacting.stop();
        // Where the cleaner, which may be writing still, does not find it.
        let directory = self.directory.with_extension(REMOVED);
        let moved = std::fs::rename(&self.directory, &directory);
        drop(self);
        let removed = moved.and_then(|()| std::fs::remove_dir_all(&directory));
        if let Err(error) = removed {
            tracing::error!(directory = %directory.display(), %error, "files of a replica are left");
        }
    }

    fn stop(&mut self, why: &str) {
        if let Some(leader) = self.following.take() {
            self.context.fetchers.unfollow(leader, self.partition);
        }
        tracing::debug!(partition = %self.partition, why, "replica is closed");
        for (_, waiter) in self.waiting.drain() {
            let _unheard = waiter.answer.send(Err(AppendError::Stopping));
        }
    }

    pub(super) fn settings(&self) -> Arc<Settings> {
        self.shared.settings.load_full()
    }

    /// Has the follower's fetcher report this replica again.
    fn refetch(&self) {
        if let Some(leader) = self.following {
            self.context.fetchers.follow(leader, self.shared.clone());
        }
    }

    fn sync_if_due(&mut self, now_ms: i64) {
        let Some(since) = self.sync.since_ms else {
            return;
        };
        let due = self.settings().synced_only()
            || self.log.unsynced_bytes() >= self.context.config.sync_bytes
            || since + self.context.config.sync_ms <= now_ms;
        if self.sync.in_flight || !due {
            return;
        }
        match self.log.begin_sync() {
            Ok(Some(task)) => {
                self.sync = SyncState {
                    in_flight: true,
                    since_ms: None,
                };
                self.context.syncers.run(PendingSync {
                    task,
                    mailbox: self.shared.mailbox.clone(),
                    partition: self.partition,
                });
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

    fn refused(&self, refusal: Refusal) -> AppendError {
        let m = self.machine.membership();
        AppendError::refused(refusal, m.leader, m.leader_epoch)
    }

    /// What the log says of producers.
    pub(super) fn recount_producers(&self) -> Producers {
        producers::recount(&self.directory, &self.shared.reader)
    }
}

/// As opposed to bytes that are no batch or do not follow.
pub(super) fn is_of_the_disk(error: &commitlog::Error) -> bool {
    matches!(
        error,
        commitlog::Error::Io { .. } | commitlog::Error::Poisoned
    )
}
