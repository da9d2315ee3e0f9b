//! Driver threads: each owns the logs and machines of its share of the partitions, drains its mailbox,
//! and writes once per partition and wake-up whatever has gathered.
//!
//! Owns the order of things: what is written before it is answered, who is woken when. Never waits for
//! a sync (but of what it notes when a topic's delay changes, and of records that wait), a peer or the metadata quorum: their answers
//! come back as jobs. A partition without traffic has no deadline and costs nothing but its look every
//! retention interval.

mod closing;
mod compacting;
mod hosted;
mod joining;
mod lost;
mod offline;
mod open;
mod repair;
mod scrubbing;
mod turned_away;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use commitlog::Resources;
use machine::replica::{Membership, Position};
use model::{BrokerId, Epoch, Offset, TopicPartition, batch::Batch};
use parking_lot::{Condvar, Mutex};
use replica::Answer;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

pub(super) use lost::watch as watch_peers;

use hosted::Hosted;
use offline::Offline;

use super::{
    Config,
    append::{Acks, AppendError, Appended, Origin},
    blocking::Pool,
    cleaner::Cleaner,
    clock::Clock,
    handle::DeleteError,
    metrics::Metrics,
    peers::{Fetchers, Refetch, Sessions},
    proposals::Proposals,
    roster::Roster,
    scrubber::Scrubber,
    settings::Settings,
    space::Space,
    sync::Syncers,
    threads,
    tuning::Tuning,
};

/// Milliseconds after which high watermarks that moved are written down.
const WATERMARKS_AFTER_MS: i64 = 5000;

/// What a driver is asked to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Open the replica if it is not, and take over what the cluster agreed on.
    Assign {
        partition: TopicPartition,
        topic: Arc<str>,
        membership: Membership,
        settings: Arc<Settings>,
    },
    /// The replica is not to be here any more: close it and remove its files.
    Remove { partition: TopicPartition },
    Append {
        partition: TopicPartition,
        batch: Batch,
        acks: Acks,
        timeout: Duration,
        log_append_time: Option<i64>,
        origin: Origin,
        answer: oneshot::Sender<Result<Appended, AppendError>>,
        permit: OwnedSemaphorePermit,
    },
    DeleteRecords {
        partition: TopicPartition,
        before: Offset,
        answer: oneshot::Sender<Result<Offset, DeleteError>>,
    },
    /// A follower says how far it has come.
    FollowerAt {
        partition: TopicPartition,
        from: BrokerId,
        /// Leader epoch that it follows.
        epoch: Epoch,
        /// Partition epoch that it knows, or -1.
        partition_epoch: i32,
        position: Position,
    },
    /// Brokers that this one heard and hears no more: all of them.
    Lost { unheard: Arc<BTreeSet<BrokerId>> },
    /// Tell the leader anew where this follower stands.
    Report { partition: TopicPartition },
    /// A leader's answer to this follower.
    Fetched {
        partition: TopicPartition,
        epoch: Epoch,
        answer: Answer,
        /// False when it could not be used.
        done: oneshot::Sender<bool>,
    },
    Compacted {
        partition: TopicPartition,
        /// Of the compaction that has ended.
        stop: Arc<AtomicBool>,
        /// `None` when it was stopped.
        outcome: Result<Option<commitlog::Compacted>, commitlog::Error>,
    },
    /// A log was read again.
    Scrubbed {
        partition: TopicPartition,
        /// Of the scrub that has ended.
        stop: Arc<AtomicBool>,
        outcome: Result<Vec<commitlog::Hole>, commitlog::Error>,
    },
    /// What another replica has where the log is damaged.
    Refetched {
        partition: TopicPartition,
        hole: commitlog::Hole,
        /// `None` when nobody has it.
        batches: Option<bytes::Bytes>,
    },
    /// A reader found the log damaged there.
    Suspected {
        partition: TopicPartition,
        offset: Offset,
    },
    Synced {
        partition: TopicPartition,
        outcome: Result<Offset, commitlog::Error>,
    },
    ProposalRefused {
        partition: TopicPartition,
        /// The version that it was made for.
        partition_epoch: i32,
    },
    ResignationRefused {
        partition: TopicPartition,
        /// The version that it was made for.
        partition_epoch: i32,
    },
    /// Close every replica. True when all is on disk; false when a log was not closed cleanly or could
    /// never be opened.
    Stop { done: oneshot::Sender<bool> },
}

/// Where jobs for one driver go. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Mailbox(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The driver is gone: jobs are dropped, and with them the answers they wait for.
    closed: bool,
}

/// What all drivers of a broker use.
pub(super) struct Context {
    pub this: BrokerId,
    pub config: Config,
    pub directory: std::path::PathBuf,
    pub opened_after: commitlog::Shutdown,
    pub resources: Resources,
    pub clock: Clock,
    pub roster: Roster,
    pub sessions: Sessions,
    pub fetchers: Fetchers,
    pub proposals: Proposals,
    pub syncers: Syncers,
    /// Of the logs.
    pub file_system: Arc<commitlog::FileSystem>,
    pub watermarks: Arc<replica::Watermarks>,
    pub cleaner: Cleaner,
    pub tuning: Arc<Tuning>,
    pub scrubber: Scrubber,
    pub refetch: Refetch,
    pub space: Space,
    pub metrics: Metrics,
    pub inflaters: Pool,
    pub room: Arc<tokio::sync::Semaphore>,
}

struct Driver {
    context: Arc<Context>,
    mailbox: Mailbox,
    hosted: HashMap<TopicPartition, Hosted>,
    /// Those that should be hosted, but their log cannot be opened.
    offline: HashMap<TopicPartition, Offline>,
    /// When a partition wants to look at the clock, earliest first.
    deadlines: BTreeSet<(i64, TopicPartition)>,
    /// Brokers that this one heard and hears no more.
    unheard: Arc<BTreeSet<BrokerId>>,
    /// Partitions touched since the last write.
    touched: BTreeSet<TopicPartition>,
    /// When to write down high watermarks that have moved.
    watermarks_at_ms: i64,
    sweep_at_ms: i64,
    /// When to look again for logs to compact.
    compact_at_ms: i64,
    /// Every log that is or was to be here was opened.
    opened_all: bool,
}

// === impl Mailbox ===

impl Mailbox {
    pub(super) fn send(&self, job: Job) {
        let mut state = self.0.state.lock();
        if state.closed {
            drop(state);
            drop(job);
            return;
        }
        state.jobs.push_back(job);
        // The driver looks again before it sleeps: only the first job has to wake it.
        if state.jobs.len() == 1 {
            self.0.filled.notify_one();
        }
    }

    /// All that waits; waits itself until there is something or `until` has come.
    fn take(&self, until: Instant) -> VecDeque<Job> {
        let mut state = self.0.state.lock();
        while state.jobs.is_empty() {
            if self.0.filled.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        std::mem::take(&mut state.jobs)
    }

    /// The driver is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.0.state.lock().closed
    }

    fn close(&self) {
        let left = {
            let mut state = self.0.state.lock();
            state.closed = true;
            std::mem::take(&mut state.jobs)
        };
        drop(left);
    }
}

/// Whatever ends the driver, nobody waits for it afterwards.
impl Drop for Driver {
    fn drop(&mut self) {
        self.mailbox.close();
    }
}

/// Starts a driver that reads `mailbox`.
pub(super) fn start(context: Arc<Context>, mailbox: Mailbox, number: usize) -> std::io::Result<()> {
    let now_ms = context.clock.now_ms();
    let mut driver = Driver {
        sweep_at_ms: now_ms + context.config.sweep_ms,
        compact_at_ms: now_ms.saturating_add(context.tuning.compact_every_ms()),
        context,
        mailbox,
        hosted: HashMap::new(),
        offline: HashMap::new(),
        deadlines: BTreeSet::new(),
        unheard: Arc::default(),
        touched: BTreeSet::new(),
        watermarks_at_ms: i64::MAX,
        opened_all: true,
    };
    threads::spawn(format!("partition-{number}"), move || driver.run())
}

// === impl Driver ===

impl Driver {
    fn run(&mut self) {
        loop {
            let jobs = self.mailbox.take(self.next_look());
            let now_ms = self.context.clock.now_ms();
            for job in jobs {
                if let Job::Stop { done } = job {
                    self.mailbox.close();
                    let cleanly = self.close();
                    // Nobody waits any more when the receiver is gone.
                    let _unheard = done.send(cleanly);
                    return;
                }
                self.handle(job, now_ms);
            }
            self.write(now_ms);
            self.look_at_clock(now_ms);
        }
    }

    fn next_look(&self) -> Instant {
        let due = self
            .deadlines
            .first()
            .map_or(i64::MAX, |(at, _)| *at)
            .min(self.watermarks_at_ms)
            .min(self.sweep_at_ms)
            .min(self.compact_at_ms);
        let due = self.next_offline_look().map_or(due, |at| at.min(due));
        let wait = due.saturating_sub(self.context.clock.now_ms()).max(0);
        Instant::now() + Duration::from_millis(wait.cast_unsigned())
    }

    fn handle(&mut self, job: Job, now_ms: i64) {
        match job {
            Job::Assign {
                partition,
                topic,
                membership,
                settings,
            } => self.assign(partition, &topic, membership, settings, now_ms),
            Job::Remove { partition } => self.remove(partition),
            Job::Append {
                partition,
                batch,
                acks,
                timeout,
                log_append_time,
                origin,
                answer,
                permit,
            } => self.with(partition, |hosted| {
                if origin == Origin::Client
                    && let Some(why) = hosted.shortage(&batch)
                {
                    hosted.turn_away(&batch.header, why, now_ms, answer);
                    return;
                }
                let times_ms = (now_ms, now_ms.saturating_add(millis(timeout)));
                hosted.admit(batch, acks, times_ms, log_append_time, answer, permit);
            }),
            Job::DeleteRecords {
                partition,
                before,
                answer,
            } => self.with(partition, |hosted| {
                let _unheard = answer.send(hosted.delete_records(before));
            }),
            Job::FollowerAt {
                partition,
                from,
                epoch,
                partition_epoch,
                position,
            } => self.with(partition, |hosted| {
                hosted.follower_at(from, (epoch, partition_epoch), position, now_ms);
            }),
            Job::Lost { unheard } => self.lost(unheard, now_ms),
            Job::Report { partition } => self.with(partition, |hosted| hosted.report()),
            Job::Fetched {
                partition,
                epoch,
                answer,
                done,
            } => self.with(partition, |hosted| {
                let used = hosted.fetched(epoch, answer, now_ms);
                let _unheard = done.send(used);
            }),
            Job::Compacted {
                partition,
                stop,
                outcome,
            } => self.with(partition, |hosted| {
                hosted.compacted(&stop, outcome, now_ms);
            }),
            Job::Suspected { partition, offset } => self.suspected(partition, offset),
            Job::Scrubbed {
                partition,
                stop,
                outcome,
            } => self.scrubbed(partition, &stop, outcome),
            Job::Refetched {
                partition,
                hole,
                batches,
            } => self.refetched(partition, &hole, batches, now_ms),
            Job::Synced { partition, outcome } => {
                self.with(partition, |hosted| hosted.synced(outcome, now_ms));
            }
            Job::ProposalRefused {
                partition,
                partition_epoch,
            } => self.with(partition, |hosted| {
                hosted.proposal_refused(partition_epoch, now_ms);
            }),
            Job::ResignationRefused {
                partition,
                partition_epoch,
            } => self.resignation_refused(partition, partition_epoch, now_ms),
            Job::Stop { .. } => {}
        }
    }

    fn with(&mut self, partition: TopicPartition, f: impl FnOnce(&mut Hosted)) {
        if let Some(hosted) = self.hosted.get_mut(&partition) {
            f(hosted);
            self.touched.insert(partition);
        }
    }

    fn assign(
        &mut self,
        partition: TopicPartition,
        topic: &Arc<str>,
        membership: Membership,
        settings: Arc<Settings>,
        now_ms: i64,
    ) {
        if self.still_gives_up(partition, &membership, &settings, now_ms) {
            return;
        }
        if !self.hosted.contains_key(&partition) {
            let opened = Hosted::open(
                &self.context,
                partition,
                topic,
                &membership,
                settings.clone(),
                &self.mailbox,
                self.is_damaged(partition),
            );
            match opened {
                Ok(hosted) => {
                    self.offline.remove(&partition);
                    self.context.metrics.failed(partition, false);
                    self.context.roster.opened(hosted.handle());
                    self.hosted.insert(partition, hosted);
                }
                Err(error) => {
                    self.stays_offline(partition, topic, membership, settings, &error, now_ms);
                    return;
                }
            }
        }
        let unheard = self.unheard.clone();
        self.with(partition, |hosted| {
            hosted.lost(unheard, now_ms);
            hosted.assign(membership, settings, now_ms);
        });
        self.context.roster.changed();
    }

    fn remove(&mut self, partition: TopicPartition) {
        self.context.metrics.failed(partition, false);
        self.offline.remove(&partition);
        if let Some(hosted) = self.take_out(partition) {
            hosted.remove();
        }
    }

    /// The replica, which is not here any more for anybody.
    fn take_out(&mut self, partition: TopicPartition) -> Option<Hosted> {
        self.context.roster.closed(partition);
        self.touched.remove(&partition);
        let mut hosted = self.hosted.remove(&partition)?;
        if let Some(at) = hosted.deadline_ms.take() {
            self.deadlines.remove(&(at, partition));
        }
        Some(hosted)
    }

    /// One write for each partition with something to write, then what follows from it.
    fn write(&mut self, now_ms: i64) {
        for partition in std::mem::take(&mut self.touched) {
            let Some(hosted) = self.hosted.get_mut(&partition) else {
                continue;
            };
            hosted.write(now_ms);
            hosted.publish();
            let due = hosted.next_deadline();
            let before = std::mem::replace(&mut hosted.deadline_ms, due);
            if before != due {
                if let Some(at) = before {
                    self.deadlines.remove(&(at, partition));
                }
                if let Some(at) = due {
                    self.deadlines.insert((at, partition));
                }
            }
        }
        if self.watermarks_at_ms == i64::MAX && self.context.watermarks.have_changed() {
            self.watermarks_at_ms = now_ms + WATERMARKS_AFTER_MS;
        }
    }

    fn look_at_clock(&mut self, now_ms: i64) {
        while let Some((at, partition)) = self.deadlines.first().copied()
            && at <= now_ms
        {
            self.deadlines.pop_first();
            if let Some(hosted) = self.hosted.get_mut(&partition) {
                hosted.deadline_ms = None;
                hosted.tick(now_ms);
                self.touched.insert(partition);
            }
        }
        self.look_at_offline(now_ms);
        if now_ms >= self.watermarks_at_ms {
            self.watermarks_at_ms = i64::MAX;
            self.context.watermarks.store();
        }
        if now_ms >= self.sweep_at_ms {
            self.sweep_at_ms = now_ms + self.context.config.sweep_ms;
            for hosted in self.hosted.values_mut() {
                hosted.sweep(now_ms);
                hosted.scrub(now_ms);
            }
        }
        if now_ms >= self.compact_at_ms {
            self.compact_at_ms = now_ms.saturating_add(self.context.tuning.compact_every_ms());
            for hosted in self.hosted.values_mut() {
                if hosted.settings().topic().compact {
                    hosted.compact(now_ms);
                }
            }
        }
        self.write(now_ms);
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
