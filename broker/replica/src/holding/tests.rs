#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use machine::replica::{Membership, Rules};
use model::{
    BrokerId, Epoch, TopicId, TopicPartition,
    batch::{Builder, DELIVER_AT},
};
use tempfile::TempDir;

mod lost_end;

use super::*;
use crate::{Answer, Looked, Opening, Source, Standing, Timing, Watermarks, look};

const RULES: Rules = Rules {
    in_sync_min: 1,
    lag_max_ms: i64::MAX / 2,
    synced_only: false,
};

/// Two replicas of a partition, one of which leads, one clock, one consumer, and chance.
struct Pair {
    directories: [TempDir; 2],
    locals: Vec<Option<Local>>,
    syncs: [Vec<commitlog::SyncTask>; 2],
    membership: Membership,
    now_ms: i64,
    chance: u64,
    /// Values and when they are due.
    sent: BTreeMap<String, i64>,
    committed: BTreeSet<String>,
    consumed: Vec<String>,
    consumer: Offset,
}

fn id(replica: usize) -> BrokerId {
    BrokerId(i32::try_from(replica).unwrap())
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut pair = Self {
            directories: [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()],
            locals: vec![None, None],
            syncs: [Vec::new(), Vec::new()],
            membership: Membership {
                leader: Some(id(0)),
                leader_epoch: Epoch(0),
                partition_epoch: 0,
                replicas: vec![id(0), id(1)],
                in_sync: vec![id(0), id(1)],
                ..Membership::default()
            },
            now_ms: 1_000_000,
            chance: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            sent: BTreeMap::new(),
            committed: BTreeSet::new(),
            consumed: Vec::new(),
            consumer: Offset(0),
        };
        pair.open(0);
        pair.open(1);
        pair
    }

    fn below(&mut self, n: u64) -> i64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        i64::try_from(self.chance % n).unwrap()
    }

    fn local(&mut self, replica: usize) -> &mut Local {
        self.locals[replica].as_mut().unwrap()
    }

    fn leader(&self) -> usize {
        usize::try_from(self.membership.leader.unwrap().0).unwrap()
    }

    fn open(&mut self, replica: usize) {
        let local = Opening {
            this: id(replica),
            partition: TopicPartition {
                topic: TopicId::default(),
                partition: 0,
            },
            directory: self.directories[replica].path().join("log"),
            membership: &self.membership,
            rules: RULES,
            log: commitlog::Config {
                segment_bytes: 2000,
                delete_delay_ms: 0,
                ..commitlog::Config::default()
            },
            timing: Timing {
                sync_ms: i64::MAX / 4,
                sync_bytes: 1,
            },
            watermarks: Arc::new(Watermarks::load(self.directories[replica].path())),
            damaged: false,
            wall_ms: 0,
        }
        .open()
        .unwrap();
        self.locals[replica] = Some(local);
        self.syncs[replica].clear();
        self.assign(replica);
    }

    fn assign(&mut self, replica: usize) {
        let (membership, now_ms) = (self.membership.clone(), self.now_ms);
        let effects = self.local(replica).assign(membership, RULES, None, now_ms);
        self.act(replica, effects);
    }

    fn agree(&mut self, leader: usize, in_sync: Vec<BrokerId>) {
        let elected = leader != self.leader();
        self.membership.leader = Some(id(leader));
        self.membership.leader_epoch.0 += i32::from(elected);
        self.membership.partition_epoch += 1;
        self.membership.in_sync = in_sync;
        self.assign(0);
        self.assign(1);
    }

    fn act(&mut self, replica: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Sync(task) => self.syncs[replica].push(task),
                Effect::Failed => panic!("failed"),
                _ => {}
            }
        }
    }

    fn sync(&mut self, replica: usize) {
        for task in std::mem::take(&mut self.syncs[replica]) {
            let (outcome, now_ms) = (task.run(), self.now_ms);
            let effects = self.local(replica).synced(outcome, now_ms);
            self.act(replica, effects);
        }
    }

    fn produce(&mut self) {
        let mut builder = Builder::default();
        let mut waits = false;
        for _ in 0..=self.below(4) {
            let value = self.sent.len().to_string();
            let at_ms = self.now_ms + self.below(400) - 50;
            let named = self.below(3) > 0;
            waits |= named && at_ms > self.now_ms;
            let text = at_ms.to_string();
            let header = (DELIVER_AT.as_bytes(), Some(text.as_bytes()));
            let headers: &[_] = if named { &[header] } else { &[] };
            let sent_ms = self.now_ms;
            builder.push_with_headers(sent_ms, None, Some(value.as_bytes()), headers);
            self.sent.insert(value, if named { at_ms } else { 0 });
        }
        let bytes = builder.build().unwrap();
        let bytes = if waits { batch::hold(bytes) } else { bytes };
        let batch = Batch::parse(&bytes).unwrap();
        let (leader, now_ms) = (self.leader(), self.now_ms);
        let local = self.local(leader);
        let admitted = local.admit(batch, Ack::Leader, now_ms, now_ms + 1000, 1);
        assert!(matches!(admitted, Admission::Write { .. }), "{admitted:?}");
        let effects = local.write(now_ms);
        self.act(leader, effects);
    }

    fn hand_over(&mut self) {
        let (leader, now_ms) = (self.leader(), self.now_ms);
        let effects = self.local(leader).hand_over(now_ms, now_ms, false);
        self.act(leader, effects);
    }

    /// The follower asks once; true when there is nothing more.
    fn copy(&mut self, bytes_max: usize) -> bool {
        let (leader, now_ms) = (self.leader(), self.now_ms);
        let (follower, epoch) = (1 - leader, self.membership.leader_epoch);
        let standing = Standing::of(self.local(follower).reader(), epoch, false);
        let (reader, watermark) = {
            let local = self.local(leader);
            (local.reader().clone(), local.machine().high_watermark())
        };
        let looked = look(&reader, &standing, bytes_max, Source::Disk, || watermark);
        let answer = match looked {
            Looked::Nothing => Answer::Records {
                from: standing.position.next,
                high_watermark: watermark,
                log_start: reader.start_offset(),
                batches: Vec::new(),
            },
            Looked::Answer(answer) => answer,
            other => panic!("{other:?}"),
        };
        let more = answer.size_bytes() > 0 || !matches!(answer, Answer::Records { .. });
        let (used, effects) = self.local(follower).fetched(epoch, answer, now_ms);
        assert!(used);
        self.act(follower, effects);
        let effects = self.local(follower).write(now_ms);
        self.act(follower, effects);
        if !more {
            let at = self.local(follower).machine().position();
            let effects = self
                .local(leader)
                .follower_at(id(follower), (epoch, 0), at, now_ms);
            self.act(leader, effects);
        }
        !more
    }

    /// A consumer reads on from the leader, whatever is committed.
    fn consume(&mut self) {
        let leader = self.leader();
        let upto = self.local(leader).readable_end();
        let reader = self.local(leader).reader().clone();
        while self.consumer < upto {
            for run in reader.read_until(self.consumer, upto, 1 << 20).unwrap() {
                for batch in batch::split(run).unwrap() {
                    self.consumer = batch.header.next_offset();
                    for record in batch.records() {
                        self.saw(&record.unwrap(), batch.header.is_held());
                    }
                }
            }
        }
    }

    fn saw(&mut self, record: &Record, hidden: bool) {
        let value = String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap();
        self.committed.insert(value.clone());
        if hidden {
            return;
        }
        let due_ms = self.sent[&value];
        assert!(self.now_ms >= due_ms, "{value} came early");
        self.consumed.push(value);
    }

    /// What is known to wait is what the log says.
    fn check(&mut self, replica: usize) {
        let local = self.locals[replica].as_ref().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let mut found = Held::new(scratch.path(), local.log.start_offset());
        found
            .find(scratch.path(), &local.reader, Offset(i64::MIN))
            .unwrap();
        let (known, settled) = match &local.holding.held {
            Some(held) if !held.is_lost => (all(held), held.waiting.settled),
            Some(_) => return,
            None => (Vec::new(), Offset(0)),
        };
        assert_eq!(local.held().0, known.len() as u64);
        let bytes: u64 = known.iter().map(|e| u64::from(e.size_bytes)).sum();
        assert_eq!(local.held().1, bytes);
        // What its leader has handed over and deleted, a follower knows before it hears why.
        let start = local.log.start_offset();
        let there = |entries: Vec<Entry>| -> Vec<Entry> {
            let there = entries.into_iter().filter(|e| e.offset >= start);
            there.collect()
        };
        assert_eq!(there(known), there(all(&found)));
        assert!(settled <= local.log.end_offset());
    }

    fn step(&mut self) {
        let (leader, some) = (self.leader(), usize::try_from(self.below(2)).unwrap());
        let in_sync = self.membership.in_sync.len() == 2;
        match self.below(16) {
            0..=3 => self.produce(),
            4 | 5 => {
                self.now_ms += self.below(120);
                self.hand_over();
            }
            6 | 7 => {
                let bytes_max = usize::try_from(1 + self.below(600)).unwrap();
                self.copy(bytes_max);
            }
            8 => self.sync(some),
            9 => {
                self.locals[some] = None;
                self.open(some);
            }
            10 => {
                self.locals[some].take().unwrap().close().unwrap();
                self.open(some);
            }
            11 => {
                let now_ms = self.now_ms;
                self.local(some).sweep(now_ms, now_ms, 0);
            }
            12 if in_sync => {
                self.consume();
                self.agree(1 - leader, self.membership.in_sync.clone());
            }
            13 => {
                self.consume();
                let deleted = self.local(leader).delete_records(Offset::UNKNOWN);
                assert!(deleted.is_ok(), "{deleted:?}");
            }
            14 if in_sync => {
                // With another disk it has nothing, and is out of the in-sync set.
                self.agree(leader, vec![id(leader)]);
                let follower = 1 - leader;
                self.locals[follower] = None;
                self.directories[follower] = tempfile::tempdir().unwrap();
                self.open(follower);
            }
            15 if !in_sync => {
                while !self.copy(1 << 20) {}
                self.agree(leader, vec![id(0), id(1)]);
            }
            _ => {}
        }
    }
}

fn all(held: &Held) -> Vec<Entry> {
    let mut entries: Vec<Entry> = held.waiting.memory.iter().copied().collect();
    for run in &held.waiting.runs {
        entries.extend(run.rest().unwrap());
    }
    entries.sort_unstable();
    entries
}

/// Most of the time that one takes it waits for the disk.
const SEEDS: u64 = 5;

#[test]
fn whatever_happens_a_committed_record_comes_once_and_not_before_its_time() {
    for seed in 1..=SEEDS {
        let mut pair = Pair::new(seed);
        for _ in 0..150 {
            pair.step();
            pair.check(0);
            pair.check(1);
        }
        // All there is becomes due.
        pair.now_ms += 1000;
        let mut before = Offset(-1);
        loop {
            pair.hand_over();
            pair.sync(0);
            pair.sync(1);
            while !pair.copy(1 << 20) {}
            let leader = pair.leader();
            let end = pair.local(leader).log().end_offset();
            if end == before {
                break;
            }
            before = end;
        }
        pair.consume();
        let distinct: BTreeSet<_> = pair.consumed.iter().cloned().collect();
        assert_eq!(distinct.len(), pair.consumed.len(), "seed {seed}: twice");
        let missing: Vec<_> = pair.committed.difference(&distinct).collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?}");
        assert_eq!(pair.local(0).held(), (0, 0));
        assert_eq!(pair.local(1).held(), (0, 0));
    }
}

#[test]
fn records_come_in_the_order_of_their_times_with_the_place_where_they_waited() {
    let mut pair = Pair::new(1);
    pair.agree(0, vec![id(0)]);
    let now_ms = pair.now_ms;
    let mut builder = Builder::default();
    for (value, at_ms) in [("c", 30), ("a", 10), ("at once", -5), ("b", 20)] {
        let at_ms = (now_ms + at_ms).to_string();
        builder.push_with_headers(
            now_ms,
            None,
            Some(value.as_bytes()),
            &[
                (DELIVER_AT.as_bytes(), Some(at_ms.as_bytes())),
                // As of a record that was consumed and sent again.
                (HELD_OFFSET.as_bytes(), Some(b"77")),
            ],
        );
    }
    let held = batch::hold(builder.build().unwrap());
    let held = Batch::parse(&held).unwrap();
    let local = pair.local(0);
    local.admit(held, Ack::Leader, now_ms, now_ms, 1);
    local.write(now_ms);
    local.hand_over(now_ms, now_ms, false);
    assert_eq!(local.held().0, 3);
    local.hand_over(now_ms + 15, now_ms + 15, false);
    // The next is due, not the last.
    assert_eq!(local.holding.next_look(), Some(now_ms + 20));
    // Late: two are due.
    local.hand_over(now_ms + 50, now_ms + 50, false);
    let runs = local
        .reader()
        .read_until(Offset(4), Offset(8), 1 << 20)
        .unwrap();
    let mut seen = Vec::new();
    for batch in runs.into_iter().flat_map(|run| batch::split(run).unwrap()) {
        for record in batch.records() {
            let record = record.unwrap();
            let value = String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap();
            let (_, place) = waited(&record).unwrap();
            seen.push((value, record.timestamp - now_ms, place.0));
        }
    }
    let expected = [("at once", 0, 2), ("a", 10, 1), ("b", 20, 3), ("c", 30, 0)];
    let expected = expected.map(|(value, at, place)| (value.to_owned(), at, place));
    assert_eq!(seen, expected);
}

#[test]
fn what_was_written_down_and_is_not_whole_is_found_from_the_log() {
    let mut pair = Pair::new(3);
    pair.agree(0, vec![id(0)]);
    for _ in 0..40 {
        pair.produce();
    }
    let held = pair.local(0).held();
    assert!(held.0 > waiting::MEMORY_MAX as u64);
    pair.locals[0].take().unwrap().close().unwrap();
    let manifest = pair.directories[0].path().join("log/held");
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&manifest, bytes).unwrap();
    pair.open(0);
    assert_eq!(pair.local(0).held(), held);
    pair.check(0);
}
