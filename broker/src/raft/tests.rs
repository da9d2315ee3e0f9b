//! One durable group on one broker.

use std::io::{self, Read, Write};

use bytes::Bytes;
use model::BrokerId;

use super::{Config, Entry, GroupId, Groups, Members, ProposeError, Snapshot, StateMachine};
use crate::peer::Mesh;

/// Answers each command with its length.
struct Lengths;

impl StateMachine for Lengths {
    fn apply(&mut self, entry: &Entry) -> Vec<Bytes> {
        let lengths = entry.commands.iter().map(Bytes::len);
        lengths.map(|len| len.to_string().into()).collect()
    }

    fn leadership(&mut self, _leading: bool, _term: u64) {}

    fn snapshot(&self) -> Snapshot {
        Box::new(|_: &mut dyn Write| Ok(()))
    }

    fn restore(&mut self, _snapshot: &mut dyn Read) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_command_is_taken_and_a_larger_one_stops_nobody() {
    const HERE: BrokerId = BrokerId(1);
    let dir = tempfile::tempdir().expect("directory");
    let config = Config {
        wal_file_bytes: 64 << 10,
        ..Config::default()
    };
    let groups = Groups::open(dir.path(), config, Mesh::alone(HERE), ()).expect("opens");
    let members = Members {
        voters: vec![HERE],
        preferred: HERE,
    };
    let started = groups.start_group(GroupId(1), members, Lengths);
    let group = started.await.expect("starts");
    let mut leader = group.leader();
    leader
        .wait_for(|leader| *leader == Some(HERE))
        .await
        .expect("leads");
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
