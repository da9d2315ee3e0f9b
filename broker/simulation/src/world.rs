//! One run: the agenda, the network, the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    hash::{DefaultHasher, Hasher},
};

use machine::{
    metadata::command::{Assignment, Command, Reply},
    replica::Ack,
};
use model::{BrokerId, Offset, TopicId, TopicPartition};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    Mutation, Outcome, Plan,
    client::{Consumer, Producer},
    disk::Remains,
    event::{Agenda, Asked, Call, Connection, Event, NodeId},
    fault::Loss,
    ledger::{self, Ledger, Value},
    node::{Node, Place},
    quorum::Quorum,
};

/// A run that is mended has to be whole again after so long.
const HEAL_MAX_MS: u64 = 60_000;
/// Between looks at whether it is.
const LOOK_EVERY_US: u64 = 50_000;
/// No run is longer.
const EVENTS_MAX: u64 = 2_000_000;

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) mutation: Option<Mutation>,
    pub(crate) now_us: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) quorum: Quorum,
    pub(crate) producers: Vec<Producer>,
    pub(crate) consumers: Vec<Consumer>,
    pub(crate) client_busy_until: Vec<u64>,
    pub(crate) broken_connections: BTreeSet<Connection>,
    pub(crate) ledger: Ledger,
    pub(crate) faults: BTreeMap<&'static str, u64>,
    /// Links that carry nothing, from the first to the second.
    pub(crate) cut: Vec<(NodeId, NodeId)>,
    pub(crate) cut_from_quorum: Vec<NodeId>,
    /// A loss that waits until it may come, and when it was drawn; see `fault`.
    pub(crate) planned: Option<(Loss, NodeId, u64)>,
    /// When something went wrong last, but for what `planned` waits for.
    pub(crate) fault_us: u64,
    /// Nothing goes wrong until then.
    pub(crate) quiet_until_us: u64,
    /// Messages of one direction arrive in their order.
    busy_until: BTreeMap<(NodeId, NodeId), u64>,
    agenda: Agenda,
    topic: TopicId,
    trace: Trace,
    _directory: TempDir,
}

struct Trace {
    hasher: DefaultHasher,
    line: String,
    print: bool,
    events: u64,
}

impl World {
    pub(crate) fn new(mut plan: Plan, mutation: Option<Mutation>, trace: bool) -> Self {
        let directory = memory_directory();
        let lies = mutation == Some(Mutation::SyncNothing);
        let nodes: Vec<Node> = (0..plan.nodes)
            .map(|n| {
                let skew = plan.dice.roll(plan.skew_max_ms + 1);
                Node::new(n, directory.path(), lies, i64::try_from(skew).unwrap())
            })
            .collect();
        let mut world = Self {
            mutation,
            now_us: 0,
            quorum: Quorum::new(nodes.len()),
            planned: None,
            fault_us: 0,
            quiet_until_us: 0,
            nodes,
            producers: Vec::new(),
            consumers: Vec::new(),
            client_busy_until: Vec::new(),
            broken_connections: BTreeSet::new(),
            ledger: Ledger::default(),
            faults: BTreeMap::new(),
            cut: Vec::new(),
            cut_from_quorum: Vec::new(),
            busy_until: BTreeMap::new(),
            agenda: Agenda::default(),
            topic: TopicId(Uuid::from_u128(7)),
            trace: Trace {
                hasher: DefaultHasher::new(),
                line: String::new(),
                print: trace,
                events: 0,
            },
            _directory: directory,
            plan,
        };
        world.prepare();
        world
    }

    /// Every broker in, one topic of three replicas, clients.
    fn prepare(&mut self) {
        let plan = format!("{:?}", self.plan);
        self.note(|| plan);
        for n in 0..self.nodes.len() {
            let id = self.nodes[n].broker();
            let incarnation = self.nodes[n].incarnation;
            let registered = self.command(Command::RegisterBroker {
                id,
                incarnation,
                rack: None,
                endpoints: Vec::new(),
                previous_epoch: None,
                levels: machine::metadata::feature::Levels::BUILD,
            });
            let Reply::Registered { epoch } = registered else {
                unreachable!("{registered:?}")
            };
            self.command(Command::UnfenceBroker { id, epoch });
        }
        let all: Vec<BrokerId> = self.nodes.iter().map(Node::broker).collect();
        let assignment = (0..self.plan.partitions).map(|_| {
            let first = self.plan.dice.index(all.len());
            all.iter().cycle().skip(first).take(3).copied().collect()
        });
        let assignment = Assignment::Manual(assignment.collect());
        let created = self.command(Command::CreateTopic {
            name: "simulated".into(),
            id: self.topic,
            assignment,
            configs: Vec::new(),
        });
        assert!(matches!(created, Reply::TopicCreated { .. }), "{created:?}");
        for partition in self.partitions() {
            self.producers
                .push(Producer::new(partition, Ack::InSync, true));
            self.producers
                .push(Producer::new(partition, Ack::Leader, false));
            self.consumers.push(Consumer::new(partition));
        }
        if self.plan.dice.chance(300) {
            let partition = self.partitions()[0];
            self.producers
                .push(Producer::new(partition, Ack::InSync, true));
        }
        self.client_busy_until = vec![0; self.producers.len()];
        for n in 0..self.nodes.len() {
            self.start(n);
        }
        for index in 0..self.producers.len() {
            self.later(500_000, Event::Producer(index));
        }
        for index in 0..self.consumers.len() {
            self.later(500_000, Event::Consumer(index));
        }
        self.later(1_000, Event::Supervise);
        self.later(1_000_000, Event::Fault);
    }

    pub(crate) fn partitions(&self) -> Vec<TopicPartition> {
        let partition = |partition| TopicPartition {
            topic: self.topic,
            partition,
        };
        (0..self.plan.partitions).map(partition).collect()
    }

    pub(crate) fn run(mut self) -> Outcome {
        let rough_us = self.plan.rough_ms * 1000;
        self.pass_until(rough_us);
        if self.ledger.violation().is_none() {
            self.mend_all();
            let deadline = self.now_us + HEAL_MAX_MS * 1000;
            while self.ledger.violation().is_none() && !self.is_whole() {
                if self.now_us >= deadline {
                    let image = format!("{:?}", self.quorum.image().topics);
                    self.ledger.broken(format!(
                        "[I15] not whole again after {HEAL_MAX_MS} ms: {image}"
                    ));
                    break;
                }
                let until = self.now_us + LOOK_EVERY_US;
                self.pass_until(until);
            }
            if self.ledger.violation().is_none() {
                self.compare();
            }
        }
        Outcome {
            trace: self.trace.hasher.finish(),
            events: self.trace.events,
            acknowledged: self.ledger.acknowledged_count(),
            faults: std::mem::take(&mut self.faults),
            violation: self.ledger.violation().cloned(),
        }
    }

    pub(crate) fn is_rough(&self) -> bool {
        self.now_us < self.plan.rough_ms * 1000
    }

    fn pass_until(&mut self, until_us: u64) {
        while self.ledger.violation().is_none() && self.trace.events < EVENTS_MAX {
            let Some((at, event)) = self.agenda.pop_until(until_us) else {
                break;
            };
            self.now_us = at;
            self.trace.events += 1;
            self.happen(event);
        }
        self.now_us = self.now_us.max(until_us);
    }

    fn happen(&mut self, event: Event) {
        if let Some(n) = event.at()
            && self.nodes[n].is_paused(self.now_us)
        {
            if let Event::Request { call, .. } = &event {
                // It is not waited for that long; what was sent is in its buffers.
                self.fail_call(*call);
            }
            self.nodes[n].deferred.push(event);
            return;
        }
        match event {
            Event::Request { call, request } => {
                if self.nodes[call.leader].place == Place::Serving {
                    self.requested(call, request);
                } else {
                    self.fail_call(call);
                }
            }
            Event::Response { call, response } if self.lives(call.follower, call.life) => {
                self.responded(call, response);
            }
            Event::Drive(n, life) if self.lives(n, life) => self.drive(n),
            Event::Answer(n, life, follower) if self.lives(n, life) => self.answer(n, follower),
            Event::Fetch(n, life, leader) if self.lives(n, life) => self.fetch(n, leader),
            Event::Sync(n, life, partition, task) if self.lives(n, life) => {
                let outcome = task.run();
                if self.survives(n) {
                    self.job(n, crate::event::Job::Synced { partition, outcome });
                }
            }
            Event::Submit(n, life, asked) if self.lives(n, life) => self.submit_again(n, asked),
            Event::Apply(n, life) if self.lives(n, life) => self.apply(n),
            Event::Offered(submission, heard) => self.offered(*submission, heard),
            Event::Replied(n, life, number, answer) if self.lives(n, life) => {
                self.replied(n, number, answer);
            }
            Event::Supervise => self.supervise(),
            Event::Produce { to, .. } => self.append(to, event),
            Event::Produced { attempt, outcome } => self.produced(attempt, outcome),
            Event::Producer(index) => self.produce(index),
            Event::Consumer(index) => self.consume(index),
            Event::Fault => self.fault(),
            Event::Resume(n) => self.resume(n),
            Event::Restart(n) => self.start(n),
            Event::Mend(wound) => self.mend(wound),
            Event::Close(n, life) if self.lives(n, life) => self.close(n),
            _ => {}
        }
    }

    fn lives(&self, n: NodeId, life: u32) -> bool {
        self.nodes[n].is_up() && self.nodes[n].life == life
    }

    /// A node's process begins.
    pub(crate) fn start(&mut self, n: NodeId) {
        if self.nodes[n].is_up() {
            return;
        }
        let back = self.plan.dice.index(4);
        let node = &mut self.nodes[n];
        node.place = Place::Registering;
        // It knows at first what it knew, or a little less.
        node.applied = node.applied.saturating_sub(back);
        let life = node.life;
        self.note(|| format!("{n} starts its life {life}"));
        let keeps = self.mutation == Some(Mutation::KeepPlaceAfterRestart) && life > 0;
        let id = self.nodes[n].broker();
        let known = self.quorum.image().brokers.get(&id).map(|b| b.epoch);
        if let (true, Some(epoch)) = (keeps, known) {
            self.serve(n, epoch);
        } else {
            self.submit(n, Asked::Registration);
        }
        self.later(10, Event::Apply(n, life));
    }

    // === the network ===

    /// Between brokers: in order, if at all.
    pub(crate) fn send(&mut self, from: NodeId, to: NodeId, event: Event) {
        let (Event::Request { call, .. } | Event::Response { call, .. }) = &event else {
            return;
        };
        let call = *call;
        let lost = self.cut.contains(&(from, to))
            || (self.is_rough() && self.plan.dice.chance(self.plan.loss_per_mille));
        if lost {
            self.fail_call(call);
            return;
        }
        let latest = self.plan.delay_max_us;
        let mut after = self.plan.dice.between(30, latest);
        if self.is_rough() && self.plan.dice.chance(5) {
            // Its connection is given up, and what is in its buffers may be read yet.
            self.fail_call(call);
            after += self.plan.dice.between(1_000, 1_500_000);
            self.later(after, event);
            return;
        }
        let busy = self.busy_until.entry((from, to)).or_default();
        let at = (self.now_us + after).max(*busy);
        *busy = at;
        self.at(at, event);
    }

    /// The follower gives the call up.
    fn fail_call(&mut self, call: Call) {
        let after = self.plan.dice.between(1_000, 300_000);
        self.later(
            after,
            Event::Response {
                call,
                response: None,
            },
        );
    }

    pub(crate) fn is_cut_from_quorum(&self, n: NodeId) -> bool {
        self.cut_from_quorum.contains(&n)
    }

    // === time and notes ===

    pub(crate) fn at(&mut self, time_us: u64, event: Event) {
        self.agenda.at(time_us.max(self.now_us), event);
    }

    pub(crate) fn later(&mut self, after_us: u64, event: Event) {
        self.agenda.at(self.now_us + after_us, event);
    }

    /// Into the trace.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let trace = &mut self.trace;
        trace.line.clear();
        let _written = write!(trace.line, "{:>10} {}", self.now_us, line());
        trace.hasher.write(trace.line.as_bytes());
        if trace.print {
            println!("{}", trace.line);
        }
    }

    /// Whether the node lived through what it has just done; if power went meanwhile it is down, with
    /// what that left.
    pub(crate) fn survives(&mut self, n: NodeId) -> bool {
        let Some(remains) = self.nodes[n].disk.struck() else {
            return true;
        };
        self.note(|| format!("{n} is struck in the middle of it"));
        self.lose_power(n, &remains);
        false
    }

    pub(crate) fn lose_power(&mut self, n: NodeId, remains: &Remains) {
        let node = &mut self.nodes[n];
        node.stop();
        node.left = commitlog::Shutdown::Unclean;
        node.disk.restore(remains);
        node.disk.fill(false);
        self.hang_up(n);
        let after = self.plan.dice.between(50_000, 3_000_000);
        self.later(after, Event::Restart(n));
    }

    /// Its process is gone: whoever waits for it hears so.
    pub(crate) fn hang_up(&mut self, n: NodeId) {
        let calls: Vec<Call> = self
            .nodes
            .iter()
            .flat_map(|node| {
                let fetcher = node.fetchers.get(&n).into_iter();
                fetcher.flat_map(move |f| f.calls(node.id, node.life, n))
            })
            .collect();
        for call in calls {
            self.fail_call(call);
        }
    }

    // === the end ===

    /// Everybody is in sync and has everything.
    fn is_whole(&self) -> bool {
        let image = self.quorum.image();
        let clients = self.producers.iter().all(Producer::is_idle);
        clients
            && self.partitions().iter().all(|partition| {
                let number = usize::try_from(partition.partition).unwrap();
                let agreed = &image.topics[&partition.topic].partitions[number];
                let replicas = agreed.replicas.iter().map(|b| crate::quorum::place(*b));
                let held: Vec<_> = replicas
                    .filter_map(|n| self.nodes[n].hosted.get(partition))
                    .collect();
                let end = held.first().map(|h| h.local.log().end_offset());
                agreed.isr.len() == agreed.replicas.len()
                    && agreed.leader.is_some()
                    && held.len() == agreed.replicas.len()
                    && held.iter().all(|h| {
                        let epoch = h.local.machine().membership().leader_epoch;
                        epoch == agreed.leader_epoch
                            && Some(h.local.log().end_offset()) == end
                            && Some(h.shown.high_watermark) == end
                    })
            })
    }

    /// The logs of each partition are the same, and hold what they should.
    fn compare(&mut self) {
        for partition in self.partitions() {
            let number = usize::try_from(partition.partition).unwrap();
            let agreed = &self.quorum.image().topics[&partition.topic].partitions[number];
            let replicas: Vec<NodeId> = agreed
                .replicas
                .iter()
                .map(|b| crate::quorum::place(*b))
                .collect();
            let start = replicas
                .iter()
                .filter_map(|n| {
                    Some(
                        self.nodes[*n]
                            .hosted
                            .get(&partition)?
                            .local
                            .log()
                            .start_offset(),
                    )
                })
                .max()
                .unwrap_or_default();
            let mut first: Option<Vec<bytes::Bytes>> = None;
            for n in replicas {
                match self.batches(n, partition, start) {
                    Ok(batches) => {
                        if first.as_ref().is_some_and(|f| *f != batches) {
                            self.ledger.broken(format!(
                                "[I10] replicas of {partition} differ, on node {n} from the first"
                            ));
                        }
                        first.get_or_insert(batches);
                    }
                    Err(error) => self
                        .ledger
                        .broken(format!("[I10] node {n} cannot read its log: {error}")),
                }
            }
            let values: BTreeMap<Offset, Value> = first
                .unwrap_or_default()
                .into_iter()
                .flat_map(|bytes| ledger::records(&model::batch::Batch::parse(&bytes).unwrap()))
                .filter(|(offset, _)| *offset >= start)
                .collect();
            if start > self.ledger.first_kept(partition) {
                self.ledger.broken(format!(
                    "[I1] {partition} begins at {start}, which nobody asked for"
                ));
            }
            let producers: Vec<bool> = self.producers.iter().map(|p| p.idempotent).collect();
            self.ledger
                .drained(partition, start, &values, |producer| producers[producer]);
        }
    }

    fn batches(
        &self,
        n: NodeId,
        partition: TopicPartition,
        from: Offset,
    ) -> Result<Vec<bytes::Bytes>, commitlog::Error> {
        let log = self.nodes[n].hosted[&partition].local.log();
        let runs = log.read(from, usize::MAX)?;
        let batches = runs
            .into_iter()
            .flat_map(|run| model::batch::split(run).unwrap());
        Ok(batches.map(|b| b.bytes).collect())
    }
}

/// Where files cost no disk, if there is such a place.
fn memory_directory() -> TempDir {
    let memory = std::path::Path::new("/dev/shm");
    tempfile::tempdir_in(memory)
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}
