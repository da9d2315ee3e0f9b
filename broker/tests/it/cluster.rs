//! Clusters for tests: brokers of this process, each on a runtime of its own, stopped in order or
//! dropped half-way, with data in a temporary directory that survives a restart.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use broker::Config;
use broker::metadata::Handle;
use broker::node::{Node, Sockets};
use machine::metadata::image::{Image, Listener};
use model::BrokerId;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Bound for everything that is waited for: only a hanging test reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Brokers 0.. with a voter each, racks `a`, `b`, `c`, …
pub(crate) struct Cluster {
    data: TempDir,
    voters: String,
    peer_ports: Vec<u16>,
    settings: Vec<String>,
    brokers: Vec<Option<Broker>>,
}

/// One running broker with the threads it runs on.
pub(crate) struct Broker {
    node: Option<Node>,
    runtime: Option<Runtime>,
}

impl Cluster {
    /// Starts `count` brokers and waits until all are in.
    pub(crate) async fn start(count: usize) -> Self {
        Self::start_with(count, &[]).await
    }

    /// As [`Cluster::start`], with further `key=value` settings for each broker.
    pub(crate) async fn start_with(count: usize, settings: &[&str]) -> Self {
        let reserved: Vec<_> = (0..count)
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let peer_ports: Vec<_> = reserved
            .iter()
            .map(|socket| socket.local_addr().unwrap().port())
            .collect();
        drop(reserved);
        let voters: Vec<_> = peer_ports
            .iter()
            .enumerate()
            .map(|(id, port)| format!("{id}@127.0.0.1:{port}"))
            .collect();
        let mut cluster = Self {
            data: tempfile::tempdir().unwrap(),
            voters: voters.join(","),
            peer_ports,
            settings: settings.iter().map(|s| (*s).to_owned()).collect(),
            brokers: (0..count).map(|_| None).collect(),
        };
        for id in 0..count {
            cluster.start_broker(id).await;
        }
        cluster.all_in().await;
        cluster
    }

    /// The configuration of broker `id`.
    pub(crate) fn config(&self, id: usize) -> Config {
        let dir = self.data_dir(id);
        let rack = char::from(b'a' + u8::try_from(id).unwrap());
        let port = self.peer_ports[id];
        let text = format!(
            "node.id={id}\ncluster.id=it\nbroker.rack={rack}\nlog.dirs={}\n\
             listeners=KAFKA://127.0.0.1:0,AMQP://127.0.0.1:0,ADMIN://127.0.0.1:0,PEER://127.0.0.1:{port}\n\
             controller.quorum.voters={}\nmillrace.wal.file.bytes=4194304\n",
            dir.display(),
            self.voters
        );
        Config::parse(&text, &self.settings).unwrap()
    }

    pub(crate) fn data_dir(&self, id: usize) -> std::path::PathBuf {
        Path::new(self.data.path()).join(id.to_string())
    }

    /// Starts a broker that does not run.
    pub(crate) async fn start_broker(&mut self, id: usize) {
        let config = self.config(id);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let node = runtime
            .spawn(async move {
                let sockets = Sockets::bind(&config).await?;
                Node::start(config, sockets).await
            })
            .await
            .unwrap()
            .unwrap();
        self.brokers[id] = Some(Broker {
            node: Some(node),
            runtime: Some(runtime),
        });
    }

    /// Stops a broker as an operator does: it hands over, then ends.
    pub(crate) async fn stop_broker(&mut self, id: usize) {
        let mut broker = self.brokers[id].take().unwrap();
        let node = broker.node.take().unwrap();
        let runtime = broker.runtime.take().unwrap();
        runtime
            .spawn(async move {
                node.drain().await;
                node.stop().await
            })
            .await
            .unwrap()
            .unwrap();
        runtime.shutdown_background();
    }

    /// Ends a broker without a word, and waits until its data directory is free.
    pub(crate) async fn kill_broker(&mut self, id: usize) {
        let mut broker = self.brokers[id].take().unwrap();
        let dir = self.data_dir(id);
        tokio::task::spawn_blocking(move || {
            broker.runtime.take().unwrap().shutdown_timeout(LONG);
            drop(broker.node.take());
            // The write-ahead log's thread lets go of the directory when it ends.
            let lock = std::fs::File::open(dir.join(".lock")).unwrap();
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        })
        .await
        .unwrap();
    }

    pub(crate) fn node(&self, id: usize) -> &Node {
        self.brokers[id].as_ref().unwrap().node.as_ref().unwrap()
    }

    pub(crate) fn metadata(&self, id: usize) -> &Handle {
        self.node(id).metadata()
    }

    /// Ids of the brokers that run.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.brokers.len())
            .filter(|id| self.brokers[*id].is_some())
            .collect()
    }

    /// Waits until every running broker sees every running broker in.
    pub(crate) async fn all_in(&self) {
        for id in self.running() {
            timeout(LONG, self.node(id).joined()).await.unwrap();
            self.sees(id, |image| {
                self.running().into_iter().all(|other| {
                    let other = BrokerId(i32::try_from(other).unwrap());
                    image.is_active(other)
                })
            })
            .await;
        }
    }

    /// Waits until broker `id` has an image that satisfies `expected`.
    pub(crate) async fn sees(&self, id: usize, expected: impl Fn(&Image) -> bool) -> Arc<Image> {
        let mut image = self.metadata(id).watch();
        let seen = timeout(LONG, image.wait_for(|image| expected(image))).await;
        match seen {
            Ok(image) => Arc::clone(&image.unwrap()),
            Err(_) => panic!(
                "broker {id} never saw it; it has {:?}",
                self.metadata(id).image()
            ),
        }
    }

    /// The running broker that leads the metadata group, once all running ones agree.
    pub(crate) async fn controller(&self) -> usize {
        let agreed = async {
            loop {
                let mut leaders: Vec<_> = self
                    .running()
                    .into_iter()
                    .map(|id| self.metadata(id).controller())
                    .collect();
                leaders.dedup();
                if let [Some(leader)] = leaders[..] {
                    let id = usize::try_from(leader.0).unwrap();
                    if self.running().contains(&id) {
                        return id;
                    }
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, agreed).await.unwrap()
    }

    /// Where a broker's listener can be reached.
    #[allow(dead_code)]
    pub(crate) fn address(&self, id: usize, listener: Listener) -> String {
        let image = self.metadata(id).image();
        let broker = &image.brokers[&BrokerId(i32::try_from(id).unwrap())];
        let endpoint = broker
            .endpoints
            .iter()
            .find(|endpoint| endpoint.listener == listener)
            .unwrap();
        format!("{}:{}", endpoint.host, endpoint.port)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
