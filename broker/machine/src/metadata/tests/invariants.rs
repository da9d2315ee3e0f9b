//! Whatever happens to brokers and partitions, in any order: see [`super::super::partition`].

use model::{BrokerId, TopicId};
use proptest::prelude::*;

use super::super::command::{Command, Reassignment};
use super::super::image::{Image, Partition};
use super::{Cluster, brokers, spread};

#[derive(Clone, Debug)]
enum Event {
    Fence(i32),
    Unfence(i32),
    Drain(i32),
    CancelDrain(i32),
    Register(i32),
    ReplaceDisk(i32),
    Create(i16),
    Grow(usize),
    Alter(usize, Vec<i32>, bool),
    Resign(usize, i32),
    ElectPreferred,
    ElectUnclean(usize),
    Reassign(usize, Vec<i32>, bool),
    CallOff(usize),
    Unregister(i32),
    /// How many have to be in sync.
    Adopt(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let id = 0..4_i32;
    prop_oneof![
        3 => id.clone().prop_map(Event::Fence),
        4 => id.clone().prop_map(Event::Unfence),
        1 => id.clone().prop_map(Event::Drain),
        1 => id.clone().prop_map(Event::CancelDrain),
        2 => id.clone().prop_map(Event::Register),
        1 => id.clone().prop_map(Event::ReplaceDisk),
        1 => (1..4_i16).prop_map(Event::Create),
        1 => any::<usize>().prop_map(Event::Grow),
        2 => (any::<usize>(), id.clone()).prop_map(|(which, id)| Event::Resign(which, id)),
        6 => (any::<usize>(), proptest::collection::vec(id.clone(), 0..5), any::<bool>())
            .prop_map(|(which, isr, current)| Event::Alter(which, isr, current)),
        5 => (any::<usize>(), proptest::collection::vec(id.clone(), 0..4), any::<bool>())
            .prop_map(|(which, to, resize)| Event::Reassign(which, to, resize)),
        2 => any::<usize>().prop_map(Event::CallOff),
        1 => id.prop_map(Event::Unregister),
        1 => Just(Event::ElectPreferred),
        1 => any::<usize>().prop_map(Event::ElectUnclean),
        1 => (1..4_usize).prop_map(Event::Adopt),
    ]
}

fn partitions(image: &Image) -> Vec<(TopicId, i32, Partition)> {
    image
        .topics
        .iter()
        .flat_map(|(id, topic)| {
            (0..)
                .zip(&topic.partitions)
                .map(|(n, p)| (*id, n, Partition::clone(p)))
        })
        .collect()
}

fn happen(cluster: &mut Cluster, event: &Event) {
    let command = match event {
        Event::Fence(id) => Command::FenceBroker {
            id: BrokerId(*id),
            epoch: cluster.epoch(*id),
        },
        Event::Unfence(id) => Command::UnfenceBroker {
            id: BrokerId(*id),
            epoch: cluster.epoch(*id),
        },
        Event::Drain(id) => Command::DrainBroker {
            id: BrokerId(*id),
            epoch: cluster.epoch(*id),
        },
        Event::CancelDrain(id) => Command::CancelDrain { id: BrokerId(*id) },
        Event::Register(id) => {
            cluster.register(*id, "r", u128::from(id.unsigned_abs()));
            return;
        }
        Event::ReplaceDisk(id) => {
            let directory = u128::from(cluster.image.index) + 100;
            let reply = cluster.register(*id, "r", directory);
            let held = partitions(&cluster.image)
                .iter()
                .any(|(_, _, p)| p.isr.contains(&BrokerId(*id)));
            assert!(!held || matches!(reply, super::Reply::Refused(_)));
            return;
        }
        Event::Create(factor) => {
            let name = format!("t{}", cluster.image.index);
            let id = TopicId(uuid::Uuid::from_u128(u128::from(cluster.image.index)));
            super::create(&name, id, spread(3, *factor))
        }
        Event::Grow(which) => {
            let Some((topic, _, _)) = pick(cluster, *which) else {
                return;
            };
            let count = i32::try_from(cluster.image.topics[&topic].partitions.len() + 1);
            Command::CreatePartitions {
                topic,
                count: count.expect("small"),
                assignments: Vec::new(),
            }
        }
        Event::Alter(which, isr, current) => {
            let Some((topic, partition, now)) = pick(cluster, *which) else {
                return;
            };
            Command::AlterPartition {
                topic,
                partition,
                leader: now.leader.unwrap_or(BrokerId(0)),
                leader_epoch: now.leader_epoch,
                partition_epoch: now.partition_epoch - i32::from(!*current),
                isr: brokers(isr),
            }
        }
        Event::Resign(which, id) => {
            let Some((topic, partition, now)) = pick(cluster, *which) else {
                return;
            };
            Command::ResignReplica {
                topic,
                partition,
                replica: BrokerId(*id),
                partition_epoch: now.partition_epoch,
            }
        }
        Event::ElectUnclean(which) => {
            let Some((topic, partition, _)) = pick(cluster, *which) else {
                return;
            };
            let partitions = vec![(topic, partition)];
            Command::ElectUnclean { partitions }
        }
        Event::Reassign(which, to, resize) => {
            let Some((topic, partition, _)) = pick(cluster, *which) else {
                return;
            };
            Command::ReassignPartitions {
                partitions: vec![Reassignment {
                    topic,
                    partition,
                    replicas: Some(brokers(to)),
                }],
                allow_factor_change: *resize,
            }
        }
        Event::CallOff(which) => {
            let Some((topic, partition, _)) = pick(cluster, *which) else {
                return;
            };
            Command::ReassignPartitions {
                partitions: vec![Reassignment {
                    topic,
                    partition,
                    replicas: None,
                }],
                allow_factor_change: true,
            }
        }
        Event::Unregister(id) => Command::UnregisterBroker { id: BrokerId(*id) },
        Event::Adopt(min) => Command::AdoptInSyncDefault { min: *min },
        Event::ElectPreferred => Command::ElectPreferred { partitions: None },
    };
    cluster.apply(command);
}

fn pick(cluster: &Cluster, which: usize) -> Option<(TopicId, i32, Partition)> {
    let all = partitions(&cluster.image);
    (!all.is_empty()).then(|| all[which % all.len()].clone())
}

proptest! {
    #[test]
    fn leaders_are_active_and_in_sync_and_epochs_only_grow(events in proptest::collection::vec(event(), 1..60)) {
        let mut cluster = Cluster::with_racks(&["a", "b", "b", "c"]);
        cluster.create("first", spread(4, 3));
        for event in &events {
            let before = partitions(&cluster.image);
            happen(&mut cluster, event);
            for (_, _, p) in partitions(&cluster.image) {
                prop_assert!(p.isr.iter().all(|id| p.replicas.contains(id)), "{p:?}");
                if let Some(leader) = p.leader {
                    prop_assert!(p.isr.contains(&leader), "{p:?}");
                    prop_assert!(cluster.image.is_active(leader), "{p:?}");
                }
                prop_assert!(p.emptied.iter().all(|id| !p.isr.contains(id)), "{p:?}");
                prop_assert!(p.elr.iter().all(|id| p.replicas.contains(id) && !p.isr.contains(id)), "{p:?}");
                if p.isr.len() > 1 {
                    prop_assert!(p.isr.iter().all(|id| cluster.image.is_active(*id)), "{p:?}");
                }
                prop_assert!(p.adding.iter().all(|id| p.replicas.contains(id)), "{p:?}");
                prop_assert!(p.removing.iter().all(|id| p.replicas.contains(id)), "{p:?}");
                prop_assert!(p.target().next().is_some(), "{p:?}");
                let arrived = p.target().all(|id| p.isr.contains(&id));
                prop_assert!(!(p.is_moving() && arrived), "{p:?}");
            }
            for (topic, number, old) in before {
                let number = usize::try_from(number).expect("index");
                let new = cluster.partition(topic, number);
                prop_assert!(new.partition_epoch >= old.partition_epoch);
                let left = old.replicas.iter().any(|id| !new.replicas.contains(id));
                prop_assert!(new.leader_epoch >= old.leader_epoch);
                prop_assert_eq!(
                    new.leader_epoch > old.leader_epoch,
                    left || new.leader != old.leader,
                    "{:?} {:?}", old, new
                );
                if let Event::Reassign(..) | Event::CallOff(_) = event {
                    prop_assert!(new.isr.iter().all(|id| old.isr.contains(id)), "{old:?} {new:?}");
                    prop_assert_eq!(new.isr.is_empty(), old.isr.is_empty(), "{:?} {:?}", old, new);
                    prop_assert!(new.leader.is_some() || old.leader.is_none(), "{old:?} {new:?}");
                }
                if left {
                    let stay = |id| new.replicas.contains(&id);
                    let arrived = old.target().all(stay) && new.replicas.len() == old.target().count();
                    let moved = matches!(event, Event::Reassign(..)) && !new.is_moving();
                    prop_assert!(arrived || moved || matches!(event, Event::CallOff(_)), "{old:?} {new:?}");
                }
                if *new != old {
                    prop_assert!(new.partition_epoch > old.partition_epoch);
                }
                let emptied = new.isr.is_empty() && !old.isr.is_empty();
                prop_assert!(!emptied || !matches!(event, Event::Resign(..)), "{old:?}");
            }
        }
        let bytes = serde_json::to_vec(&cluster.image).expect("encodes");
        let read: Image = serde_json::from_slice(&bytes).expect("decodes");
        prop_assert_eq!(read, cluster.image);
    }
}
