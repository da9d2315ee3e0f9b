//! Three replicas, a controller and a bad network in one thread. Every step is drawn from a seed; a
//! failing seed is named in the panic.
//!
//! Checked all the time: no two replicas disagree below the lower of their watermarks, and no leader's
//! watermark goes back within its epoch. Checked at the end, after the network has healed: every
//! acknowledged record is in every log, the logs are equal, and what the idempotent client sent is there
//! once and in order. See [`client`] for what it must never hear.

mod client;

use std::collections::{BTreeMap, BTreeSet};

use client::{CLIENT, Client};

use super::*;
use crate::replica::divergence::{cut_to, diverging};

const BROKERS: [i32; 3] = [1, 2, 3];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }
}

/// A log: epoch and value of each record.
#[derive(Clone, Default)]
struct Log {
    records: Vec<(i32, u64)>,
    synced: usize,
}

impl Log {
    fn end(&self) -> i64 {
        self.records.len() as i64
    }

    fn ends(&self) -> Ends {
        Ends {
            start: Offset(0),
            end: Offset(self.end()),
            synced: Offset(self.synced as i64),
        }
    }

    fn last_epoch(&self) -> Option<Epoch> {
        self.records.last().map(|r| Epoch(r.0))
    }

    /// Largest epoch at or below `asked` and its end.
    fn end_of(&self, asked: Epoch) -> (Epoch, Offset) {
        let n = self.records.partition_point(|r| r.0 <= asked.0);
        match n.checked_sub(1) {
            Some(i) => (Epoch(self.records[i].0), Offset(n as i64)),
            None => (asked, Offset(0)),
        }
    }
}

struct Node {
    replica: Replica,
    log: Log,
    up: bool,
}

#[derive(Clone)]
enum Message {
    Fetch {
        from: i32,
        epoch: Epoch,
        at: Position,
        last_epoch: Option<Epoch>,
    },
    Data {
        epoch: Epoch,
        base: i64,
        records: Vec<(i32, u64)>,
        watermark: Offset,
    },
    Diverging {
        epoch: Epoch,
        next: i64,
        known: (Epoch, Offset),
    },
}

struct World {
    dice: Dice,
    now_ms: i64,
    nodes: BTreeMap<i32, Node>,
    agreed: Membership,
    /// Under way, per pair in order: (from, to, message).
    network: Vec<(i32, i32, Message)>,
    /// Values by token, and those that were acknowledged.
    asked: BTreeMap<Token, u64>,
    acknowledged: BTreeSet<u64>,
    watermarks: BTreeMap<i32, Offset>,
    /// Proposals that the controller may still carry out: their leaders know nothing of them.
    late: Vec<Late>,
    client: Client,
    lossy: bool,
}

struct Late {
    leader: i32,
    in_sync: Vec<BrokerId>,
    leader_epoch: Epoch,
    partition_epoch: i32,
}

impl World {
    fn new(seed: u64) -> Self {
        let agreed = membership(0, 0, &BROKERS);
        // The client's first batch is everywhere: before that any sequence is as good to a log.
        let log = Log {
            records: vec![(0, CLIENT)],
            synced: 1,
        };
        let nodes = BROKERS.map(|id| {
            let replica = fresh(id, &log, Offset(0));
            let (log, up) = (log.clone(), true);
            (id, Node { replica, log, up })
        });
        let mut world = Self {
            dice: Dice(seed),
            now_ms: 0,
            nodes: nodes.into(),
            agreed,
            network: Vec::new(),
            asked: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            watermarks: BTreeMap::new(),
            late: Vec::new(),
            client: Client::default(),
            lossy: true,
        };
        world.publish();
        world
    }

    /// Everybody who is up learns what is agreed on.
    fn publish(&mut self) {
        for id in BROKERS {
            self.teach(id);
        }
    }

    fn teach(&mut self, id: i32) {
        let (agreed, now) = (self.agreed.clone(), self.now_ms);
        let node = self.nodes.get_mut(&id).unwrap();
        if node.up {
            let effects = node.replica.assign(agreed, now);
            self.act(id, effects);
        }
    }

    fn act(&mut self, id: i32, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Answer { token, outcome } => {
                    if outcome.is_ok() {
                        self.acknowledged.insert(self.asked[&token]);
                    }
                    self.client.answered(token, outcome.is_ok());
                }
                Effect::Propose {
                    in_sync,
                    leader_epoch,
                    partition_epoch,
                } => {
                    let proposal = Late {
                        leader: id,
                        in_sync,
                        leader_epoch,
                        partition_epoch,
                    };
                    if self.lossy && self.dice.roll(3) == 0 {
                        self.late.push(proposal);
                    } else {
                        self.decide(proposal);
                    }
                }
                Effect::Resign { partition_epoch } => self.let_go(id, partition_epoch),
            }
        }
    }

    /// The controller's side of a proposal; now and then its answer is lost. One for an earlier
    /// version is not answered: the leader learns the later version.
    fn decide(&mut self, proposal: Late) {
        let version = (proposal.leader_epoch, proposal.partition_epoch);
        if (self.agreed.leader_epoch, self.agreed.partition_epoch) != version {
            return;
        }
        let all_up = proposal.in_sync.iter().all(|b| self.nodes[&b.0].up);
        if all_up && !(self.lossy && self.dice.roll(4) == 0) {
            self.agreed.in_sync = proposal.in_sync;
            self.agreed.partition_epoch += 1;
            if self.lossy && self.dice.roll(3) == 0 {
                return; // learnt later, by `teach`
            }
            self.publish();
        } else {
            let (id, now) = (proposal.leader, self.now_ms);
            let node = self.nodes.get_mut(&id).unwrap();
            if node.up {
                let effects = node.replica.proposal_refused(proposal.partition_epoch, now);
                self.act(id, effects);
            }
        }
    }

    /// The controller's side of a resignation: another member goes on. The answer is learnt later, by
    /// `teach`, or is that it was refused.
    fn let_go(&mut self, id: i32, partition_epoch: i32) {
        let up = |b: &BrokerId| b.0 != id && self.nodes[&b.0].up;
        let others = self.agreed.in_sync.iter().any(up);
        if self.agreed.partition_epoch == partition_epoch
            && others
            && !(self.lossy && self.dice.roll(3) == 0)
        {
            self.agreed.in_sync.retain(|b| b.0 != id);
            self.agreed.partition_epoch += 1;
            if self.agreed.leader == Some(BrokerId(id)) {
                self.elect();
            }
        } else {
            let now = self.now_ms;
            let node = self.nodes.get_mut(&id).unwrap();
            node.replica.resignation_refused(partition_epoch, now);
        }
    }

    /// The disk takes nothing more.
    fn fail(&mut self, id: i32) {
        let now = self.now_ms;
        let node = self.nodes.get_mut(&id).unwrap();
        if node.up {
            let effects = node.replica.fail("full", now);
            self.act(id, effects);
        }
    }

    fn recover(&mut self, id: i32) {
        let now = self.now_ms;
        let node = self.nodes.get_mut(&id).unwrap();
        if !node.up || !node.replica.is_failing() || !node.replica.may_recover() {
            return;
        }
        node.log.synced = node.log.records.len();
        let effects = node.replica.recovered(node.log.ends(), None, now);
        self.act(id, effects);
    }

    fn decide_late(&mut self) {
        if !self.late.is_empty() {
            let drawn = usize::try_from(self.dice.roll(self.late.len() as u64)).unwrap();
            let proposal = self.late.swap_remove(drawn);
            self.decide(proposal);
        }
    }

    fn elect(&mut self) {
        let candidates: Vec<BrokerId> = self
            .agreed
            .in_sync
            .iter()
            .copied()
            .filter(|b| self.nodes[&b.0].up)
            .collect();
        if candidates.is_empty() {
            return;
        }
        self.agreed.leader = Some(self.dice.one_of(&candidates));
        self.agreed.leader_epoch.0 += 1;
        self.agreed.partition_epoch += 1;
        self.watermarks.clear();
        if !self.lossy || self.dice.roll(3) > 0 {
            self.publish();
        }
    }

    /// Takes a broker down; what it had not synced may be gone when it returns. The controller puts it
    /// out of the in-sync set first, unless nobody else is in it: then it only stops cleanly.
    fn crash(&mut self, id: i32) {
        let others = self
            .agreed
            .in_sync
            .iter()
            .any(|b| b.0 != id && self.nodes[&b.0].up);
        let node = self.nodes.get_mut(&id).unwrap();
        node.up = false;
        if others {
            let log = &mut node.log;
            let kept = log.synced
                + usize::try_from(self.dice.roll((log.records.len() - log.synced) as u64 + 1))
                    .unwrap();
            log.records.truncate(kept);
            self.agreed.in_sync.retain(|b| b.0 != id);
            self.agreed.partition_epoch += 1;
        }
        self.network.retain(|(_, to, _)| *to != id);
        self.client.lose(id, &mut self.dice);
        if self.agreed.leader == Some(BrokerId(id)) {
            self.agreed.leader = None;
            self.agreed.leader_epoch.0 += 1;
            self.agreed.partition_epoch += 1;
            self.elect();
        }
    }

    fn restart(&mut self, id: i32) {
        let node = self.nodes.get_mut(&id).unwrap();
        if !node.up {
            node.up = true;
            node.log.synced = node.log.records.len();
            node.replica = fresh(id, &node.log, Offset(0));
            self.teach(id);
            if self.agreed.leader.is_none() {
                self.elect();
            }
        }
    }

    fn append(&mut self, id: i32) {
        let now = self.now_ms;
        let node = self.nodes.get_mut(&id).unwrap();
        if !node.up {
            return;
        }
        let mut effects = Vec::new();
        for _ in 0..=self.dice.roll(3) {
            let token = self.asked.len() as Token;
            let admitted =
                node.replica
                    .admit(&header(-1, 0, 0, 1), Ack::InSync, now, now + 500_000, token);
            if let Admission::Write { base_offset, epoch } = admitted {
                assert_eq!(base_offset.0, node.log.end());
                self.asked.insert(token, token);
                node.log.records.push((epoch.0, token));
            }
        }
        if Offset(node.log.end()) > node.replica.position().next {
            effects = node.replica.written(Offset(node.log.end()), now);
        }
        self.act(id, effects);
    }

    /// A follower asks its leader for what comes next.
    fn fetch(&mut self, id: i32) {
        let node = &self.nodes[&id];
        let m = node.replica.membership();
        if let Some(leader) = m.leader
            && node.up
            && !node.replica.is_failing()
            && leader.0 != id
        {
            let message = Message::Fetch {
                from: id,
                epoch: m.leader_epoch,
                at: node.replica.position(),
                last_epoch: node.log.last_epoch(),
            };
            self.send(id, leader.0, message);
        }
    }

    fn send(&mut self, from: i32, to: i32, message: Message) {
        if !(self.lossy && self.dice.roll(5) == 0) {
            self.network.push((from, to, message));
        }
    }

    /// Delivers the oldest message of a pair drawn at random: pairs overtake each other.
    fn deliver(&mut self) {
        if self.network.is_empty() {
            return;
        }
        let drawn = usize::try_from(self.dice.roll(self.network.len() as u64)).unwrap();
        let pair = (self.network[drawn].0, self.network[drawn].1);
        let oldest = self
            .network
            .iter()
            .position(|m| (m.0, m.1) == pair)
            .unwrap();
        let (_, to, message) = self.network.remove(oldest);
        if !self.nodes[&to].up {
            return;
        }
        match message {
            Message::Fetch {
                from,
                epoch,
                at,
                last_epoch,
            } => self.serve(to, from, epoch, at, last_epoch),
            Message::Data {
                epoch,
                base,
                records,
                watermark,
            } => {
                let node = self.nodes.get_mut(&to).unwrap();
                if takes(node, epoch) && base == node.log.end() {
                    for (offset, (_, value)) in (base..).zip(&records) {
                        client::observe(*value, Offset(offset), |h| node.replica.observe_copied(h));
                    }
                    node.log.records.extend(records);
                    node.replica.copied(node.log.ends(), watermark);
                }
            }
            Message::Diverging { epoch, next, known } => {
                let node = self.nodes.get_mut(&to).unwrap();
                if takes(node, epoch) && next == node.log.end() {
                    let end = Offset(node.log.end());
                    let cut = cut_to(known, node.log.end_of(known.0), end);
                    assert!(cut < end, "cut to {cut} of {end}");
                    node.log.records.truncate(usize::try_from(cut.0).unwrap());
                    node.log.synced = node.log.synced.min(node.log.records.len());
                    let now = self.now_ms;
                    node.replica
                        .truncated(node.log.ends(), client::recount(&node.log), now);
                }
            }
        }
    }

    fn serve(&mut self, id: i32, from: i32, epoch: Epoch, at: Position, last_epoch: Option<Epoch>) {
        let now = self.now_ms;
        let node = self.nodes.get_mut(&id).unwrap();
        if !node.replica.is_leading() || node.replica.membership().leader_epoch != epoch {
            return;
        }
        let known = last_epoch.map_or((Epoch(0), Offset(0)), |e| node.log.end_of(e));
        if let Some(known) = diverging(last_epoch, at.next, known) {
            self.send(
                id,
                from,
                Message::Diverging {
                    epoch,
                    next: at.next.0,
                    known,
                },
            );
            return;
        }
        let effects = node.replica.position_of(BrokerId(from), at, now);
        let first = usize::try_from(at.next.0).unwrap();
        let upto = node.log.records.len().min(first + 3);
        let message = Message::Data {
            epoch,
            base: at.next.0,
            records: node.log.records[first..upto].to_vec(),
            watermark: node.replica.high_watermark(),
        };
        self.act(id, effects);
        self.send(id, from, message);
    }

    fn step(&mut self) {
        self.now_ms += 20;
        let id = self.dice.one_of(&BROKERS);
        match self.dice.roll(130) {
            100..130 => self.client_steps(),
            0..15 => self.append(self.agreed.leader.map_or(id, |l| l.0)),
            // Whoever still believes to lead may be asked too.
            15..20 => self.append(id),
            20..50 => self.fetch(id),
            50..82 => self.deliver(),
            82..85 => self.decide_late(),
            85..90 => {
                let node = self.nodes.get_mut(&id).unwrap();
                node.log.synced = node.log.records.len();
            }
            90..93 => self.teach(id),
            93..95 => {
                // Longer than any client waits.
                let broker = self.client.broker();
                self.client.lose(broker, &mut self.dice);
                self.now_ms += LAG_MS / 4;
                let now = self.now_ms;
                for id in BROKERS {
                    let effects = self.nodes.get_mut(&id).unwrap().replica.tick(now);
                    if self.nodes[&id].up {
                        self.act(id, effects);
                    }
                }
            }
            95 => self.elect(),
            96 => self.fail(id),
            97 => self.crash(id),
            98 => self.recover(id),
            _ => self.restart(id),
        }
        self.check();
    }

    fn check(&mut self) {
        for (a, b) in [(1, 2), (1, 3), (2, 3)] {
            let (a, b) = (&self.nodes[&a], &self.nodes[&b]);
            let common = a.replica.high_watermark().min(b.replica.high_watermark()).0;
            let common = usize::try_from(common).unwrap();
            if a.up && b.up {
                assert_eq!(a.log.records[..common], b.log.records[..common]);
            }
        }
        let Some(leader) = self.agreed.leader else {
            return;
        };
        let node = &self.nodes[&leader.0];
        if node.replica.is_leading()
            && node.replica.membership().leader_epoch == self.agreed.leader_epoch
        {
            let watermark = node.replica.high_watermark();
            let before = self
                .watermarks
                .insert(leader.0, watermark)
                .unwrap_or_default();
            assert!(
                before <= watermark,
                "watermark went back from {before} to {watermark}"
            );
        }
    }

    fn heal(&mut self) {
        self.lossy = false;
        self.network.clear();
        self.client.end();
        while !self.late.is_empty() {
            self.decide_late();
        }
        for id in BROKERS {
            self.restart(id);
        }
        self.elect();
        self.publish();
        for _ in 0..3000 {
            self.now_ms += 20;
            for id in BROKERS {
                self.teach(id);
                self.recover(id);
                self.fetch(id);
            }
            while !self.network.is_empty() {
                self.deliver();
            }
            let now = self.now_ms;
            for id in BROKERS {
                let effects = self.nodes.get_mut(&id).unwrap().replica.tick(now);
                self.act(id, effects);
            }
            self.check();
            if self.is_whole() {
                break;
            }
        }
        assert!(self.is_whole(), "not whole after healing");
        let records = &self.nodes[&1].log.records;
        let values: BTreeSet<u64> = records.iter().map(|r| r.1).collect();
        let lost: Vec<_> = self.acknowledged.difference(&values).collect();
        assert!(lost.is_empty(), "lost {lost:?}");
        assert_eq!(values.len(), records.len(), "a record is there twice");
        self.client.check(records.iter().map(|r| r.1));
    }

    /// Everybody is in sync and the watermark is at the end of all three equal logs.
    fn is_whole(&self) -> bool {
        let one = &self.nodes[&1].log;
        self.agreed.in_sync.len() == 3
            && self
                .nodes
                .values()
                .all(|n| n.log.records == one.records && n.replica.high_watermark().0 == one.end())
    }
}

/// Whether an answer of that epoch's leader is for this node as it is.
fn takes(node: &Node, epoch: Epoch) -> bool {
    let replica = &node.replica;
    replica.membership().leader_epoch == epoch && !replica.is_leading() && !replica.is_failing()
}

fn fresh(id: i32, log: &Log, watermark: Offset) -> Replica {
    Replica::new(
        BrokerId(id),
        rules(2),
        log.ends(),
        watermark,
        client::recount(log),
    )
}

fn run(seed: u64) -> usize {
    let mut world = World::new(seed);
    for _ in 0..800 {
        world.step();
    }
    world.heal();
    world.acknowledged.len()
}

#[test]
fn no_seed_loses_an_acknowledged_record_or_lets_logs_differ() {
    let first: u64 = std::env::var("SEED").map_or(0, |s| s.parse().unwrap());
    let seeds: u64 = std::env::var("SEEDS").map_or(300, |s| s.parse().unwrap());
    let mut acknowledged = 0;
    for seed in first..first + seeds {
        let outcome = std::panic::catch_unwind(|| run(seed));
        match outcome {
            Ok(n) => acknowledged += n,
            Err(_) => panic!("seed {seed} fails: run with SEED={seed} SEEDS=1"),
        }
    }
    assert!(
        acknowledged as u64 > seeds * 5,
        "the cluster hardly ever worked: {acknowledged}"
    );
}
