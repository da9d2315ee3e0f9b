//! The front over real sockets and real classic queues, with metadata in memory.

mod channels;
mod client;
mod errors;
mod messages;
mod pressure;
mod replies;
mod slow;

use std::sync::Arc;

use machine::metadata::command::{Command, Reply};
use machine::metadata::image::Image;
use model::BrokerId;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Config, Front, Logins, Metrics, Users, connection, serve};
use crate::metadata::Handle;
use crate::peer::Mesh;
use crate::queue::{Parts, Queues};
use crate::raft::Groups;
use client::Client;

/// A front on a port of its own; everything is gone when it is dropped.
struct Fixture {
    address: std::net::SocketAddr,
    stop: CancellationToken,
    front: Arc<Front>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(Config::default()).await
    }

    async fn with(config: Config) -> Self {
        Self::with_queues(config, crate::queue::Config::default()).await
    }

    async fn with_queues(config: Config, queues: crate::queue::Config) -> Self {
        let this = BrokerId(0);
        let dir = tempfile::tempdir().unwrap();
        let metadata = Handle::in_memory(this, Image::genesis());
        let parts = Parts {
            config: queues,
            dir: dir.path().to_owned(),
            opened_after: commitlog::Shutdown::Clean,
            metadata: metadata.clone(),
            mesh: Mesh::alone(this),
            groups: Groups::in_memory(this, crate::raft::Config::default()),
            metrics: crate::queue::Metrics::default(),
        };
        let metrics = Metrics::default();
        let front = Arc::new(Front {
            contents: crate::net::Room::new(config.contents_bytes_max),
            config,
            metadata,
            queues: Queues::start(parts).unwrap(),
            logins: Logins::fixed(Users::default().with_guest_from_loopback(true)),
            replies: super::Replies::start(Mesh::alone(this), metrics.clone()),
            metrics,
            cluster_name: "test".into(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve(vec![listener], front.clone(), stop.clone()));
        Self {
            address,
            stop,
            front,
            _dir: dir,
        }
    }

    /// `broker` carries the shards of quorum queues from now on.
    async fn register(&self, broker: BrokerId) {
        let register = Command::RegisterBroker {
            id: broker,
            incarnation: uuid::Uuid::nil(),
            rack: None,
            endpoints: Vec::new(),
            previous_epoch: None,
            levels: machine::metadata::feature::Levels::BUILD,
        };
        let reply = self.front.metadata.submit(register).await.unwrap();
        let Reply::Registered { epoch } = reply else {
            panic!("not registered: {reply:?}");
        };
        let unfence = Command::UnfenceBroker { id: broker, epoch };
        self.front.metadata.submit(unfence).await.unwrap();
    }

    /// A connection with channel 1 open.
    async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// As [`Self::client`], with the task that ends when its connection does.
    async fn served_alone(&self) -> (Client, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (front, stop) = (self.front.clone(), self.stop.clone());
        let served = tokio::spawn(async move {
            let (stream, peer) = listener.accept().await.unwrap();
            connection::run(stream, peer, front, stop).await;
        });
        (Client::connect(address).await, served)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
