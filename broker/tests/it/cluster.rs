//! Clusters for tests: brokers of this process, each on a runtime of its own, and brokers that are
//! processes of their own and can be killed. Data is in a temporary directory and survives a restart.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use broker::Config;
use broker::metadata::Handle;
use broker::node::{Node, Sockets};
use futures::future::select_all;
use machine::metadata::image::{Image, Listener};
use model::BrokerId;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Bound for everything that is waited for: only a hanging test reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Tells the process that [`broker_process`] runs in which configuration to use.
const CONFIG: &str = "MILLRACE_IT_CONFIG";

/// Peer port of broker 0; the next ones follow. Below the range that systems hand out by themselves.
const PEER_PORT: u16 = 17_644;

/// A loopback address that no other running cluster has: peers must be found at the same port after
/// a restart, and a port that was free once may be anybody's by then.
fn own_address() -> Ipv4Addr {
    static CLUSTERS: AtomicU8 = AtomicU8::new(0);
    let nth = CLUSTERS.fetch_add(1, Ordering::Relaxed);
    assert!(nth < 255, "more clusters than addresses in one process");
    let [.., high, low] = std::process::id().to_be_bytes();
    // 127.0.x.y has its users already.
    Ipv4Addr::new(127, high | 0x80, low, nth)
}

/// Brokers 0.. with a voter each, racks `a`, `b`, `c`, …
pub(crate) struct Cluster {
    data: TempDir,
    address: Ipv4Addr,
    voters: String,
    settings: Vec<String>,
    brokers: Vec<Option<Broker>>,
}

enum Broker {
    /// With the threads it runs on.
    Here(Box<Node>, Runtime),
    /// A process of its own.
    Apart(Child),
}

fn peer_port(id: usize) -> u16 {
    PEER_PORT + u16::try_from(id).unwrap()
}

fn voters_at(address: Ipv4Addr, ids: impl Iterator<Item = usize>) -> String {
    let voters = ids.map(|id| format!("{id}@{address}:{}", peer_port(id)));
    voters.collect::<Vec<_>>().join(",")
}

impl Cluster {
    /// Starts `count` brokers in this process and waits until all are in.
    pub(crate) async fn start(count: usize) -> Self {
        Self::start_with(count, &[], &[]).await
    }

    /// As [`Cluster::start`], but broker `apart` is a process of its own, which can be killed.
    pub(crate) async fn start_with_process(count: usize, apart: usize) -> Self {
        Self::start_with(count, &[apart], &[]).await
    }

    /// Starts `count` brokers, those in `apart` as processes, with further `key=value` settings.
    pub(crate) async fn start_with(count: usize, apart: &[usize], settings: &[&str]) -> Self {
        let address = own_address();
        let mut cluster = Self {
            data: tempfile::tempdir().unwrap(),
            address,
            voters: voters_at(address, 0..count),
            settings: settings.iter().map(|s| (*s).to_owned()).collect(),
            brokers: (0..count).map(|_| None).collect(),
        };
        for id in 0..count {
            if apart.contains(&id) {
                cluster.start_process(id);
            } else {
                cluster.start_broker(id).await;
            }
        }
        cluster.all_in().await;
        cluster
    }

    /// Whoever starts from now on is configured with these voters.
    pub(crate) fn configure_voters(&mut self, voters: &[usize]) {
        self.voters = voters_at(self.address, voters.iter().copied());
    }

    /// A place for one more broker, which [`Self::start_broker`] starts.
    pub(crate) fn enlarge(&mut self) -> usize {
        self.brokers.push(None);
        self.brokers.len() - 1
    }

    /// The properties file of broker `id`.
    fn properties(&self, id: usize) -> String {
        let dir = self.data_dir(id);
        let rack = char::from(b'a' + u8::try_from(id).unwrap());
        let (address, port) = (self.address, peer_port(id));
        let settings = self.settings.join("\n");
        format!(
            "node.id={id}\ncluster.id=it\nbroker.rack={rack}\nlog.dirs={}\n\
             listeners=KAFKA://{address}:0,AMQP://{address}:0,ADMIN://{address}:0,PEER://{address}:{port}\n\
             controller.quorum.voters={}\nmillrace.wal.file.bytes=4194304\n{settings}\n",
            dir.display(),
            self.voters
        )
    }

    pub(crate) fn data_dir(&self, id: usize) -> std::path::PathBuf {
        Path::new(self.data.path()).join(id.to_string())
    }

    /// Starts a broker that does not run.
    pub(crate) async fn start_broker(&mut self, id: usize) {
        let config = Config::parse(&self.properties(id), &[]).unwrap();
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
        self.brokers[id] = Some(Broker::Here(Box::new(node), runtime));
    }

    /// Starts a broker that does not run, as a process of its own.
    pub(crate) fn start_process(&mut self, id: usize) {
        let config = self.data.path().join(format!("{id}.properties"));
        std::fs::write(&config, self.properties(id)).unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cluster::broker_process", "--ignored"])
            .env(CONFIG, config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.brokers[id] = Some(Broker::Apart(process));
    }

    /// Stops a broker of this process as an operator does: it hands over, then ends.
    pub(crate) async fn stop_broker(&mut self, id: usize) {
        let Some(Broker::Here(node, runtime)) = self.brokers[id].take() else {
            panic!("broker {id} does not run in this process");
        };
        runtime
            .spawn(async move {
                node.drain().await;
                node.stop().await
            })
            .await
            .unwrap()
            .unwrap();
        // Its sockets are closed when its tasks are gone: it may be started again on the same ports.
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(LONG))
            .await
            .unwrap();
    }

    /// Kills a broker that is a process of its own.
    pub(crate) fn kill_broker(&mut self, id: usize) {
        let Some(Broker::Apart(mut process)) = self.brokers[id].take() else {
            panic!("broker {id} is no process of its own");
        };
        process.kill().unwrap();
        process.wait().unwrap();
    }

    pub(crate) fn node(&self, id: usize) -> &Node {
        match &self.brokers[id] {
            Some(Broker::Here(node, _)) => node,
            _ => panic!("broker {id} does not run in this process"),
        }
    }

    pub(crate) fn metadata(&self, id: usize) -> &Handle {
        self.node(id).metadata()
    }

    /// Ids of the brokers that run in this process.
    pub(crate) fn here(&self) -> Vec<usize> {
        (0..self.brokers.len())
            .filter(|id| matches!(self.brokers[*id], Some(Broker::Here(..))))
            .collect()
    }

    /// Ids of the brokers that run.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.brokers.len())
            .filter(|id| self.brokers[*id].is_some())
            .collect()
    }

    /// Waits until every running broker sees every running broker in.
    pub(crate) async fn all_in(&self) {
        for id in self.here() {
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
        self.agreed(|_| true).await
    }

    /// Waits until broker `id` leads the metadata group.
    pub(crate) async fn controller_is(&self, id: usize) {
        self.agreed(|leader| leader == id).await;
    }

    /// Waits until all brokers of this process hold the same running broker for the controller, and it
    /// is one that is `wanted`.
    async fn agreed(&self, wanted: impl Fn(usize) -> bool) -> usize {
        let metadata = self.here().into_iter().map(|id| self.metadata(id));
        let mut views: Vec<_> = metadata.map(Handle::controllers).collect();
        let agreed = async {
            loop {
                let mut leaders: Vec<_> =
                    views.iter_mut().map(|v| *v.borrow_and_update()).collect();
                leaders.dedup();
                if let [Some(leader)] = leaders[..] {
                    let id = usize::try_from(leader.0).unwrap();
                    if self.running().contains(&id) && wanted(id) {
                        return id;
                    }
                }
                let changes = views.iter_mut().map(|view| Box::pin(view.changed()));
                select_all(changes).await.0.unwrap();
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

impl Drop for Cluster {
    fn drop(&mut self) {
        for broker in self.brokers.drain(..).flatten() {
            match broker {
                Broker::Here(_, runtime) => runtime.shutdown_background(),
                Broker::Apart(mut process) => {
                    // It may have ended by itself.
                    drop(process.kill());
                    drop(process.wait());
                }
            }
        }
    }
}

/// Not a test: what [`Cluster::start_process`] runs.
#[test]
#[ignore = "runs a broker for another test"]
fn broker_process() {
    let Some(path) = std::env::var_os(CONFIG) else {
        return;
    };
    let config = Config::load(Path::new(&path), &[]).unwrap();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(broker::run(config))
        .unwrap();
}
