//! Brokers in this process, over real sockets and files, with one metadata image for all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod compacted;
mod lone;
mod replicated;

use std::{collections::BTreeMap, net::SocketAddr, path::Path, time::Duration};

use bytes::Bytes;
use machine::metadata::{
    command::{Assignment, Command, Reply},
    image::Image,
};
use model::{
    BrokerId, Offset, TopicId, TopicPartition,
    batch::{self, Builder},
};
use tempfile::TempDir;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::*;
use crate::peer;

struct Cluster {
    metadata: metadata::Handle,
    brokers: BTreeMap<i32, Broker>,
}

struct Broker {
    partitions: Partitions,
    mesh: Mesh,
    address: SocketAddr,
    directory: TempDir,
}

impl Cluster {
    /// Brokers 1 to `n`, registered and unfenced.
    async fn start(n: i32) -> Self {
        Self::start_with(n, Config::default()).await
    }

    async fn start_with(n: i32, config: Config) -> Self {
        let metadata = metadata::Handle::in_memory(BrokerId(1), Image::genesis());
        let mut cluster = Self {
            metadata,
            brokers: BTreeMap::new(),
        };
        for id in 1..=n {
            let directory = tempfile::tempdir().unwrap();
            let (mesh, address) = mesh(id).await;
            let partitions = begin(
                &cluster.metadata,
                &mesh,
                directory.path(),
                Shutdown::Unclean,
                config.clone(),
            );
            cluster.brokers.insert(
                id,
                Broker {
                    partitions,
                    mesh,
                    address,
                    directory,
                },
            );
            cluster.register(id).await;
        }
        for id in 1..=n {
            cluster.connect(id);
        }
        cluster
    }

    async fn register(&self, id: i32) {
        let id = BrokerId(id);
        let registered = Command::RegisterBroker {
            id,
            incarnation: Uuid::from_u128(id.0.cast_unsigned().into()),
            rack: None,
            endpoints: Vec::new(),
        };
        let Reply::Registered { epoch } = self.metadata.submit(registered).await.unwrap() else {
            panic!("not registered");
        };
        self.submit(Command::UnfenceBroker { id, epoch }).await;
    }

    async fn fence(&self, id: i32) {
        let id = BrokerId(id);
        let epoch = self.metadata.image().brokers[&id].epoch;
        self.submit(Command::FenceBroker { id, epoch }).await;
    }

    async fn submit(&self, command: Command) -> Reply {
        let reply = self.metadata.submit(command).await.unwrap();
        assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
        reply
    }

    /// Lets the broker reach all others.
    fn connect(&self, id: i32) {
        let addresses = self.brokers.iter().map(|(id, b)| {
            let address = peer::Address {
                host: b.address.ip().to_string(),
                port: b.address.port(),
            };
            (BrokerId(*id), address)
        });
        self.brokers[&id].mesh.set_peers(addresses.collect());
    }

    /// The broker reaches nobody any more; others still reach it.
    fn disconnect(&self, id: i32) {
        self.brokers[&id].mesh.set_peers(BTreeMap::new());
    }

    /// A topic of one partition on these brokers, the first one leading.
    async fn topic(&self, replicas: &[i32], configs: &[(&str, &str)]) -> TopicPartition {
        let topic = TopicId(Uuid::new_v4());
        self.submit(Command::CreateTopic {
            name: format!("topic-{topic}"),
            id: topic,
            assignment: Assignment::Manual(vec![replicas.iter().map(|b| BrokerId(*b)).collect()]),
            configs: configs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        })
        .await;
        let partition = TopicPartition {
            topic,
            partition: 0,
        };
        for broker in replicas {
            self.until(*broker, partition, |s| s.leader.is_some()).await;
        }
        partition
    }

    fn handle(&self, broker: i32, partition: TopicPartition) -> Handle {
        self.brokers[&broker]
            .partitions
            .roster()
            .get(partition)
            .unwrap()
    }

    /// Waits until the replica on `broker` is as wanted.
    async fn until(
        &self,
        broker: i32,
        partition: TopicPartition,
        wanted: impl Fn(&Status) -> bool,
    ) -> Handle {
        let roster = self.brokers[&broker].partitions.roster();
        let mut changes = roster.changes();
        let waited = tokio::time::timeout(Duration::from_secs(30), async {
            loop {
                changes.borrow_and_update();
                let Some(handle) = roster.get(partition) else {
                    changes.changed().await.unwrap();
                    continue;
                };
                let mut progress = handle.progress();
                progress.borrow_and_update();
                if wanted(&handle.status()) {
                    return handle;
                }
                tokio::select! {
                    _ = changes.changed() => {}
                    _ = progress.changed() => {}
                }
            }
        });
        let Ok(handle) = waited.await else {
            panic!(
                "broker {broker}: {:?}",
                roster.get(partition).map(|h| h.status())
            );
        };
        handle
    }
}

async fn mesh(id: i32) -> (Mesh, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let identity = peer::Identity {
        broker: BrokerId(id),
        cluster_id: "test".into(),
        incarnation: Uuid::from_u128(1),
    };
    (
        Mesh::start(identity, peer::Config::default(), vec![listener]),
        address,
    )
}

fn begin(
    metadata: &metadata::Handle,
    mesh: &Mesh,
    directory: &Path,
    left: Shutdown,
    config: Config,
) -> Partitions {
    start(Parts {
        config,
        settings: BTreeMap::new(),
        directory: directory.to_owned(),
        left,
        metadata: metadata.clone(),
        mesh: mesh.clone(),
        telemetry: Telemetry::default(),
    })
    .unwrap()
}

fn values(of: &[&str]) -> Bytes {
    let mut b = Builder::default();
    for value in of {
        b.push(clock::wall_ms(), Some(b"key"), Some(value.as_bytes()));
    }
    b.build().unwrap()
}

fn append(batches: Bytes, acks: Acks) -> Append {
    Append {
        batches,
        acks,
        timeout: Duration::from_secs(20),
        origin: Origin::Client,
    }
}

fn from(offset: i64, limit: Limit) -> Read {
    Read {
        offset: Offset(offset),
        max_bytes: 1 << 20,
        limit,
        leader_epoch: None,
        last_fetched_epoch: None,
    }
}

fn read(handle: &Handle, limit: Limit) -> Vec<String> {
    let data = handle.read(from(0, limit)).unwrap();
    let batches = data
        .batches
        .into_iter()
        .flat_map(|run| batch::split(run).unwrap());
    batches
        .flat_map(|b| b.records().collect::<Vec<_>>())
        .map(|r| String::from_utf8(r.unwrap().value.unwrap().to_vec()).unwrap())
        .collect()
}
