//! One durable group on one broker, and one on three.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use model::BrokerId;
use openraft::raft::VoteRequest;
use tokio::net::TcpListener;
use tokio::time::timeout;
use uuid::Uuid;

use super::types::Vote;
use super::wal::room::Room;
use super::{
    Config, Entry, Group, GroupId, Groups, Members, ProposeError, Snapshot, StateMachine,
    UnknownCommand, codec, network,
};
use crate::peer::{self, Address, Identity, Mesh, Service};

/// Answers each command with its length. After one that begins with `bad` no snapshot can be taken.
#[derive(Default)]
struct Lengths {
    bad: bool,
}

impl StateMachine for Lengths {
    fn apply(&mut self, entry: &Entry) -> Result<Vec<Bytes>, UnknownCommand> {
        if entry
            .commands
            .iter()
            .any(|command| command.starts_with(b"new"))
        {
            return Err(UnknownCommand("it is new".to_owned()));
        }
        self.bad |= entry.commands.iter().any(|c| c.starts_with(b"bad"));
        let lengths = entry.commands.iter().map(Bytes::len);
        Ok(lengths.map(|len| len.to_string().into()).collect())
    }

    fn leadership(&mut self, _leading: bool, _term: u64) {}

    fn snapshot(&self) -> Snapshot {
        let bad = self.bad;
        Box::new(move |_: &mut dyn Write| match bad {
            true => Err(io::Error::other("a bad sector")),
            false => Ok(()),
        })
    }

    fn restore(&mut self, _snapshot: &mut dyn Read) -> io::Result<()> {
        Ok(())
    }
}

const HERE: BrokerId = BrokerId(1);

/// A group of this broker alone, once it leads.
async fn led(dir: &Path, config: Config) -> (Groups, Group) {
    let groups = Groups::open(dir, config, Mesh::alone(HERE), ()).expect("opens");
    let members = Members {
        voters: vec![HERE],
        preferred: HERE,
        original: true,
    };
    let started = groups.start_group(GroupId(1), members, Lengths::default());
    let group = started.await.expect("starts");
    let mut leader = group.leader();
    leader
        .wait_for(|leader| *leader == Some(HERE))
        .await
        .expect("leads");
    (groups, group)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_a_newer_build_stops_the_group_and_says_what_to_do() {
    let dir = tempfile::tempdir().expect("directory");
    let (groups, group) = led(dir.path(), Config::default()).await;
    let mut halted = groups.halted();
    assert_eq!(
        group
            .propose(Bytes::from_static(b"old"))
            .await
            .expect("applied"),
        "3"
    );
    let refused = group.propose(Bytes::from_static(b"new")).await;
    assert!(matches!(
        refused,
        Err(ProposeError::Stopped | ProposeError::Unknown)
    ));
    let why = halted
        .wait_for(Option::is_some)
        .await
        .expect("says why")
        .clone();
    let why = why.expect("it halted");
    assert!(
        why.contains("start this broker with the newest build"),
        "{why}"
    );
    assert!(group.propose(Bytes::from_static(b"old")).await.is_err());
    groups.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_dies_is_seen_and_says_what_to_do() {
    let dir = tempfile::tempdir().expect("directory");
    let config = Config {
        snapshot_log_bytes: 1,
        ..Config::default()
    };
    let (groups, group) = led(dir.path(), config).await;
    let mut halted = groups.halted();
    // Until a snapshot is due, which ends the group.
    while group.propose(Bytes::from_static(b"bad")).await.is_ok() {}
    let why = halted.wait_for(Option::is_some).await.expect("says why");
    let why = why.clone().expect("it halted");
    assert!(why.contains("raft group 1"), "{why}");
    assert!(why.contains("a bad sector"), "{why}");
    assert!(why.contains("then start the broker again"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_stopped_in_order_halts_nobody() {
    let dir = tempfile::tempdir().expect("directory");
    let (groups, group) = led(dir.path(), Config::default()).await;
    groups.close().await;
    assert!(group.propose(Bytes::from_static(b"late")).await.is_err());
    assert_eq!(*groups.halted().borrow(), None);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills the file system of TMPDIR: mount one of some 24 MB there"]
async fn a_full_disk_refuses_commands_and_takes_them_again_when_there_is_room() {
    let dir = tempfile::tempdir().expect("directory");
    let config = Config {
        wal_file_bytes: 4 << 20,
        ..Config::default()
    };
    let (groups, group) = led(dir.path(), config.clone()).await;
    let ballast = dir.path().join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 24 << 20]);
    assert!(filled.is_err(), "the file system is larger than 24 MB");
    let propose = || group.propose(vec![0; 100_000].into());
    let refused = loop {
        if let Err(refused) = propose().await {
            break refused;
        }
    };
    assert_eq!(refused, ProposeError::NoRoom);
    std::fs::remove_file(&ballast).expect("removed");
    let mut room = groups.room().expect("a log");
    timeout(
        Duration::from_secs(60),
        room.wait_for(|room| *room == Room::Ample),
    )
    .await
    .expect("in time")
    .expect("the log writes");
    assert_eq!(propose().await.as_deref(), Ok(&b"100000"[..]));
    groups.close().await;
    let (groups, group) = led(dir.path(), config).await;
    let mut applied = group.applied();
    let all = group.status().last_index;
    applied
        .wait_for(|index| *index >= all)
        .await
        .expect("applied");
    assert_eq!(*groups.halted().borrow(), None);
    groups.close().await;
}

#[tokio::test]
async fn proposals_that_wait_are_bounded_in_bytes() {
    let config = Config {
        waiting_bytes_max: 4096,
        ..Config::default()
    };
    // The group is not polled before this test waits.
    let groups = Groups::in_memory(HERE, config);
    let members = Members {
        voters: vec![HERE],
        preferred: HERE,
        original: true,
    };
    let group = groups
        .start_group(GroupId(1), members, Lengths::default())
        .await;
    let group = group.expect("starts");
    // Larger than the room: alone it may wait.
    let large = group.enqueue(vec![0; 10_000].into()).expect("room");
    let refused = group.enqueue(Bytes::from_static(b"one more"));
    assert_eq!(refused.err(), Some(ProposeError::Overloaded));
    assert_eq!(large.await.expect("answered").expect("applied"), "10000");
    assert_eq!(
        group
            .propose(Bytes::from_static(b"again"))
            .await
            .expect("room"),
        "5"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_command_is_taken_and_a_larger_one_stops_nobody() {
    let dir = tempfile::tempdir().expect("directory");
    let config = Config {
        wal_file_bytes: 64 << 10,
        ..Config::default()
    };
    let (groups, group) = led(dir.path(), config).await;
    let propose = |len: usize| group.propose(vec![0; len].into());
    let max = 32 << 10;
    for len in [max, max, max] {
        let reply = propose(len).await.expect("applied");
        assert_eq!(reply, len.to_string());
    }
    let refused = propose(max + 1).await;
    let bytes = max + 1;
    assert_eq!(refused, Err(ProposeError::TooLarge { bytes, max }));
    assert_eq!(propose(1).await.expect("applied"), "1");
    assert!(!*groups.failed().borrow());
    groups.close().await;
}

const THREE: [BrokerId; 3] = [BrokerId(0), BrokerId(1), BrokerId(2)];

/// A group of three brokers, the first of which is preferred.
async fn three(dir: &Path) -> [(Mesh, Groups, Group); 3] {
    let mut listeners = Vec::new();
    let mut addresses = BTreeMap::new();
    for broker in THREE {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let (host, port) = (
            "127.0.0.1".to_owned(),
            listener.local_addr().expect("bound").port(),
        );
        addresses.insert(broker, Address { host, port });
        listeners.push((broker, listener));
    }
    let started = listeners.into_iter().map(|(broker, listener)| {
        let mut others = addresses.clone();
        others.remove(&broker);
        async move {
            let identity = Identity {
                broker,
                cluster_id: "c".to_owned(),
                incarnation: Uuid::nil(),
            };
            let mesh = Mesh::start(identity, peer::Config::default(), vec![listener]);
            mesh.set_peers(others);
            let own = dir.join(broker.to_string());
            std::fs::create_dir(&own).expect("directory");
            let groups = Groups::open(&own, Config::default(), mesh.clone(), ()).expect("opens");
            let members = Members {
                voters: THREE.to_vec(),
                preferred: THREE[0],
                original: true,
            };
            let group = groups.start_group(GroupId(1), members, Lengths::default());
            let group = group.await.expect("starts");
            (mesh, groups, group)
        }
    });
    let started = futures::future::join_all(started).await;
    started.try_into().unwrap_or_else(|_| unreachable!("three"))
}

/// It was killed before its own disk had what the others have, and was back before they missed it.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_has_forgotten_that_it_leads_and_cannot_be_elected_is_replaced() {
    let dir = tempfile::tempdir().expect("directory");
    let brokers = three(dir.path()).await;
    let [(first, ..), (_, _, second), _] = &brokers;
    let mut leader = second.leader();
    let led = leader.wait_for(|leader| *leader == Some(THREE[0]));
    led.await.expect("the preferred one leads");
    let replaced = async {
        loop {
            let vote = Vote::new(second.status().term + 1, 0);
            let mut ask = network::request(network::PRE_VOTE, GroupId(1));
            codec::put_vote_request(&mut ask, &VoteRequest::new(vote, None));
            let answer = first.call(THREE[1], Service::Raft, ask.freeze()).await;
            answer.expect("answers");
            let other = leader.wait_for(|leader| leader.is_some_and(|id| id != THREE[0]));
            // As often as it would ask.
            if timeout(Duration::from_millis(100), other).await.is_ok() {
                return;
            }
        }
    };
    let in_time = timeout(Duration::from_secs(20), replaced).await;
    in_time.expect("another one leads");
    for (mesh, groups, _) in &brokers {
        groups.close().await;
        mesh.close();
    }
}
