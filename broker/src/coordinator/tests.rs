//! Coordinators over real partitions of one broker.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use api::admin::Group;
use bytes::Bytes;
use commitlog::Shutdown;
use machine::group::{Commit, CommitPartition};
use machine::metadata::command::{self, Assignment};
use machine::metadata::image::Image;
use model::{TopicId, TopicPartition, batch};
use uuid::Uuid;

use super::*;
use crate::partition::{Acks, Append, Origin, Partitions, Parts};

const TOPIC: TopicId = TopicId(Uuid::from_u128(7));

struct Broker {
    metadata: metadata::Handle,
    partitions: Partitions,
    coordinators: Coordinators,
    telemetry: Telemetry,
}

impl Broker {
    fn start(metadata: &metadata::Handle, directory: &Path) -> Self {
        let mesh = Mesh::alone(metadata.this_broker());
        let telemetry = Telemetry::default();
        let partitions = partition::start(Parts {
            config: partition::Config::default(),
            settings: BTreeMap::new(),
            directory: directory.to_owned(),
            left: Shutdown::Clean,
            metadata: metadata.clone(),
            mesh: mesh.clone(),
            telemetry: telemetry.clone(),
        })
        .unwrap();
        let config = Config {
            partitions: 2,
            lag_every: Duration::from_millis(10),
            ..Config::default()
        };
        let roster = partitions.roster();
        let coordinators = Coordinators::start(config, metadata.clone(), roster, mesh, &telemetry);
        Self {
            metadata: metadata.clone(),
            partitions,
            coordinators,
            telemetry,
        }
    }

    /// Repeats what clients repeat: a coordinator that loads or has just been made.
    async fn submit(&self, group: &str, command: Command) -> Reply {
        loop {
            let found = self.coordinators.find(group).await;
            assert_eq!(found, Ok(self.metadata.this_broker()));
            match self
                .coordinators
                .submit(&group.into(), command.clone())
                .await
            {
                Ok(reply) => return reply,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    async fn committed(&self, group: &'static str) -> Option<i64> {
        loop {
            let look = move |s: &State| s.committed(group, "t", 0).map(|c| c.offset);
            match self.coordinators.query(group, look).await {
                Ok(offset) => return offset,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// Waits for a measure of lag that satisfies `is`.
    async fn measured(&self, is: impl Fn(&[Group]) -> bool) {
        let mut reports = self.coordinators.0.report.subscribe();
        let measured = reports.wait_for(|report| is(&report.groups)).await;
        drop(measured.unwrap());
    }

    /// The group's standing once it is so many records behind.
    async fn behind(&self, group: &str, records: i64) -> Group {
        let is = |g: &Group| g.summary.id == group && g.summary.lag_records == records;
        self.measured(|groups| groups.iter().any(is)).await;
        let groups = self.coordinators.groups().await;
        groups.into_iter().find(is).unwrap()
    }

    async fn produce(&self, records: i64, written_ms: i64) {
        let place = TopicPartition {
            topic: TOPIC,
            partition: 0,
        };
        let mut changes = self.partitions.roster().changes();
        let handle = loop {
            if let Some(handle) = self.partitions.roster().get(place)
                && handle.status().role == partition::Role::Leader
            {
                break handle;
            }
            changes.changed().await.unwrap();
        };
        let mut builder = batch::Builder::default();
        for _ in 0..records {
            builder.push(written_ms, None, Some(b"value"));
        }
        let append = Append {
            batches: builder.build().unwrap(),
            acks: Acks::All,
            timeout: Duration::from_secs(20),
            origin: Origin::Client,
        };
        handle.append(append).await.unwrap();
    }

    fn metrics(&self) -> String {
        self.telemetry.encode()
    }
}

fn image() -> Image {
    let mut image = Image::genesis();
    let registered = image.apply(
        command::Command::RegisterBroker {
            id: BrokerId(0),
            incarnation: Uuid::from_u128(1),
            rack: None,
            endpoints: Vec::new(),
            previous_epoch: None,
            levels: machine::metadata::feature::Levels::BUILD,
        },
        0,
        1,
    );
    let command::Reply::Registered { epoch } = registered else {
        panic!("{registered:?}");
    };
    let id = BrokerId(0);
    image.apply(command::Command::UnfenceBroker { id, epoch }, 0, 2);
    let topic = command::Command::CreateTopic {
        name: "t".to_owned(),
        id: TOPIC,
        assignment: Assignment::Manual(vec![vec![id]]),
        configs: Vec::new(),
    };
    image.apply(topic, 0, 3);
    image
}

fn commit(offset: i64) -> Command {
    Command::Commit(Commit {
        member_id: "".into(),
        instance_id: None,
        generation: -1,
        retention_ms: None,
        partitions: vec![CommitPartition {
            topic: "t".into(),
            topic_id: TOPIC,
            partition: 0,
            offset,
            leader_epoch: 0,
            metadata: "".into(),
        }],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_outlive_their_broker() {
    let directory = tempfile::tempdir().unwrap();
    let metadata = metadata::Handle::in_memory(BrokerId(0), image());
    let broker = Broker::start(&metadata, directory.path());
    for offset in 1..=20 {
        let reply = broker.submit("g", commit(offset)).await;
        assert_eq!(reply, Reply::Commit(Ok(vec![Ok(())])));
    }
    broker.partitions.stop().await;
    drop(broker);
    let again = Broker::start(&metadata, directory.path());
    assert_eq!(again.committed("g").await, Some(20));
    assert_eq!(again.committed("other").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_is_late_by_the_age_of_its_first_uncommitted_record() {
    let directory = tempfile::tempdir().unwrap();
    let metadata = metadata::Handle::in_memory(BrokerId(0), image());
    let broker = Broker::start(&metadata, directory.path());
    let hour_ago = clock::wall_ms() - 3_600_000;
    broker.produce(10, hour_ago).await;
    broker.submit("g", commit(4)).await;
    let late = broker.behind("g", 6).await;
    let seconds = late.summary.lag_seconds.unwrap();
    assert!((3_600.0..7_200.0).contains(&seconds), "{seconds}");
    assert_eq!(late.partitions[0].end, Some(10));
    let lag = r#"millrace_group_lag_records{group="g",topic="t",partition="0"} 6"#;
    assert!(broker.metrics().contains(lag));

    broker.submit("g", commit(10)).await;
    let caught_up = broker.behind("g", 0).await;
    assert_eq!(caught_up.summary.lag_seconds, Some(0.0));

    assert_eq!(broker.coordinators.delete("g").await, Ok(()));
    broker.measured(<[Group]>::is_empty).await;
    assert!(!broker.metrics().contains(r#"group="g""#));
    let unknown = broker.coordinators.delete("g").await;
    assert_eq!(unknown, Err(DeleteError::NotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_go_with_their_topic() {
    let directory = tempfile::tempdir().unwrap();
    let metadata = metadata::Handle::in_memory(BrokerId(0), image());
    let broker = Broker::start(&metadata, directory.path());
    broker.submit("g", commit(3)).await;
    assert_eq!(broker.committed("g").await, Some(3));
    let deleted = metadata
        .submit(command::Command::DeleteTopic { id: TOPIC })
        .await;
    assert_eq!(deleted, Ok(command::Reply::Done));
    while broker.committed("g").await.is_some() {
        tokio::task::yield_now().await;
    }
}

#[test]
fn bytes_from_another_broker_that_mean_nothing_are_answered_with_nothing() {
    assert!(lag::get_positions(Bytes::from_static(b"short")).is_empty());
    assert!(lag::get_asks(Bytes::from_static(b"short")).is_empty());
}
