//! Brokers in this process, over real sockets and files, with one metadata image for all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod compacted;
mod delayed;
mod lone;
mod nearby;
mod replicated;
mod timed;

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

    /// Stops the partitions of a broker; whether all of them were left in order.
    async fn stop(&self, id: i32) -> bool {
        self.brokers[&id].partitions.stop().await
    }

    /// Starts them again on what they left, or on what became of it.
    fn resume(&mut self, id: i32, left: Shutdown) {
        let broker = self.brokers.get_mut(&id).unwrap();
        broker.partitions = begin(
            &self.metadata,
            &broker.mesh,
            broker.directory.path(),
            left,
            Config::default(),
        );
    }

    fn directory(&self, id: i32) -> &Path {
        self.brokers[&id].directory.path()
    }

    async fn register(&self, id: i32) {
        let id = BrokerId(id);
        let registered = Command::RegisterBroker {
            id,
            incarnation: Uuid::from_u128(id.0.cast_unsigned().into()),
            rack: None,
            endpoints: Vec::new(),
            previous_epoch: None,
            levels: machine::metadata::feature::Levels::BUILD,
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

/// A broker with the only replica of a partition.
async fn lone(config: Config, configs: &[(&str, &str)]) -> (Cluster, TopicPartition, Handle) {
    let cluster = Cluster::start_with(1, config).await;
    let partition = cluster.topic(&[1], configs).await;
    let handle = cluster.handle(1, partition);
    (cluster, partition, handle)
}

/// A broker that keeps nothing in memory: every read takes the disk.
fn forgetful() -> Config {
    Config {
        tails_bytes_max: 0,
        ..Config::default()
    }
}

fn values(of: &[&str]) -> Bytes {
    let mut b = Builder::default();
    for value in of {
        b.push(clock::wall_ms(), Some(b"key"), Some(value.as_bytes()));
    }
    b.build().unwrap()
}

/// One record of an idempotent producer.
fn producer(sequence: i32) -> Bytes {
    let mut b = Builder::default().producer(7, 0, sequence);
    b.push(clock::wall_ms(), None, Some(b"v"));
    b.build().unwrap()
}

/// Appends a value, which every in-sync replica has then.
async fn put(handle: &Handle, value: &str) {
    let put = handle.append(append(values(&[value]), Acks::All)).await;
    put.unwrap();
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

/// Has the replica's driver told that a sync failed.
fn fail_sync(handle: &Handle, kind: std::io::ErrorKind) {
    handle.0.mailbox.send(Job::Synced {
        partition: handle.partition(),
        outcome: Err(commitlog::Error::Io {
            doing: "sync",
            path: "segment".into(),
            source: kind.into(),
        }),
    });
}

/// The only segment file of a replica.
fn segment_of(directory: &Path, partition: TopicPartition) -> PathBuf {
    let name = format!("{}-{}", partition.topic, partition.partition);
    let log = directory.join("partitions").join(name);
    log.join("00000000000000000000.log")
}

/// Puts these bytes into a file that somebody has open.
fn rewrite(file: &Path, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, bytes, 0).unwrap();
}

/// The same with a bit of the first batch turned.
fn damaged(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[65] ^= 1;
    bytes
}

fn read(handle: &Handle, limit: Limit) -> Vec<String> {
    let data = handle.read(from(0, limit)).unwrap();
    let batches = data
        .batches
        .into_iter()
        .flat_map(|run| batch::split(run).unwrap());
    batches
        // Where records waited there is a marker, which consumers pass over.
        .filter(|batch| !batch.header.is_control())
        .flat_map(|b| b.records().collect::<Vec<_>>())
        .map(|r| String::from_utf8(r.unwrap().value.unwrap().to_vec()).unwrap())
        .collect()
}
