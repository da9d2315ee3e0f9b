//! Brokers that come and go while the cluster runs: as carriers of partitions, and as voters.

use broker::metadata::{VoterChange, VoterKey, VoterRefusal};
use kafka_wire::messages::unregister_broker;
use machine::metadata::command::{Assignment, Command, Reassignment, Reply};
use machine::metadata::image::{Image, Partition};
use model::{BrokerId, TopicId, batch::Builder};
use tokio::time::timeout;
use uuid::Uuid;

use crate::cluster::{Cluster, LONG};
use crate::kafka::client::Client;

const TOPIC: TopicId = TopicId(Uuid::from_u128(7));

fn ids(brokers: &[usize]) -> Vec<BrokerId> {
    let id = |broker: &usize| BrokerId(i32::try_from(*broker).unwrap());
    brokers.iter().map(id).collect()
}

async fn submit(cluster: &Cluster, by: usize, command: Command) -> Reply {
    let submitted = cluster.metadata(by).submit(command);
    let reply = timeout(LONG, submitted).await.unwrap().unwrap();
    assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
    reply
}

async fn create(cluster: &Cluster, by: usize, name: &str, replicas: &[usize]) {
    let create = Command::CreateTopic {
        name: name.to_owned(),
        id: TopicId(Uuid::new_v4()),
        assignment: Assignment::Manual(vec![ids(replicas)]),
        configs: Vec::new(),
    };
    submit(cluster, by, create).await;
}

fn partition(image: &Image) -> &Partition {
    &image.topics[&TOPIC].partitions[0]
}

async fn reassign(cluster: &Cluster, replicas: &[usize]) {
    let command = Command::ReassignPartitions {
        partitions: vec![Reassignment {
            topic: TOPIC,
            partition: 0,
            replicas: Some(ids(replicas)),
        }],
        allow_factor_change: false,
    };
    submit(cluster, 0, command).await;
    let moved = |image: &Image| {
        let p = partition(image);
        p.replicas == ids(replicas) && p.isr.len() == replicas.len() && !p.is_moving()
    };
    cluster.sees(0, moved).await;
}

#[tokio::test]
async fn a_broker_added_live_is_given_partitions_and_is_forgotten_once_it_has_none() {
    let mut cluster = Cluster::start(3).await;
    let create = Command::CreateTopic {
        name: "t".to_owned(),
        id: TOPIC,
        assignment: Assignment::Manual(vec![ids(&[0, 1])]),
        configs: Vec::new(),
    };
    submit(&cluster, 0, create).await;
    let mut record = Builder::default();
    record.push(1, None, Some(b"a"));
    let produced = Client::connect(&cluster, 0)
        .await
        .produce("t", record.build().unwrap())
        .await;
    assert_eq!(produced.error_code, 0);
    let added = cluster.enlarge();
    cluster.start_broker(added).await;
    cluster.all_in().await;
    reassign(&cluster, &[added, 0]).await;
    let log = |id| cluster.data_dir(id).join(format!("partitions/{TOPIC}-0"));
    assert!(log(added).exists(), "it has a log of its own");
    reassign(&cluster, &[1, 0]).await;
    cluster.stop_broker(added).await;

    let request = unregister_broker::Request {
        broker_id: i32::try_from(added).unwrap(),
    };
    let mut client = Client::connect(&cluster, 1).await;
    assert_eq!(client.call(0, &request).await.error_code, 0);
    let gone = ids(&[added])[0];
    cluster
        .sees(2, |image| !image.brokers.contains_key(&gone))
        .await;
    let again = client.call(0, &request).await;
    assert_eq!(again.error_code, 102, "{again:?}");
}

fn key(cluster: &Cluster, id: usize) -> VoterKey {
    let id = ids(&[id])[0];
    VoterKey {
        id,
        directory: cluster.metadata(0).image().brokers[&id].incarnation,
    }
}

async fn change(cluster: &Cluster, by: usize, change: VoterChange) -> Result<(), VoterRefusal> {
    let changing = cluster.metadata(by).change_voters(change);
    timeout(LONG, changing).await.unwrap().unwrap()
}

/// As the leader tells them, and as broker `by` goes by them.
async fn voters(cluster: &Cluster, by: usize) -> Vec<BrokerId> {
    let quorum = cluster.metadata(by).quorum();
    let quorum = timeout(LONG, quorum).await.unwrap().unwrap();
    quorum.voters.iter().map(|voter| voter.id).collect()
}

#[tokio::test]
async fn voters_come_and_go_live_and_a_leader_that_goes_hands_over() {
    let mut cluster = Cluster::start(1).await;
    create(&cluster, 0, "alone", &[0]).await;
    let observer = cluster.enlarge();
    cluster.start_broker(observer).await;
    cluster.all_in().await;
    assert_eq!(
        change(&cluster, 0, VoterChange::Add(key(&cluster, observer))).await,
        Err(VoterRefusal::NoCandidate(ids(&[observer])[0])),
        "it would not know that it may have voted"
    );
    cluster.stop_broker(observer).await;
    cluster.enlarge();
    cluster.configure_voters(&[0, 1, 2]);
    for id in [1, 2] {
        cluster.start_broker(id).await;
    }
    cluster.all_in().await;
    for id in [1, 2] {
        let add = VoterChange::Add(key(&cluster, id));
        // Two at once: it is added once, and who comes second is told so.
        let (one, other) = tokio::join!(change(&cluster, 2, add), change(&cluster, 1, add));
        let (added, again) = if one.is_ok() {
            (one, other)
        } else {
            (other, one)
        };
        assert_eq!(added, Ok(()));
        assert!(
            matches!(again, Err(VoterRefusal::Duplicate(..))),
            "{again:?}"
        );
    }
    assert_eq!(voters(&cluster, 2).await, ids(&[0, 1, 2]));

    // Broker 0 is configured with itself alone, and must not go on as its own quorum.
    cluster.stop_broker(0).await;
    create(&cluster, 1, "without", &[1]).await;
    cluster.configure_voters(&[0]);
    cluster.start_broker(0).await;
    cluster.all_in().await;
    cluster.controller_is(0).await;
    let leader = key(&cluster, 0);
    let other = VoterKey {
        directory: Uuid::from_u128(9),
        ..leader
    };
    let stranger = change(&cluster, 1, VoterChange::Remove(other)).await;
    assert!(matches!(stranger, Err(VoterRefusal::NotFound(..))));
    assert_eq!(
        change(&cluster, 1, VoterChange::Remove(leader)).await,
        Ok(())
    );
    assert_eq!(voters(&cluster, 0).await, ids(&[1, 2]));
    assert_ne!(cluster.controller().await, 0);
    // It follows, and is not needed.
    create(&cluster, 0, "behind", &[0]).await;
    cluster.stop_broker(0).await;
    create(&cluster, 2, "after", &[2]).await;
}
