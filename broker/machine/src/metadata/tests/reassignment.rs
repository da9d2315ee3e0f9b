use model::{BrokerId, TopicId};

use super::super::command::{Command, Reassignment, Refusal, Reply};
use super::super::image::ConfigResource;
use super::{Cluster, brokers, manual};

const RACKS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A topic of one partition on these brokers, all in sync, the first one leading.
fn on(replicas: &[i32]) -> (Cluster, TopicId) {
    let mut cluster = Cluster::with_racks(&RACKS);
    let topic = cluster.create("t", manual(&[replicas]));
    (cluster, topic)
}

/// `None` calls it off.
fn ask(cluster: &mut Cluster, topic: TopicId, to: Option<&[i32]>, resize: bool) -> Option<Refusal> {
    let reply = cluster.apply(Command::ReassignPartitions {
        partitions: vec![Reassignment {
            topic,
            partition: 0,
            replicas: to.map(brokers),
        }],
        allow_factor_change: resize,
    });
    match reply {
        Reply::Reassigned(mut outcomes) => outcomes.remove(0),
        other => panic!("{other:?}"),
    }
}

fn reassign(cluster: &mut Cluster, topic: TopicId, to: &[i32]) {
    assert_eq!(ask(cluster, topic, Some(to), true), None);
}

fn call_off(cluster: &mut Cluster, topic: TopicId) {
    assert_eq!(ask(cluster, topic, None, true), None);
}

fn in_sync(cluster: &mut Cluster, topic: TopicId, isr: &[i32]) {
    let now = cluster.partition(topic, 0).clone();
    let reply = cluster.apply(Command::AlterPartition {
        topic,
        partition: 0,
        leader: now.leader.expect("a leader"),
        leader_epoch: now.leader_epoch,
        partition_epoch: now.partition_epoch,
        isr: brokers(isr),
    });
    assert_eq!(reply, Reply::PartitionEpoch(now.partition_epoch + 1));
}

/// `replicas / adding / removing / in sync @ leader epoch`, `-` where nobody leads.
fn show(cluster: &Cluster, topic: TopicId) -> String {
    let p = cluster.partition(topic, 0);
    let list = |ids: &[BrokerId]| {
        let ids: Vec<_> = ids.iter().map(|id| id.0.to_string()).collect();
        ids.join(",")
    };
    let leader = p
        .leader
        .map_or_else(|| "-".to_owned(), |id| id.0.to_string());
    format!(
        "{} / {} / {} / {} @ {leader} {}",
        list(&p.replicas),
        list(&p.adding),
        list(&p.removing),
        list(&p.isr),
        p.leader_epoch.0
    )
}

#[test]
fn a_partition_has_both_sets_until_the_whole_target_is_in_sync() {
    let (mut cluster, topic) = on(&[0, 1, 2]);
    reassign(&mut cluster, topic, &[3, 1, 4]);
    assert_eq!(show(&cluster, topic), "3,1,4,0,2 / 3,4 / 0,2 / 1,0,2 @ 0 0");
    in_sync(&mut cluster, topic, &[0, 1, 2, 4]);
    assert_eq!(
        show(&cluster, topic),
        "3,1,4,0,2 / 3,4 / 0,2 / 1,4,0,2 @ 0 0"
    );
    in_sync(&mut cluster, topic, &[0, 1, 3, 4]);
    assert_eq!(
        show(&cluster, topic),
        "3,1,4 /  /  / 3,1,4 @ 3 1",
        "the leader left"
    );
    assert!(cluster.partition(topic, 0).emptied.is_empty());
}

#[test]
fn a_leader_that_stays_leads_on_in_another_epoch_when_a_replica_leaves() {
    let (mut cluster, topic) = on(&[0, 1, 2]);
    reassign(&mut cluster, topic, &[1, 0]);
    assert_eq!(show(&cluster, topic), "1,0 /  /  / 1,0 @ 0 1", "at once");
    reassign(&mut cluster, topic, &[0, 1]);
    assert_eq!(show(&cluster, topic), "0,1 /  /  / 0,1 @ 0 1");
    let before = cluster.partition(topic, 0).clone();
    reassign(&mut cluster, topic, &[0, 1]);
    assert_eq!(*cluster.partition(topic, 0), before, "nothing to do");
}

#[test]
fn a_move_that_is_called_off_goes_back_to_the_replicas_before_the_first() {
    let (mut cluster, topic) = on(&[0, 1]);
    reassign(&mut cluster, topic, &[2, 1]);
    reassign(&mut cluster, topic, &[3, 1]);
    assert_eq!(show(&cluster, topic), "3,1,0,2 / 2,3 / 0,2 / 1,0 @ 0 0");
    in_sync(&mut cluster, topic, &[0, 1, 2]);
    call_off(&mut cluster, topic);
    assert_eq!(show(&cluster, topic), "1,0 /  /  / 1,0 @ 0 1");
    let refused = ask(&mut cluster, topic, None, true);
    assert_eq!(refused, Some(Refusal::NoReassignmentInProgress));
}

#[test]
fn what_a_move_alone_has_is_not_given_up_but_where_that_is_allowed() {
    let (mut cluster, topic) = on(&[0]);
    reassign(&mut cluster, topic, &[1, 2]);
    in_sync(&mut cluster, topic, &[0, 1]);
    cluster.fence(0);
    assert_eq!(show(&cluster, topic), "1,2,0 / 1,2 / 0 / 1 @ 1 1");
    let refused = ask(&mut cluster, topic, None, true);
    assert_eq!(
        refused,
        Some(Refusal::InvalidReplicaAssignment(
            "Unable to revert partition assignment for t:0 because it would require an unclean leader election.".to_owned()
        ))
    );
    cluster.apply(Command::AlterConfigs {
        resource: ConfigResource::Topic("t".into()),
        changes: vec![(
            "unclean.leader.election.enable".to_owned(),
            Some("true".to_owned()),
        )],
    });
    call_off(&mut cluster, topic);
    assert_eq!(show(&cluster, topic), "0 /  /  / 0 @ - 2");
    cluster.unfence(0);
    assert_eq!(show(&cluster, topic), "0 /  /  / 0 @ 0 3");
}

#[test]
fn a_replica_that_is_being_added_is_elected_uncleanly_only_where_there_is_no_other() {
    let (mut cluster, topic) = on(&[0, 1]);
    reassign(&mut cluster, topic, &[2, 0, 1]);
    cluster.fence(1);
    cluster.fence(0);
    cluster.unfence(1);
    cluster.done(Command::ElectUnclean {
        partitions: vec![(topic, 0)],
    });
    assert_eq!(show(&cluster, topic), "2,0,1 / 2 /  / 1 @ 1 2");
}

#[test]
fn a_fenced_target_is_waited_for() {
    let (mut cluster, topic) = on(&[0, 1]);
    cluster.fence(4);
    reassign(&mut cluster, topic, &[0, 4]);
    assert_eq!(show(&cluster, topic), "0,4,1 / 4 / 1 / 0,1 @ 0 0");
    cluster.unfence(4);
    in_sync(&mut cluster, topic, &[0, 1, 4]);
    assert_eq!(show(&cluster, topic), "0,4 /  /  / 0,4 @ 0 1");
}

#[test]
fn an_assignment_is_refused_for_what_kafka_refuses_it_for() {
    let (mut cluster, topic) = on(&[0, 1]);
    let assignment = |text: &str| Some(Refusal::InvalidReplicaAssignment(text.to_owned()));
    let factor = |text: &str| Some(Refusal::InvalidReplicationFactor(text.to_owned()));
    let mut asked = |to: &[i32], resize| ask(&mut cluster, topic, Some(to), resize);
    assert_eq!(
        asked(&[0, 9], true),
        assignment(
            "The manual partition assignment includes broker 9, but no such broker is registered."
        )
    );
    assert_eq!(
        asked(&[0, 0], true),
        assignment("The manual partition assignment includes the broker 0 more than once.")
    );
    assert_eq!(
        asked(&[], true),
        assignment("The manual partition assignment includes an empty replica list.")
    );
    assert_eq!(
        asked(&[0, 1, 2], false),
        factor("The replication factor is changed from 2 to 3")
    );
    assert_eq!(asked(&[2, 3], false), None);
    assert_eq!(
        asked(&[2], false),
        factor("The replication factor is changed from 2 to 1"),
        "of the target, not of both sets"
    );
    cluster.done(Command::DeleteTopic { id: topic });
    let gone = ask(&mut cluster, topic, None, true);
    assert_eq!(gone, Some(Refusal::UnknownTopic));
}

#[test]
fn a_broker_that_is_unregistered_leads_nothing_and_gets_nothing_new() {
    let (mut cluster, topic) = on(&[0, 1]);
    let unregister = |id| Command::UnregisterBroker { id: BrokerId(id) };
    cluster.done(unregister(0));
    assert_eq!(show(&cluster, topic), "0,1 /  /  / 1 @ 1 1");
    assert_eq!(
        cluster.refused(unregister(0)),
        Refusal::BrokerNotRegistered(BrokerId(0))
    );
    let named = ask(&mut cluster, topic, Some(&[0, 1]), true);
    assert!(matches!(named, Some(Refusal::InvalidReplicaAssignment(_))));
    reassign(&mut cluster, topic, &[1, 2]);
    in_sync(&mut cluster, topic, &[1, 2]);
    assert_eq!(show(&cluster, topic), "1,2 /  /  / 1,2 @ 1 2");
}

#[test]
fn a_disk_that_comes_back_after_its_broker_was_unregistered_is_told_from_another() {
    let (mut cluster, topic) = on(&[0]);
    let other = cluster.create("other", manual(&[&[1]]));
    for id in [0, 1] {
        cluster.done(Command::UnregisterBroker { id: BrokerId(id) });
    }
    cluster.register(0, "a", 0);
    cluster.register(1, "b", 99);
    cluster.unfence(0);
    cluster.unfence(1);
    assert_eq!(show(&cluster, topic), "0 /  /  / 0 @ 0 2");
    assert_eq!(show(&cluster, other), "1 /  /  /  @ - 1");
    assert!(cluster.image.departed.is_empty());
}
