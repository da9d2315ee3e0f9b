use bytes::Bytes;
use machine::group::{Commit, CommitPartition, Error};
use tokio::task::JoinHandle;

use super::*;
use crate::coordinator::testing::Memory;

struct Running {
    requests: mpsc::Sender<Request>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(journal: &Arc<Memory>) -> Self {
        let (requests, mailbox) = mpsc::channel(MAILBOX_MAX);
        let settings = Settings {
            group: group::Config {
                initial_rebalance_delay_ms: 1,
                ..group::Config::default()
            },
            sweep_every: Duration::from_secs(600),
        };
        let nothing_gone: FindGone = Arc::new(|_| Arc::from([]));
        let task = tokio::spawn(run(
            Arc::clone(journal),
            settings,
            mailbox,
            Arc::default(),
            nothing_gone,
        ));
        Self { requests, task }
    }

    async fn commit(
        &self,
        group: &str,
        offset: i64,
    ) -> oneshot::Receiver<Result<Reply, Unavailable>> {
        let (answer, receiver) = oneshot::channel();
        let request = Request::Command {
            group: group.into(),
            command: commit(offset),
            answer,
        };
        self.requests.send(request).await.map_err(drop).unwrap();
        receiver
    }

    async fn committed(&self, group: &'static str) -> oneshot::Receiver<Option<i64>> {
        let (answer, receiver) = oneshot::channel();
        let query: Query = Box::new(move |state| {
            let offset = state.committed(group, "t", 0).map(|c| c.offset);
            Box::new(move || answer.send(offset).unwrap())
        });
        self.requests
            .send(Request::Query(query))
            .await
            .map_err(drop)
            .unwrap();
        receiver
    }
}

fn commit(offset: i64) -> Command {
    Command::Commit(Commit {
        member_id: "".into(),
        instance_id: None,
        generation: -1,
        retention_ms: None,
        partitions: vec![CommitPartition {
            topic: "t".into(),
            topic_id: TopicId::default(),
            partition: 0,
            offset,
            leader_epoch: -1,
            metadata: "".into(),
        }],
    })
}

fn done() -> Result<Reply, Unavailable> {
    Ok(Reply::Commit(Ok(vec![Ok(())])))
}

#[tokio::test]
async fn an_offset_is_answered_and_seen_only_once_it_is_committed() {
    let journal = Memory::new();
    let shard = Running::start(&journal);
    let mut committed = shard.commit("g", 5).await;
    let mut seen = shard.committed("g").await;
    tokio::task::yield_now().await;
    assert!(committed.try_recv().is_err());
    assert!(seen.try_recv().is_err());
    journal.permit(1);
    assert_eq!(committed.await.unwrap(), done());
    assert_eq!(seen.await.unwrap(), Some(5));
}

#[tokio::test]
async fn commits_that_wait_for_an_append_share_the_next_one() {
    let journal = Memory::new();
    let shard = Running::start(&journal);
    let mut answers = Vec::new();
    for offset in 0..10 {
        answers.push(shard.commit("g", offset).await);
    }
    let last = shard.committed("g").await;
    journal.permit(10);
    for answer in answers {
        assert_eq!(answer.await.unwrap(), done());
    }
    assert_eq!(last.await.unwrap(), Some(9));
    assert!(
        journal.appends() <= 3,
        "{} appends for ten commits",
        journal.appends()
    );
}

#[tokio::test]
async fn a_new_coordinator_knows_what_the_old_one_committed() {
    let journal = Memory::open();
    let first = Running::start(&journal);
    for offset in [3, 4, 5] {
        assert_eq!(first.commit("g", offset).await.await.unwrap(), done());
    }
    drop(first.requests);
    first.task.await.unwrap();
    let second = Running::start(&journal);
    assert_eq!(second.committed("g").await.await.unwrap(), Some(5));
    assert_eq!(second.committed("other").await.await.unwrap(), None);
}

#[tokio::test]
async fn who_waits_when_leadership_is_lost_is_sent_to_the_new_coordinator() {
    let journal = Memory::open();
    journal.fail_next(AppendFailed::NotLeader);
    let shard = Running::start(&journal);
    let answer = shard.commit("g", 1).await;
    assert_eq!(answer.await.unwrap(), Err(Unavailable::NotCoordinator));
    shard.task.await.unwrap();
}

#[tokio::test]
async fn an_append_that_fails_leaves_no_trace_in_what_is_served() {
    let journal = Memory::open();
    let shard = Running::start(&journal);
    assert_eq!(shard.commit("g", 1).await.await.unwrap(), done());
    let failure = AppendFailed::Unacknowledged("too few replicas".into());
    journal.fail_next(failure);
    assert_eq!(
        shard.commit("g", 2).await.await.unwrap(),
        Err(Unavailable::NotAvailable)
    );
    assert_eq!(shard.committed("g").await.await.unwrap(), Some(1));
    assert_eq!(shard.commit("g", 3).await.await.unwrap(), done());
}

#[tokio::test]
async fn a_join_is_answered_when_the_initial_delay_is_over() {
    let journal = Memory::open();
    let shard = Running::start(&journal);
    let (answer, joined) = oneshot::channel();
    let join = group::Join {
        member_id: "".into(),
        fresh_member_id: "c-1".into(),
        instance_id: None,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: "consumer".into(),
        protocols: vec![group::Protocol {
            name: "range".into(),
            metadata: Bytes::new(),
        }],
        id_required_first: false,
        can_skip_assignment: true,
    };
    let command = Command::Join(join);
    let request = Request::Command {
        group: "g".into(),
        command,
        answer,
    };
    shard.requests.send(request).await.map_err(drop).unwrap();
    let Reply::Join(Ok(joined)) = joined.await.unwrap().unwrap() else {
        panic!("a join");
    };
    assert_eq!((joined.generation, &*joined.leader), (1, "c-1"));
}

#[tokio::test]
async fn a_refusal_by_the_group_is_an_answer() {
    let journal = Memory::open();
    let shard = Running::start(&journal);
    let (answer, deleted) = oneshot::channel();
    let request = Request::Command {
        group: "g".into(),
        command: Command::Delete,
        answer,
    };
    shard.requests.send(request).await.map_err(drop).unwrap();
    assert_eq!(
        deleted.await.unwrap(),
        Ok(Reply::Delete(Err(Error::GroupNotFound)))
    );
}
