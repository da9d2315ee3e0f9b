use machine::metadata::command::{Assignment, Command, Reply};
use model::TopicId;
use uuid::Uuid;

use super::*;

/// Active brokers 0.. in zones of their own.
fn cluster(brokers: i32) -> Image {
    let mut image = Image::genesis();
    for id in 0..brokers {
        apply(
            &mut image,
            Command::RegisterBroker {
                id: BrokerId(id),
                incarnation: Uuid::from_u128(u128::from(id.unsigned_abs())),
                rack: Some(format!("zone-{id}")),
                endpoints: Vec::new(),
                previous_epoch: None,
                levels: machine::metadata::feature::Levels::BUILD,
            },
        );
        unfence(&mut image, id);
    }
    image
}

fn apply(image: &mut Image, command: Command) {
    let index = image.index + 1;
    let reply = image.apply(command, 0, index);
    assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
}

fn epoch(image: &Image, id: i32) -> i64 {
    image.brokers[&BrokerId(id)].epoch
}

fn unfence(image: &mut Image, id: i32) {
    let epoch = epoch(image, id);
    apply(
        image,
        Command::UnfenceBroker {
            id: BrokerId(id),
            epoch,
        },
    );
}

fn fence(image: &mut Image, id: i32) {
    let epoch = epoch(image, id);
    apply(
        image,
        Command::FenceBroker {
            id: BrokerId(id),
            epoch,
        },
    );
}

fn topic(image: &mut Image, name: &str, replicas: &[i32]) {
    let replicas = replicas.iter().map(|id| BrokerId(*id)).collect();
    let id = TopicId(Uuid::from_u128(u128::from(image.index)));
    apply(
        image,
        Command::CreateTopic {
            name: name.to_owned(),
            id,
            assignment: Assignment::Manual(vec![replicas]),
            configs: Vec::new(),
        },
    );
}

fn judge_with(image: &Image, min_insync: usize, broker: i32) -> Verdict {
    let voters: Vec<BrokerId> = image.brokers.keys().copied().take(3).collect();
    judge(&Question {
        image,
        voters: &voters,
        min_insync: &|_| min_insync,
        broker: BrokerId(broker),
    })
}

fn names(partitions: &[PartitionName]) -> Vec<String> {
    partitions.iter().map(ToString::to_string).collect()
}

#[test]
fn whole_cluster_lets_any_one_broker_go() {
    let mut image = cluster(3);
    topic(&mut image, "t", &[0, 1, 2]);
    for broker in 0..3 {
        let verdict = judge_with(&image, 2, broker);
        assert!(verdict.may_stop, "{verdict:?}");
    }
    assert_eq!(names(&judge_with(&image, 2, 0).would_lose_acks), ["t-0"]);
    assert!(judge_with(&image, 2, 1).would_lose_acks.is_empty());
}

#[test]
fn second_broker_must_stay_while_the_first_is_away() {
    let mut image = cluster(3);
    topic(&mut image, "t", &[0, 1, 2]);
    fence(&mut image, 0);
    let verdict = judge_with(&image, 2, 1);
    assert!(!verdict.may_stop);
    assert_eq!(names(&verdict.would_block_writes), ["t-0"]);
    assert_eq!(verdict.quorum_critical, [QuorumGroup::Metadata]);
    let again = judge_with(&image, 2, 0);
    assert!(
        again.may_stop,
        "what is away already costs nothing: {again:?}"
    );
}

#[test]
fn last_in_sync_replica_must_stay_even_where_one_is_enough() {
    let mut image = cluster(5);
    topic(&mut image, "t", &[3, 4]);
    fence(&mut image, 3);
    let verdict = judge_with(&image, 1, 4);
    assert_eq!(names(&verdict.would_go_offline), ["t-0"]);
    assert!(!verdict.may_stop);
}

#[test]
fn replication_that_never_spares_a_broker_is_listed_and_tolerated() {
    let mut image = cluster(3);
    topic(&mut image, "single", &[0]);
    topic(&mut image, "pair", &[0, 1]);
    let verdict = judge_with(&image, 2, 0);
    assert!(verdict.may_stop);
    assert_eq!(names(&verdict.tolerated), ["pair-0", "single-0"]);
}

#[test]
fn lone_broker_may_stop_with_its_quorum_listed() {
    let image = cluster(1);
    let verdict = judge_with(&image, 1, 0);
    assert!(verdict.may_stop);
    assert_eq!(verdict.tolerated_groups, [QuorumGroup::Metadata]);
}

#[test]
fn quorum_queues_forbid_what_would_take_their_majority() {
    let mut image = cluster(5);
    apply(
        &mut image,
        Command::DeclareQueue {
            vhost: "/".to_owned(),
            name: "q".to_owned(),
            quorum: true,
            home: BrokerId(0),
            durable: true,
            auto_delete: false,
            exclusive: None,
            arguments: Default::default(),
        },
    );
    let members = image.shards.values().next().unwrap().members.clone();
    fence(&mut image, members[0].0);
    let verdict = judge_with(&image, 1, members[1].0);
    assert!(
        verdict
            .quorum_critical
            .iter()
            .any(|g| matches!(g, QuorumGroup::Shard(_))),
        "{verdict:?}"
    );
}
