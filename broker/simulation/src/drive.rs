//! A node's driver and what becomes of a replica's effects; see the broker's `partition::driver`.

use std::collections::BTreeSet;

use commitlog::{Config, Resources, Shutdown};
use machine::{
    metadata::{command::Reply, image::Partition},
    replica::{Ack, Admission, Membership, Rules},
};
use model::{BrokerId, Offset, TopicPartition};
use replica::{Effect, Next, Opening, Proposal, Timing, Verdict};

use crate::{
    Mutation,
    event::{Asked, Event, Job, NodeId},
    node::{Hosted, Place, Shown},
    plan::Promise,
    quorum::place,
    world::World,
};

/// Between looks at retention.
const SWEEP_EVERY_MS: i64 = 1500;
/// From a high watermark that moved to writing all of them down.
const WATERMARKS_AFTER_MS: i64 = 5000;

impl World {
    /// The broker is registered: it opens its logs and asks to be let in.
    pub(crate) fn serve(&mut self, n: NodeId, epoch: i64) {
        let now_us = self.now_us;
        let node = &mut self.nodes[n];
        node.registered = Some(epoch);
        node.place = Place::Serving;
        node.load_watermarks();
        node.sweep_at_ms = node.now_ms(now_us) + SWEEP_EVERY_MS;
        self.assign_changed(n);
        let life = self.nodes[n].life;
        self.later(1_000, Event::Submit(n, life, Asked::Unfence));
    }

    /// Tells the driver what differs from what it was told; see the broker's roster.
    pub(crate) fn assign_changed(&mut self, n: NodeId) {
        let this = self.nodes[n].broker();
        let mut jobs = Vec::new();
        let image = self.image_of(n);
        for topic in image.topics.values() {
            for (number, agreed) in (0..).zip(&topic.partitions) {
                let partition = TopicPartition {
                    topic: topic.id,
                    partition: number,
                };
                let told = self.nodes[n].told.get(&partition);
                if agreed.replicas.contains(&this) && told != Some(&agreed.partition_epoch) {
                    jobs.push((partition, agreed.partition_epoch, membership(agreed)));
                }
            }
        }
        for (partition, version, membership) in jobs {
            self.nodes[n].told.insert(partition, version);
            self.job(
                n,
                Job::Assign {
                    partition,
                    membership,
                },
            );
        }
    }

    /// Into the driver's mailbox.
    pub(crate) fn job(&mut self, n: NodeId, job: Job) {
        self.nodes[n].jobs.push_back(job);
        // A driver may be slow to wake: others look at what it shows meanwhile.
        let latest = if self.plan.dice.chance(20) {
            30_000
        } else {
            500
        };
        let after = self.plan.dice.between(10, latest);
        self.drive_at(n, self.now_us + after);
    }

    fn drive_at(&mut self, n: NodeId, at_us: u64) {
        let node = &mut self.nodes[n];
        if at_us < node.drive_at_us {
            node.drive_at_us = at_us;
            let life = node.life;
            self.at(at_us, Event::Drive(n, life));
        }
    }

    /// One round of the driver: jobs, writes, the clock.
    pub(crate) fn drive(&mut self, n: NodeId) {
        if self.nodes[n].drive_at_us > self.now_us {
            // A sooner one has been here.
            return;
        }
        self.nodes[n].drive_at_us = u64::MAX;
        let now_ms = self.nodes[n].now_ms(self.now_us);
        let life = self.nodes[n].life;
        let mut touched = BTreeSet::new();
        for job in std::mem::take(&mut self.nodes[n].jobs) {
            touched.extend(self.carry_out(n, job, now_ms));
            if !self.survives(n) || self.nodes[n].life != life {
                return;
            }
        }
        if !self.write(n, &touched, now_ms) {
            return;
        }
        let due = |h: &Hosted| h.local.next_deadline().is_some_and(|at| at <= now_ms);
        let mut late: BTreeSet<TopicPartition> = BTreeSet::new();
        for (partition, hosted) in &self.nodes[n].hosted {
            if due(hosted) {
                late.insert(*partition);
            }
        }
        let sweeps = now_ms >= self.nodes[n].sweep_at_ms;
        if sweeps {
            self.nodes[n].sweep_at_ms = now_ms + SWEEP_EVERY_MS;
        }
        for partition in self.nodes[n].hosted.keys().copied().collect::<Vec<_>>() {
            let disk = self.nodes[n].disk.clone();
            let hosted = self.nodes[n].hosted.get_mut(&partition).unwrap();
            if late.contains(&partition) {
                let effects = hosted.local.tick(now_ms, |_| !disk.is_full());
                self.act(n, partition, effects);
            }
            if sweeps {
                let hosted = self.nodes[n].hosted.get_mut(&partition).unwrap();
                hosted.local.sweep(now_ms, now_ms, 0);
                late.insert(partition);
            }
            if !self.survives(n) {
                return;
            }
        }
        if self.write(n, &late, now_ms) {
            self.nodes[n].store_watermarks(now_ms, WATERMARKS_AFTER_MS);
            self.drive_again(n, now_ms);
        }
    }

    fn drive_again(&mut self, n: NodeId, now_ms: i64) {
        let deadlines = self.nodes[n].hosted.values();
        let next = deadlines.filter_map(|h| h.local.next_deadline()).min();
        let next = next.unwrap_or(i64::MAX).min(self.nodes[n].sweep_at_ms);
        let next = next.min(self.nodes[n].watermarks_at_ms);
        let wait_ms = u64::try_from(next - now_ms).unwrap_or(0).max(1);
        // Clocks tick in milliseconds.
        let at_us = (self.now_us / 1000 + wait_ms) * 1000;
        self.drive_at(n, at_us);
    }

    /// One write for each of these, then what follows from it. False when power went.
    fn write(&mut self, n: NodeId, touched: &BTreeSet<TopicPartition>, now_ms: i64) -> bool {
        for partition in touched {
            let Some(hosted) = self.nodes[n].hosted.get_mut(partition) else {
                continue;
            };
            let effects = hosted.local.write(now_ms);
            if !self.survives(n) {
                return false;
            }
            self.act(n, *partition, effects);
            self.publish(n, *partition);
        }
        true
    }

    fn carry_out(&mut self, n: NodeId, job: Job, now_ms: i64) -> Option<TopicPartition> {
        match job {
            Job::Assign {
                partition,
                membership,
            } => {
                self.assign(n, partition, membership, now_ms);
                Some(partition)
            }
            Job::Append {
                partition,
                batch,
                ack,
                timeout_ms,
                attempt,
            } => {
                let ack = match (ack, self.mutation) {
                    (Ack::InSync, Some(Mutation::AckBeforeReplication)) => Ack::Leader,
                    _ => ack,
                };
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                let token = hosted.next_token;
                hosted.next_token += 1;
                match hosted
                    .local
                    .admit(batch, ack, now_ms, now_ms + timeout_ms, token)
                {
                    Admission::Write { base_offset, .. } => {
                        hosted.waiting.insert(token, (attempt, base_offset));
                    }
                    Admission::Duplicate(placed) => {
                        hosted.waiting.insert(token, (attempt, placed.base_offset));
                    }
                    Admission::Refused(refusal) => hosted.answers.push((attempt, Err(refusal))),
                }
                Some(partition)
            }
            Job::DeleteRecords { partition, before } => {
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                if hosted.local.machine().is_leading() {
                    let watermark = hosted.local.machine().high_watermark();
                    let _refused = hosted.local.delete_records(before.min(watermark));
                    self.ledger.deleted_before(partition, before.min(watermark));
                }
                Some(partition)
            }
            Job::FollowerAt {
                partition,
                from,
                epoch,
                partition_epoch,
                position,
            } => {
                let from = BrokerId(i32::try_from(from).unwrap() + 1);
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                let effects =
                    hosted
                        .local
                        .follower_at(from, (epoch, partition_epoch), position, now_ms);
                self.act(n, partition, effects);
                Some(partition)
            }
            Job::Lost { partition, unheard } => {
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                let effects = hosted.local.lost(unheard, now_ms);
                self.act(n, partition, effects);
                Some(partition)
            }
            Job::Fetched {
                partition,
                leader,
                session,
                epoch,
                answer,
            } => {
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                let (used, effects) = hosted.local.fetched(epoch, answer, now_ms);
                self.act(n, partition, effects);
                self.applied(n, leader, session, partition, used);
                Some(partition)
            }
            Job::Synced { partition, outcome } => {
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                let effects = hosted.local.synced(outcome, now_ms);
                self.act(n, partition, effects);
                Some(partition)
            }
            Job::ProposalRefused {
                partition,
                partition_epoch,
            } => {
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                let effects = hosted.local.proposal_refused(partition_epoch, now_ms);
                self.act(n, partition, effects);
                Some(partition)
            }
            Job::ResignationRefused {
                partition,
                partition_epoch,
            } => {
                let hosted = self.nodes[n].hosted.get_mut(&partition)?;
                hosted.local.resignation_refused(partition_epoch, now_ms);
                Some(partition)
            }
        }
    }

    fn assign(
        &mut self,
        n: NodeId,
        partition: TopicPartition,
        membership: Membership,
        now_ms: i64,
    ) {
        if !self.nodes[n].hosted.contains_key(&partition)
            && !self.open(n, partition, &membership, now_ms)
        {
            return;
        }
        let rules = self.rules();
        let hosted = self.nodes[n].hosted.get_mut(&partition).unwrap();
        let effects = hosted.local.assign(membership, rules, None, now_ms);
        if !self.survives(n) {
            return;
        }
        self.act(n, partition, effects);
        self.publish(n, partition);
        self.look_everywhere(n, partition);
    }

    fn rules(&self) -> Rules {
        Rules {
            in_sync_min: self.plan.in_sync_min,
            lag_max_ms: self.plan.lag_max_ms,
            synced_only: self.plan.promise == Promise::Synced,
        }
    }

    fn open(
        &mut self,
        n: NodeId,
        partition: TopicPartition,
        membership: &Membership,
        now_ms: i64,
    ) -> bool {
        let node = &self.nodes[n];
        let directory = node.log_directory(partition);
        if self.mutation == Some(Mutation::TruncateByWatermark) {
            truncate_by_watermark(&directory, node.watermarks.of(partition));
        }
        let opening = Opening {
            this: node.broker(),
            partition,
            directory,
            membership,
            rules: self.rules(),
            log: Config {
                segment_bytes: self.plan.segment_bytes,
                index_interval_bytes: 512,
                index_bytes_max: 4096,
                retention_ms: None,
                delete_delay_ms: 1000,
                opened_after: node.left,
                resources: Resources {
                    disk: node.disk.clone(),
                    ..Resources::default()
                },
                ..Config::default()
            },
            timing: Timing {
                sync_ms: self.plan.sync_ms,
                sync_bytes: 256 << 10,
            },
            watermarks: node.watermarks.clone(),
            damaged: false,
            wall_ms: now_ms,
        };
        let opened = opening.open();
        let damaged = node.damaged();
        if !self.survives(n) {
            return false;
        }
        match opened {
            Ok(local) if damaged.is_empty() => {
                self.note(|| {
                    let (log, machine) = (local.log(), local.machine());
                    let (start, end) = (log.start_offset(), log.end_offset());
                    let watermark = machine.high_watermark();
                    format!("{n} opens {partition}: {start} to {end}, watermark {watermark}")
                });
                let hosted = Hosted {
                    local,
                    shown: Shown::default(),
                    waiting: Default::default(),
                    next_token: 0,
                    answers: Vec::new(),
                    following: None,
                };
                self.nodes[n].hosted.insert(partition, hosted);
                true
            }
            Ok(_) => {
                self.ledger
                    .broken(format!("[I14] node {n} set a log aside: {damaged:?}"));
                false
            }
            Err(error) => {
                use std::error::Error;
                let cause = error.source().map(ToString::to_string);
                self.ledger.broken(format!(
                    "[I14] node {n} cannot open its log: {error}: {cause:?}"
                ));
                false
            }
        }
    }

    pub(crate) fn act(&mut self, n: NodeId, partition: TopicPartition, effects: Vec<Effect>) {
        let life = self.nodes[n].life;
        for effect in effects {
            let hosted = self.nodes[n].hosted.get_mut(&partition).unwrap();
            match effect {
                Effect::Answer { token, outcome } => {
                    if let Some((attempt, base)) = hosted.waiting.remove(&token) {
                        hosted.answers.push((attempt, outcome.map(|()| base)));
                    }
                }
                Effect::Propose {
                    in_sync,
                    leader_epoch,
                    partition_epoch,
                } => {
                    self.note(|| format!("{n} proposes {in_sync:?} for {partition_epoch}"));
                    let broker = self.nodes[n].broker();
                    let proposal =
                        Proposal::new(partition, broker, in_sync, leader_epoch, partition_epoch);
                    if proposal.is_eligible(self.image_of(n)) {
                        let asked = Asked::Proposal(partition, partition_epoch, proposal);
                        self.later(50, Event::Submit(n, life, asked));
                    } else {
                        let refused = Job::ProposalRefused {
                            partition,
                            partition_epoch,
                        };
                        self.job(n, refused);
                    }
                }
                Effect::Resign { partition_epoch } => {
                    let asked = Asked::Resignation(partition, partition_epoch);
                    self.later(50, Event::Submit(n, life, asked));
                }
                Effect::Grown { .. } => self.look_everywhere(n, partition),
                Effect::Sync(task) => {
                    // A disk that is slow now and then.
                    let latest = if self.plan.dice.chance(50) {
                        60_000
                    } else {
                        3_000
                    };
                    let after = self.plan.dice.between(100, latest);
                    self.later(after, Event::Sync(n, life, partition, Box::new(task)));
                }
                Effect::Follow => self.follow(n, partition),
                Effect::Report => {
                    if let Some(leader) = hosted.following {
                        self.report_to(n, leader, partition);
                    }
                }
                Effect::Failed => self.note(|| format!("{n} fails {partition}")),
                Effect::Recovered => {
                    self.note(|| format!("{n} recovers {partition}"));
                    self.look_everywhere(n, partition);
                }
            }
        }
    }

    /// Shows what is true now, and only then answers.
    fn publish(&mut self, n: NodeId, partition: TopicPartition) {
        let life = self.nodes[n].life;
        let hosted = self.nodes[n].hosted.get_mut(&partition).unwrap();
        let machine = hosted.local.machine();
        let shown = Shown {
            leading: machine.is_leading(),
            epoch: machine.membership().leader_epoch,
            high_watermark: machine.high_watermark(),
        };
        hosted.shown = shown;
        let answers = std::mem::take(&mut hosted.answers);
        if shown.leading {
            self.ledger
                .leads(partition, shown.epoch, (n, life), shown.high_watermark);
        }
        for (attempt, outcome) in answers {
            // Where the seed's files lie is another place each time.
            let root = self.nodes[n].root.display().to_string();
            self.note(|| format!("{n} answers {attempt:?}: {outcome:?}").replace(&root, ""));
            let outcome: Result<Offset, _> = outcome.map_err(Some);
            let after = self.client_delay();
            self.later(after, Event::Produced { attempt, outcome });
        }
    }

    pub(crate) fn proposal_answered(
        &mut self,
        n: NodeId,
        partition: TopicPartition,
        partition_epoch: i32,
        mut proposal: Proposal,
        reply: Option<Reply>,
    ) {
        match proposal.answered(Verdict::of(reply), self.image_of(n)) {
            Next::Done => {}
            Next::Refuse(_) => {
                let refused = Job::ProposalRefused {
                    partition,
                    partition_epoch,
                };
                self.job(n, refused);
            }
            Next::Again => {
                self.propose_later(n, Asked::Proposal(partition, partition_epoch, proposal));
            }
        }
    }

    pub(crate) fn resignation_refused(
        &mut self,
        n: NodeId,
        partition: TopicPartition,
        partition_epoch: i32,
    ) {
        let refused = Job::ResignationRefused {
            partition,
            partition_epoch,
        };
        self.job(n, refused);
    }

    /// A node's logs are closed in order, and the mark is left.
    pub(crate) fn close(&mut self, n: NodeId) {
        let mut clean = true;
        for (_, hosted) in std::mem::take(&mut self.nodes[n].hosted) {
            if let Some(producers) = hosted.local.prepare_close() {
                producers.put(false);
            }
            clean &= hosted.local.close().is_ok();
            if !self.survives(n) {
                return;
            }
        }
        self.nodes[n].watermarks.store();
        self.nodes[n].stop();
        self.hang_up(n);
        self.nodes[n].left = if clean {
            Shutdown::Clean
        } else {
            Shutdown::Unclean
        };
    }

    pub(crate) fn leader_node(&self, n: NodeId, partition: TopicPartition) -> Option<NodeId> {
        self.nodes[n]
            .hosted
            .get(&partition)?
            .local
            .followed()
            .map(place)
    }
}

fn membership(agreed: &Partition) -> Membership {
    Membership {
        leader: agreed.leader,
        leader_epoch: agreed.leader_epoch,
        partition_epoch: agreed.partition_epoch,
        replicas: agreed.replicas.clone(),
        in_sync: agreed.isr.clone(),
        eligible: agreed.elr.clone(),
    }
}

/// As replicas did before KIP-101.
fn truncate_by_watermark(directory: &std::path::Path, watermark: Option<Offset>) {
    if directory.exists()
        && let Ok((mut log, _)) = commitlog::Log::open(directory, Config::default())
    {
        let _failed = log.truncate_to(watermark.unwrap_or(Offset(0)));
    }
}
