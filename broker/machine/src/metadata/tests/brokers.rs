use model::{BrokerId, Epoch};
use uuid::Uuid;

use super::super::command::{Command, Refusal, Reply};
use super::{Cluster, brokers, manual};

const RACKS: [&str; 3] = ["a", "b", "c"];

#[test]
fn a_fenced_leader_is_replaced_from_the_isr() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1, 2]]));
    cluster.fence(0);
    let partition = cluster.partition(topic, 0);
    assert_eq!(partition.leader, Some(BrokerId(1)));
    assert_eq!(partition.isr, brokers(&[1, 2]));
    assert_eq!(
        (partition.leader_epoch, partition.partition_epoch),
        (Epoch(1), 1)
    );
}

#[test]
fn the_last_member_of_an_isr_stays_in_it_and_leads_again() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1]]));
    cluster.fence(1);
    cluster.fence(0);
    assert_eq!(cluster.partition(topic, 0).leader, None);
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[0]));
    cluster.unfence(1);
    assert_eq!(cluster.partition(topic, 0).leader, None, "1 is not in sync");
    cluster.unfence(0);
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(0)));
    assert_eq!(cluster.partition(topic, 0).leader_epoch, Epoch(2));
}

#[test]
fn another_replica_leads_uncleanly_only_where_it_is_allowed() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1]]));
    cluster.apply(Command::AlterConfigs {
        resource: super::super::image::ConfigResource::Topic("t".into()),
        changes: vec![(
            "unclean.leader.election.enable".to_owned(),
            Some("true".to_owned()),
        )],
    });
    cluster.fence(1);
    cluster.fence(0);
    cluster.unfence(1);
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(1)));
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[1]));
}

#[test]
fn the_default_of_unclean_elections_holds_where_nothing_else_is_said() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1]]));
    let careful = cluster.create("careful", manual(&[&[0, 1]]));
    cluster.apply(Command::AlterConfigs {
        resource: super::super::image::ConfigResource::Topic("careful".into()),
        changes: vec![(
            "unclean.leader.election.enable".to_owned(),
            Some("false".to_owned()),
        )],
    });
    cluster.fence(1);
    cluster.fence(0);
    cluster.unfence(1);
    assert_eq!(cluster.partition(topic, 0).leader, None);
    cluster.done(Command::AdoptUncleanDefault { enabled: true });
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(1)));
    assert_eq!(cluster.partition(careful, 0).leader, None);
}

#[test]
fn a_broker_that_registers_again_leaves_its_isrs_and_stale_isr_changes() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1, 2]]));
    let before = cluster.partition(topic, 0).clone();
    assert_eq!(cluster.register(2, "c", 2), Reply::Registered { epoch: 3 });
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[0, 1]));
    cluster.unfence(2);
    let stale = cluster.refused(Command::AlterPartition {
        topic,
        partition: 0,
        leader: BrokerId(0),
        leader_epoch: before.leader_epoch,
        partition_epoch: before.partition_epoch + 1,
        isr: brokers(&[0, 1, 2]),
    });
    assert_eq!(stale, Refusal::StalePartitionEpoch);
}

#[test]
fn a_broker_whose_disk_was_replaced_does_not_lead_what_it_was_the_last_to_have() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1], &[1, 0]]));
    let single = cluster.create("single", manual(&[&[0]]));
    cluster.fence(1);
    cluster.fence(0);
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[0]));
    cluster.register(0, "a", 99);
    cluster.unfence(0);
    cluster.unfence(1);
    for (topic, number) in [(topic, 0), (topic, 1), (single, 0)] {
        let partition = cluster.partition(topic, number);
        assert_eq!((partition.leader, &*partition.isr), (None, &[][..]));
    }
    cluster.apply(Command::AlterConfigs {
        resource: super::super::image::ConfigResource::Topic("t".into()),
        changes: vec![(
            "unclean.leader.election.enable".to_owned(),
            Some("true".to_owned()),
        )],
    });
    for number in [0, 1] {
        let partition = cluster.partition(topic, number);
        assert_eq!(partition.leader, Some(BrokerId(1)), "it has some of it");
        assert_eq!(partition.isr, brokers(&[1]));
    }
}

#[test]
fn an_operator_may_have_what_is_left_lead_what_has_no_leader() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1], &[1, 0]]));
    let single = cluster.create("single", manual(&[&[0]]));
    let elect = |partitions| Command::ElectUnclean { partitions };
    let lost = vec![(topic, 0), (topic, 1), (single, 0)];
    cluster.fence(1);
    let led = cluster.partition(topic, 0).clone();
    cluster.done(elect(lost.clone()));
    assert_eq!(*cluster.partition(topic, 0), led, "it has a leader");
    cluster.fence(0);
    cluster.register(0, "a", 99);
    cluster.done(elect(lost.clone()));
    assert_eq!(cluster.partition(topic, 0).leader, None, "nobody is active");
    cluster.unfence(0);
    cluster.unfence(1);
    cluster.done(elect(lost));
    for (topic, number, leader) in [(topic, 0, 1), (topic, 1, 1), (single, 0, 0)] {
        let partition = cluster.partition(topic, number);
        assert_eq!(partition.leader, Some(BrokerId(leader)));
        assert_eq!(partition.isr, brokers(&[leader]));
    }
    assert_eq!(cluster.partition(topic, 0).emptied, brokers(&[0]));
    assert_eq!(cluster.partition(single, 0).emptied, brokers(&[]));
    let unknown = cluster.refused(elect(vec![(topic, 7)]));
    assert_eq!(unknown, Refusal::UnknownPartition);
}

#[test]
fn a_broker_that_returns_with_its_disk_leads_again_what_it_was_the_last_to_have() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1]]));
    cluster.fence(1);
    cluster.fence(0);
    cluster.register(0, "a", 0);
    cluster.unfence(0);
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(0)));
}

#[test]
fn a_replica_that_resigns_is_replaced_from_the_isr_but_the_last_member_stays() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1, 2]]));
    let resign = |replica, partition_epoch| Command::ResignReplica {
        topic,
        partition: 0,
        replica: BrokerId(replica),
        partition_epoch,
    };
    assert_eq!(cluster.apply(resign(0, 0)), Reply::PartitionEpoch(1));
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(1)));
    assert_eq!(cluster.partition(topic, 0).leader_epoch, Epoch(1));
    assert_eq!(
        cluster.refused(resign(2, 0)),
        Refusal::StalePartitionEpoch,
        "said before it recovered"
    );
    assert_eq!(cluster.apply(resign(2, 1)), Reply::PartitionEpoch(2));
    assert_eq!(cluster.partition(topic, 0).leader_epoch, Epoch(1));
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[1]));
    assert_eq!(cluster.refused(resign(1, 2)), Refusal::IneligibleReplica);
}

#[test]
fn a_live_broker_id_is_not_given_to_another_directory() {
    let mut cluster = Cluster::with_racks(&RACKS);
    assert!(matches!(
        cluster.register(1, "b", 99),
        Reply::Refused(Refusal::InUse(_))
    ));
    cluster.fence(1);
    assert_eq!(cluster.register(1, "b", 99), Reply::Registered { epoch: 3 });
}

#[test]
fn an_earlier_life_cannot_fence_the_present_one() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let old = cluster.epoch(1);
    cluster.register(1, "b", 1);
    for command in [
        Command::FenceBroker {
            id: BrokerId(1),
            epoch: old,
        },
        Command::UnfenceBroker {
            id: BrokerId(1),
            epoch: old,
        },
    ] {
        assert_eq!(cluster.refused(command), Refusal::StaleBrokerEpoch);
    }
}

#[test]
fn a_draining_broker_hands_its_leaderships_over_and_can_come_back() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[&[0, 1]]));
    let single = cluster.create("single", manual(&[&[0]]));
    cluster.drain(0);
    assert_eq!(cluster.partition(topic, 0).leader, Some(BrokerId(1)));
    assert_eq!(cluster.partition(topic, 0).isr, brokers(&[1]));
    assert_eq!(cluster.partition(single, 0).leader, None);
    cluster.done(Command::CancelDrain { id: BrokerId(0) });
    assert_eq!(cluster.partition(single, 0).leader, Some(BrokerId(0)));
}

#[test]
fn one_restart_permit_is_out_at_a_time_and_expires() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let ask = |holder: &str, token| Command::GrantRestartPermit {
        broker: BrokerId(1),
        holder: holder.to_owned(),
        token: Uuid::from_u128(token),
        ttl_ms: 100,
    };
    let granted = |reply| match reply {
        Reply::RestartPermit(permit) => permit.token.as_u128(),
        other => panic!("{other:?}"),
    };
    assert_eq!(granted(cluster.apply(ask("one", 1))), 1);
    assert!(matches!(
        cluster.refused(ask("two", 2)),
        Refusal::PermitHeld { .. }
    ));
    assert_eq!(granted(cluster.apply(ask("one", 3))), 1, "renewed");
    cluster.now_ms = 100;
    assert_eq!(granted(cluster.apply(ask("two", 2))), 2);
    cluster.done(Command::ReleaseRestartPermit {
        token: Uuid::from_u128(1),
    });
    assert!(cluster.image.restart_permit.is_some(), "not the held one");
    cluster.done(Command::ReleaseRestartPermit {
        token: Uuid::from_u128(2),
    });
    assert_eq!(cluster.image.restart_permit, None);
}
