use std::collections::{BTreeMap, BTreeSet};

use model::{BrokerId, TopicId};
use uuid::Uuid;

use super::super::command::{Command, Refusal, Reply};
use super::super::image::ConfigResource;
use super::super::topic::NEW_PARTITIONS_MAX;
use super::{Cluster, brokers, create, manual, spread};

#[test]
fn replicas_are_spread_over_racks_and_leaders_over_brokers() {
    let mut cluster = Cluster::with_racks(&["a", "a", "b", "b", "c", "c"]);
    let topic = cluster.create("t", spread(12, 3));
    let racks = ["a", "a", "b", "b", "c", "c"];
    let mut leads = BTreeMap::<BrokerId, usize>::new();
    for partition in &cluster.image.topics[&topic].partitions {
        let used: BTreeSet<_> = partition
            .replicas
            .iter()
            .map(|id| racks[usize::try_from(id.0).expect("id")])
            .collect();
        assert_eq!(used.len(), 3, "{partition:?}");
        assert_eq!(partition.leader, partition.replicas.first().copied());
        assert_eq!(partition.isr, partition.replicas);
        *leads.entry(partition.replicas[0]).or_default() += 1;
    }
    assert!(leads.values().all(|n| *n == 2), "{leads:?}");
}

#[test]
fn topics_of_one_partition_take_turns_over_brokers() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    let leaders: BTreeSet<_> = (0..3)
        .map(|n| {
            let topic = cluster.create(&format!("t{n}"), spread(1, 1));
            cluster.partition(topic, 0).leader
        })
        .collect();
    assert_eq!(leaders.len(), 3);
}

#[test]
fn a_fenced_broker_follows_only_where_it_must() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    cluster.fence(2);
    let two = cluster.create("two", spread(6, 2));
    for partition in &cluster.image.topics[&two].partitions {
        assert!(!partition.replicas.contains(&BrokerId(2)));
    }
    let three = cluster.create("three", spread(1, 3));
    assert_eq!(cluster.partition(three, 0).isr.len(), 2);
    assert_ne!(cluster.partition(three, 0).leader, Some(BrokerId(2)));
}

#[test]
fn what_kafka_refuses_is_refused() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    cluster.create("a.b", spread(1, 1));
    let mut refusal = |name: &str, assignment| {
        cluster.refused(create(name, TopicId(Uuid::from_u128(77)), assignment))
    };
    assert!(matches!(
        refusal("a.b", spread(1, 1)),
        Refusal::TopicExists(_)
    ));
    for name in ["", ".", "..", "a b", "ä", &"x".repeat(250), "a_b"] {
        assert!(
            matches!(refusal(name, spread(1, 1)), Refusal::InvalidTopicName(_)),
            "{name}"
        );
    }
    assert!(matches!(
        refusal("t", spread(0, 1)),
        Refusal::InvalidPartitions(_)
    ));
    // Every broker that applied it would run out of memory, and again at each start.
    for assignment in [
        spread(i32::MAX, 3),
        manual(&vec![&[0][..]; NEW_PARTITIONS_MAX + 1]),
    ] {
        assert!(matches!(
            refusal("t", assignment),
            Refusal::TooManyPartitions
        ));
    }
    for factor in [-1, 0, 4] {
        assert!(matches!(
            refusal("t", spread(1, factor)),
            Refusal::InvalidReplicationFactor(_)
        ));
    }
    for assignment in [
        manual(&[]),
        manual(&[&[]]),
        manual(&[&[0, 0]]),
        manual(&[&[9]]),
        manual(&[&[0], &[0, 1]]),
    ] {
        assert!(matches!(
            refusal("t", assignment),
            Refusal::InvalidReplicaAssignment(_)
        ));
    }
}

#[test]
fn partitions_are_added_and_never_removed() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    let topic = cluster.create("t", spread(2, 2));
    let grow = |count, assignments| Command::CreatePartitions {
        topic,
        count,
        assignments,
    };
    for count in [1, 2] {
        let refusal = cluster.refused(grow(count, Vec::new()));
        assert!(matches!(refusal, Refusal::InvalidPartitions(_)));
    }
    let refusal = cluster.refused(grow(i32::MAX, Vec::new()));
    assert!(matches!(refusal, Refusal::TooManyPartitions));
    cluster.done(grow(5, Vec::new()));
    cluster.done(grow(6, vec![brokers(&[2, 0])]));
    assert_eq!(cluster.image.topics[&topic].partitions.len(), 6);
    assert_eq!(cluster.partition(topic, 5).leader, Some(BrokerId(2)));
    let refusal = cluster.refused(grow(8, vec![brokers(&[2, 0])]));
    assert!(matches!(refusal, Refusal::InvalidReplicaAssignment(_)));
}

#[test]
fn a_deleted_topic_leaves_nothing() {
    let mut cluster = Cluster::with_racks(&["a"]);
    let empty = cluster.image.clone();
    let topic = cluster.create("t", spread(1, 1));
    cluster.done(Command::AlterConfigs {
        resource: ConfigResource::Topic("t".into()),
        changes: vec![("retention.ms".to_owned(), Some("1".to_owned()))],
    });
    cluster.done(Command::DeleteTopic { id: topic });
    assert_eq!(cluster.image.topics, empty.topics);
    assert_eq!(cluster.image.topic_names, empty.topic_names);
    assert_eq!(cluster.image.configs, empty.configs);
    let refusal = cluster.refused(Command::DeleteTopic { id: topic });
    assert_eq!(refusal, Refusal::UnknownTopic);
}

#[test]
fn an_isr_change_needs_current_epochs_and_eligible_members() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    let topic = cluster.create("t", manual(&[&[0, 1, 2]]));
    let now = cluster.partition(topic, 0).clone();
    let alter = |leader, leader_epoch, partition_epoch, isr: &[i32]| Command::AlterPartition {
        topic,
        partition: 0,
        leader: BrokerId(leader),
        leader_epoch: model::Epoch(leader_epoch),
        partition_epoch,
        isr: brokers(isr),
    };
    for (command, expected) in [
        (alter(1, 0, 0, &[0, 1]), Refusal::FencedLeaderEpoch),
        (alter(0, 1, 0, &[0, 1]), Refusal::FencedLeaderEpoch),
        (alter(0, 0, 7, &[0, 1]), Refusal::StalePartitionEpoch),
        (alter(0, 0, 0, &[1, 2]), Refusal::IneligibleReplica),
        (alter(0, 0, 0, &[]), Refusal::IneligibleReplica),
        (alter(0, 0, 0, &[0, 9]), Refusal::IneligibleReplica),
        (alter(0, 0, 0, &[0, 1, 1]), Refusal::IneligibleReplica),
    ] {
        assert_eq!(cluster.refused(command), expected);
        assert_eq!(*cluster.partition(topic, 0), now);
    }
    assert_eq!(
        cluster.apply(alter(0, 0, 0, &[2, 0])),
        Reply::PartitionEpoch(1)
    );
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[0, 2]));
    cluster.fence(1);
    let epoch = cluster.partition(topic, 0).partition_epoch;
    let refusal = cluster.refused(alter(0, 0, epoch, &[0, 1, 2]));
    assert_eq!(refusal, Refusal::IneligibleReplica);
}

#[test]
fn the_preferred_leader_takes_over_when_it_is_back_in_sync() {
    let mut cluster = Cluster::with_racks(&["a", "b"]);
    let topic = cluster.create("t", manual(&[&[0, 1]]));
    cluster.fence(0);
    cluster.unfence(0);
    cluster.done(Command::ElectPreferred { partitions: None });
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(1)));
    let now = cluster.partition(topic, 0).clone();
    cluster.apply(Command::AlterPartition {
        topic,
        partition: 0,
        leader: BrokerId(1),
        leader_epoch: now.leader_epoch,
        partition_epoch: now.partition_epoch,
        isr: brokers(&[0, 1]),
    });
    cluster.done(Command::ElectPreferred { partitions: None });
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(0)));
}

#[test]
fn producer_id_blocks_never_overlap() {
    let mut cluster = Cluster::with_racks(&["a"]);
    let mut block = || {
        cluster.apply(Command::AllocateProducerIds {
            broker: BrokerId(0),
        })
    };
    let (one, two) = (block(), block());
    assert_eq!(
        one,
        Reply::ProducerIds {
            first: 0,
            len: 1000
        }
    );
    assert_eq!(
        two,
        Reply::ProducerIds {
            first: 1000,
            len: 1000
        }
    );
}
