//! Eligible leader replicas: see [`super::super::eligible`].

use model::{BrokerId, TopicId};
use proptest::prelude::*;

use super::super::command::{Command, Reply};
use super::super::image::{ConfigResource, Image, Partition};
use super::{Cluster, brokers, manual};

/// Three active brokers with a replica each, of which `min` have to be in sync.
fn cluster(min: usize) -> (Cluster, TopicId) {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    cluster.done(Command::AdoptInSyncDefault { min });
    let topic = cluster.create("t", manual(&[&[0, 1, 2]]));
    (cluster, topic)
}

fn require(cluster: &mut Cluster, min: Option<usize>) {
    cluster.done(Command::AlterConfigs {
        resource: ConfigResource::Topic("t".into()),
        changes: vec![("min.insync.replicas".to_owned(), min.map(|m| m.to_string()))],
    });
}

fn return_in_order(cluster: &mut Cluster, id: i32) {
    let epoch = cluster.epoch(id);
    let reply = cluster.register_after(id, "r", u128::from(id.unsigned_abs()), Some(epoch));
    assert!(matches!(reply, Reply::Registered { .. }));
}

fn crash(cluster: &mut Cluster, id: i32) {
    let reply = cluster.register(id, "r", u128::from(id.unsigned_abs()));
    assert!(matches!(reply, Reply::Registered { .. }));
}

/// Leader, ISR and eligible replicas.
fn state(cluster: &Cluster, topic: TopicId) -> (Option<i32>, Vec<BrokerId>, Vec<BrokerId>) {
    let p = cluster.partition(topic, 0);
    (p.leader.map(|id| id.0), p.isr.clone(), p.elr.clone())
}

#[test]
fn who_leaves_an_isr_that_is_too_small_stays_eligible_and_leads_when_nobody_in_sync_can() {
    let (mut cluster, topic) = cluster(2);
    cluster.fence(2);
    assert_eq!(state(&cluster, topic), (Some(0), brokers(&[0, 1]), vec![]));
    cluster.fence(1);
    assert_eq!(
        state(&cluster, topic),
        (Some(0), brokers(&[0]), brokers(&[1]))
    );
    cluster.fence(0);
    assert_eq!(state(&cluster, topic), (None, brokers(&[0]), brokers(&[1])));
    cluster.unfence(2);
    assert_eq!(
        cluster.partition(topic, 0).leader,
        None,
        "2 is not eligible"
    );
    cluster.unfence(1);
    assert_eq!(
        state(&cluster, topic),
        (Some(1), brokers(&[1]), brokers(&[0]))
    );
}

#[test]
fn nobody_is_eligible_once_the_isr_is_large_enough_or_the_requirement_has_changed() {
    let (mut cluster, topic) = cluster(3);
    cluster.fence(2);
    cluster.fence(1);
    assert_eq!(cluster.partition(topic, 0).elr, brokers(&[1, 2]));
    require(&mut cluster, Some(2));
    assert_eq!(cluster.partition(topic, 0).elr, []);
    require(&mut cluster, Some(3));
    assert_eq!(
        cluster.partition(topic, 0).elr,
        [],
        "its watermark may have moved"
    );

    let (mut cluster, topic) = self::cluster(2);
    cluster.fence(2);
    cluster.fence(1);
    cluster.unfence(1);
    let now = cluster.partition(topic, 0).clone();
    assert_eq!(now.elr, brokers(&[1]));
    cluster.apply(Command::AlterPartition {
        topic,
        partition: 0,
        leader: BrokerId(0),
        leader_epoch: now.leader_epoch,
        partition_epoch: now.partition_epoch,
        isr: brokers(&[0, 1]),
    });
    assert_eq!(state(&cluster, topic), (Some(0), brokers(&[0, 1]), vec![]));
}

#[test]
fn a_life_that_ended_in_order_stays_eligible_and_a_crash_does_not() {
    let (mut cluster, topic) = cluster(3);
    for id in [1, 2] {
        cluster.drain(id);
    }
    assert_eq!(cluster.partition(topic, 0).elr, brokers(&[1, 2]));
    return_in_order(&mut cluster, 1);
    crash(&mut cluster, 2);
    assert_eq!(cluster.partition(topic, 0).elr, brokers(&[1]));
    let stale = cluster.epoch(1) - 1;
    cluster.register_after(1, "r", 1, Some(stale));
    assert_eq!(
        cluster.partition(topic, 0).elr,
        [],
        "a copy of an older directory"
    );
}

#[test]
fn the_last_of_all_stays_whatever_became_of_it() {
    let (mut cluster, topic) = cluster(2);
    for id in [2, 1, 0] {
        cluster.fence(id);
    }
    crash(&mut cluster, 0);
    assert_eq!(state(&cluster, topic), (None, vec![], brokers(&[1])));
    crash(&mut cluster, 1);
    cluster.unfence(0);
    assert_eq!(cluster.partition(topic, 0).leader, None);
    cluster.unfence(1);
    assert_eq!(state(&cluster, topic), (Some(1), brokers(&[1]), vec![]));
}

#[test]
fn without_a_leader_nobody_is_shown_in_sync_and_the_last_leader_is_named() {
    let (mut cluster, topic) = cluster(1);
    for id in [2, 1, 0] {
        cluster.fence(id);
    }
    let p = cluster.partition(topic, 0);
    assert_eq!(p.shown_in_sync(&cluster.image), (vec![], brokers(&[0])));
    assert_eq!(p.last_known_elr, brokers(&[0]));
    cluster.unfence(0);
    let p = cluster.partition(topic, 0);
    assert_eq!(p.shown_in_sync(&cluster.image), (brokers(&[0]), vec![]));
    assert_eq!(p.last_known_elr, []);
}

#[test]
fn a_leader_alone_in_sync_gives_way_to_an_eligible_replica() {
    let (mut cluster, topic) = cluster(2);
    for id in [2, 1] {
        cluster.fence(id);
    }
    let resign = |cluster: &Cluster| Command::ResignReplica {
        topic,
        partition: 0,
        replica: BrokerId(0),
        partition_epoch: cluster.partition(topic, 0).partition_epoch,
    };
    let early = resign(&cluster);
    cluster.refused(early);
    cluster.unfence(1);
    let command = resign(&cluster);
    cluster.apply(command);
    assert_eq!(state(&cluster, topic), (Some(1), brokers(&[1]), vec![]));
}

#[test]
fn before_the_first_default_was_adopted_nothing_is_kept() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    let topic = cluster.create("t", manual(&[&[0, 1, 2]]));
    require(&mut cluster, Some(3));
    cluster.fence(2);
    cluster.fence(1);
    return_in_order(&mut cluster, 1);
    assert_eq!(state(&cluster, topic), (Some(0), brokers(&[0]), vec![]));
    let image: Image =
        serde_json::from_slice(&serde_json::to_vec(&cluster.image).unwrap()).unwrap();
    assert!(!image.keeps_eligible());
}

/// What happens to three replicas and the records in them.
#[derive(Clone, Debug)]
enum Event {
    Append,
    Copy(usize),
    /// The leader's watermark moves as far as it may, and what is below is acknowledged.
    Acknowledge,
    Join(usize),
    Leave(usize),
    Fence(usize),
    Unfence(usize),
    /// Loses so many of its newest records.
    Crash(usize, usize),
    Restart(usize),
    Require(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let id = 0..3_usize;
    prop_oneof![
        4 => Just(Event::Append),
        5 => id.clone().prop_map(Event::Copy),
        5 => Just(Event::Acknowledge),
        4 => id.clone().prop_map(Event::Join),
        2 => id.clone().prop_map(Event::Leave),
        3 => id.clone().prop_map(Event::Fence),
        5 => id.clone().prop_map(Event::Unfence),
        2 => (id.clone(), 1..4_usize).prop_map(|(id, lost)| Event::Crash(id, lost)),
        2 => id.prop_map(Event::Restart),
        1 => (1..4_usize).prop_map(Event::Require),
    ]
}

struct World {
    cluster: Cluster,
    topic: TopicId,
    logs: [Vec<u32>; 3],
    acknowledged: Vec<u32>,
    next: u32,
    /// Leader epoch, and where the leader's log ended when it began.
    began: (i32, usize),
}

fn index(id: BrokerId) -> usize {
    usize::try_from(id.0).unwrap()
}

fn broker(index: usize) -> BrokerId {
    BrokerId(i32::try_from(index).unwrap())
}

impl World {
    fn partition(&self) -> Partition {
        self.cluster.partition(self.topic, 0).clone()
    }

    fn follows(&self, follower: usize, leader: usize) -> bool {
        self.logs[leader].starts_with(&self.logs[follower])
    }

    fn propose(&mut self, isr: Vec<BrokerId>) {
        let now = self.partition();
        self.cluster.apply(Command::AlterPartition {
            topic: self.topic,
            partition: 0,
            leader: now.leader.unwrap(),
            leader_epoch: now.leader_epoch,
            partition_epoch: now.partition_epoch,
            isr,
        });
    }

    fn happen(&mut self, event: &Event) {
        let now = self.partition();
        let leader = now.leader.map(index);
        match (event, leader) {
            (Event::Append, Some(leader)) => {
                self.next += 1;
                self.logs[leader].push(self.next);
            }
            (Event::Copy(id), Some(leader)) if self.cluster.image.is_active(broker(*id)) => {
                self.logs[*id] = self.logs[leader].clone();
            }
            (Event::Acknowledge, Some(leader)) => {
                let min = self.cluster.image.in_sync_min(&"t".into()).min(3);
                let members: Vec<_> = now.isr.iter().map(|id| index(*id)).collect();
                if members.len() >= min && members.iter().all(|id| self.follows(*id, leader)) {
                    let upto = members.iter().map(|id| self.logs[*id].len()).min();
                    let upto = upto.unwrap().max(self.acknowledged.len());
                    self.acknowledged = self.logs[leader][..upto].to_vec();
                }
            }
            (Event::Join(id), Some(leader)) => {
                let enough = self.acknowledged.len().max(self.began.1);
                if self.follows(*id, leader) && self.logs[*id].len() >= enough {
                    let mut isr = now.isr;
                    isr.retain(|member| index(*member) != *id);
                    isr.push(broker(*id));
                    self.propose(isr);
                }
            }
            (Event::Leave(id), Some(leader)) if *id != leader => {
                let mut isr = now.isr;
                isr.retain(|member| index(*member) != *id);
                self.propose(isr);
            }
            (Event::Fence(id), _) => self.cluster.fence(broker(*id).0),
            (Event::Unfence(id), _) => self.cluster.unfence(broker(*id).0),
            (Event::Crash(id, lost), _) => {
                let counted = |id| now.isr.contains(id) || now.elr.contains(id);
                let others = now.replicas.iter().any(|o| counted(o) && index(*o) != *id);
                // The last of all has nobody to give way to.
                if others {
                    let kept = self.logs[*id].len().saturating_sub(*lost);
                    self.logs[*id].truncate(kept);
                }
                crash(&mut self.cluster, broker(*id).0);
            }
            (Event::Restart(id), _) => {
                self.cluster.drain(broker(*id).0);
                return_in_order(&mut self.cluster, broker(*id).0);
            }
            (Event::Require(min), _) => require(&mut self.cluster, Some(*min)),
            _ => {}
        }
        let now = self.partition();
        if let Some(leader) = now.leader
            && now.leader_epoch.0 != self.began.0
        {
            self.began = (now.leader_epoch.0, self.logs[index(leader)].len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn whoever_leads_has_everything_that_was_acknowledged(
        min in 1..4_usize,
        events in proptest::collection::vec(event(), 1..80),
    ) {
        let (cluster, topic) = cluster(min);
        let mut world = World {
            cluster,
            topic,
            logs: Default::default(),
            acknowledged: Vec::new(),
            next: 0,
            began: (0, 0),
        };
        for event in &events {
            world.happen(event);
            let p = world.partition();
            prop_assert!(p.elr.iter().all(|id| p.replicas.contains(id) && !p.isr.contains(id)), "{p:?}");
            prop_assert!(!p.isr.is_empty() || !p.elr.is_empty(), "{p:?}");
            prop_assert_eq!(p.leader.is_none(), !p.last_known_elr.is_empty());
            if let Some(leader) = p.leader {
                let log = &world.logs[index(leader)];
                prop_assert!(log.starts_with(&world.acknowledged), "{event:?}: {p:?}");
            }
        }
    }
}
