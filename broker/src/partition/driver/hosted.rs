//! One replica on its driver: what [`Local`] decides is carried out here, and whoever waits is answered.

use std::{collections::HashMap, sync::Arc};

use machine::replica::{Admission, Membership, Position, Refusal, Token};
use model::{BrokerId, Epoch, Offset, TopicPartition, batch::Batch};
use replica::{Answer, Effect, Local, NotDeleted};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{Context, Job, compacting::Compacting, scrubbing::Scrubbing};
use crate::{
    disk::Disk,
    partition::{
        append::{Acks, AppendError, Appended},
        clock,
        handle::{DeleteError, Handle, Progress, Role, Shared, Snapshot},
        settings::Settings,
        strays::REMOVED,
        sync::Pending as PendingSync,
    },
};

/// Free bytes at which a log that found no room is tried again.
const ROOM_BYTES_MIN: u64 = 4 << 20;

pub(super) struct Hosted {
    pub(super) context: Arc<Context>,
    pub(super) partition: TopicPartition,
    pub(super) topic: Arc<str>,
    /// Counts what is appended.
    pub(super) records: prometheus_client::metrics::counter::Counter,
    pub(super) local: Local,
    pub(super) shared: Arc<Shared>,
    pub(super) waiting: HashMap<Token, Waiter>,
    pub(super) next_token: Token,
    /// Answers that go out when readers can see what they speak of.
    pub(super) answers: Vec<(Waiter, Result<(), AppendError>)>,
    /// The leader this follower fetches from.
    pub(super) following: Option<BrokerId>,
    pub(super) compacting: Compacting,
    pub(super) scrubbing: Scrubbing,
    /// It has records that compaction cannot read.
    pub(super) uncleanable: bool,
    /// In the driver's set of deadlines.
    pub(super) deadline_ms: Option<i64>,
}

pub(super) struct Waiter {
    answer: oneshot::Sender<Result<Appended, AppendError>>,
    appended: Appended,
}

impl Hosted {
    pub(super) fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    pub(super) fn assign(&mut self, membership: Membership, settings: Arc<Settings>, now_ms: i64) {
        let changed = **self.shared.settings.load() != *settings;
        let log = changed.then(|| settings.log(&self.context.resources));
        if changed {
            self.shared.settings.store(settings.clone());
            let delay_ms = settings.topic().delivery_delay_ms;
            self.local.delay_delivery(delay_ms, clock::wall_ms());
        }
        let rules = settings.rules(&self.context.config);
        let before = self.local.machine().membership().in_sync.len();
        let was_leading = self.local.machine().is_leading();
        let effects = self.local.assign(membership, rules, log, now_ms);
        self.act(effects);
        let machine = self.local.machine();
        if was_leading && machine.is_leading() {
            let after = machine.membership().in_sync.len();
            self.context.metrics.in_sync_changed(before, after);
        }
        self.publish();
        self.context.sessions.role_changed(self.partition);
    }

    /// Fetches from the leader, or stops.
    fn follow(&mut self) {
        let wanted = self.local.followed();
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
        let log_start = self.local.log().start_offset();
        let delta = i64::from(batch.header.last_offset_delta);
        match self
            .local
            .admit(batch, acks.into(), now_ms, deadline_ms, token)
        {
            Admission::Write { base_offset, .. } => {
                let appended = Appended {
                    base_offset,
                    last_offset: Offset(base_offset.0 + delta),
                    log_start,
                    log_append_time,
                };
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
        let effects = self.local.write(now_ms);
        self.act(effects);
        if self.context.space.is_short() {
            self.local.hand_over_later(now_ms);
            return;
        }
        let stamp = self.shared.settings.load().stamps_appends();
        let effects = self.local.hand_over(now_ms, clock::wall_ms(), stamp);
        self.act(effects);
    }

    pub(super) fn follower_at(
        &mut self,
        from: BrokerId,
        known: (Epoch, i32),
        position: Position,
        now_ms: i64,
    ) {
        let effects = self.local.follower_at(from, known, position, now_ms);
        self.act(effects);
    }

    /// Applies a leader's answer; see [`Local::fetched`].
    pub(super) fn fetched(&mut self, epoch: Epoch, answer: Answer, now_ms: i64) -> bool {
        if !matches!(answer, Answer::Records { .. }) {
            // It reads what is to be cut.
            self.compacting.stop();
        }
        let (used, effects) = self.local.fetched(epoch, answer, now_ms);
        self.act(effects);
        used
    }

    pub(super) fn proposal_refused(&mut self, partition_epoch: i32, now_ms: i64) {
        let effects = self.local.proposal_refused(partition_epoch, now_ms);
        self.act(effects);
    }

    pub(super) fn resignation_refused(&mut self, partition_epoch: i32, now_ms: i64) {
        self.local.resignation_refused(partition_epoch, now_ms);
    }

    pub(super) fn synced(&mut self, outcome: Result<Offset, commitlog::Error>, now_ms: i64) {
        let effects = self.local.synced(outcome, now_ms);
        self.act(effects);
    }

    pub(super) fn fail(&mut self, error: &commitlog::Error, now_ms: i64) {
        let effects = self.local.fail(error, now_ms);
        self.act(effects);
    }

    pub(super) fn delete_records(&mut self, before: Offset) -> Result<Offset, DeleteError> {
        let m = self.local.machine().membership();
        let (leader, epoch) = (m.leader, m.leader_epoch);
        self.local.delete_records(before).map_err(|why| match why {
            NotDeleted::NotLeader => DeleteError::NotLeader { leader, epoch },
            NotDeleted::OutOfRange { start, end } => DeleteError::OffsetOutOfRange { start, end },
            NotDeleted::Storage(error) => DeleteError::Storage(error.to_string()),
        })
    }

    pub(super) fn tick(&mut self, now_ms: i64) {
        let effects = self.local.tick(now_ms, has_room);
        self.act(effects);
    }

    /// The look that every replica gets once in the retention interval.
    pub(super) fn sweep(&mut self, now_ms: i64) {
        let wall_ms = clock::wall_ms();
        let start = self.shared.reader.start_offset();
        let expired_ms = wall_ms - self.context.tuning.producers_expire_ms();
        self.local.sweep(now_ms, wall_ms, expired_ms);
        self.publish();
        if self.shared.reader.start_offset() != start {
            // Who reads nearby must not be sent where the records are gone.
            self.report();
        }
    }

    /// Tells the leader anew where this follower stands.
    pub(super) fn report(&self) {
        if let Some(leader) = self.following {
            self.context.fetchers.follow(leader, self.shared.clone());
        }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.local.next_deadline()
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
                    partition_epoch,
                    ..
                } if self.has_outdated(&in_sync) => {
                    self.shared.mailbox.send(Job::ProposalRefused {
                        partition: self.partition,
                        partition_epoch,
                    });
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
                Effect::Grown { records } => {
                    self.records.inc_by(records);
                    let replicas = &self.local.machine().membership().replicas;
                    self.context.sessions.grown(self.partition, replicas);
                }
                Effect::Sync(task) => self.context.syncers.run(PendingSync {
                    task,
                    mailbox: self.shared.mailbox.clone(),
                    partition: self.partition,
                }),
                Effect::Follow => {
                    // The fetcher tells the leader the epoch that is shown, at once and only then.
                    self.publish();
                    self.follow();
                }
                Effect::Report => self.report(),
                Effect::Failed => self.context.metrics.failed(self.partition, true),
                Effect::Recovered => {
                    self.context.metrics.failed(self.partition, false);
                    self.context.sessions.role_changed(self.partition);
                    self.context.roster.changed();
                }
            }
        }
    }

    /// Looks for what is due where the topic delays delivery.
    fn deliver(&mut self) {
        if !self.local.delays_delivery() {
            return;
        }
        let now_ms = self.context.clock.now_ms();
        if let Some(damaged) = self.local.deliver(now_ms, clock::wall_ms()) {
            self.handle().suspect(damaged);
        }
    }

    /// Shows handles and readers what is true now, and only then answers: who has been answered
    /// finds what it wrote.
    pub(super) fn publish(&mut self) {
        self.deliver();
        let (machine, log) = (self.local.machine(), self.local.log());
        let m = machine.membership();
        let leading = machine.is_leading();
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
            in_sync: m.in_sync.contains(&self.context.this),
            min_isr: machine.required(),
            high_watermark: machine.high_watermark(),
            readable_end: self.local.readable_end(),
            hidden_upto: self.local.hidden_upto(),
            held: self.local.held().0,
            watermark_settled: machine.is_watermark_settled(),
        };
        let progress = Progress {
            high_watermark: snapshot.high_watermark,
            readable_end: snapshot.readable_end,
            last_stable_offset: snapshot.readable_end,
            log_end: log.end_offset(),
            log_start: log.start_offset(),
            leader_epoch: snapshot.leader_epoch,
            leading,
        };
        *self.shared.snapshot.write() = snapshot;
        let mut watermark_moved = false;
        self.shared.progress.send_if_modified(|p| {
            let changed = *p != progress;
            watermark_moved = p.high_watermark != progress.high_watermark;
            *p = progress;
            changed
        });
        if leading && watermark_moved {
            self.context
                .sessions
                .watermark_moved(self.partition, &m.replicas);
        }
        for (waiter, outcome) in self.answers.drain(..) {
            let _unheard = waiter.answer.send(outcome.map(|()| waiter.appended));
        }
    }

    /// Closes the log and leaves the files of a clean shutdown; false when it could not.
    pub(super) fn close(mut self) -> bool {
        self.stop("the broker stops");
        let partition = self.partition;
        let closed = self.local.close();
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
        self.context.watermarks.forget(self.partition);
        self.compacting.stop();
        // Where the cleaner, which may be writing still, does not find it.
        let present = self.local.directory().to_owned();
        let directory = present.with_extension(REMOVED);
        let moved = std::fs::rename(&present, &directory);
        drop(self);
        let removed = moved.and_then(|()| std::fs::remove_dir_all(&directory));
        // One that never had a record has no files.
        if let Err(error) = removed
            && error.kind() != std::io::ErrorKind::NotFound
        {
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

    pub(super) fn refused(&self, refusal: Refusal) -> AppendError {
        let m = self.local.machine().membership();
        AppendError::refused(refusal, m.leader, m.leader_epoch)
    }
}

/// Whether the disk of that directory, or where it shall be, takes more.
pub(super) fn has_room(directory: &std::path::Path) -> bool {
    let there = directory.ancestors().find(|path| path.exists());
    Disk::holding(there.unwrap_or(directory)).is_ok_and(|disk| disk.free_bytes >= ROOM_BYTES_MIN)
}
