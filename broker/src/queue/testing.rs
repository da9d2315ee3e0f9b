//! Brokers and clients for the tests of queues: real hosts and disks, metadata in memory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use commitlog::Shutdown;
use machine::metadata::command::{Command, Reply};
use machine::metadata::image::{Image, Queue};
use machine::value::{Table, Value};
use model::BrokerId;
use tokio::net::TcpListener;

use super::{
    ChannelId, Config, ConsumeRequest, Consumer, Delivery, Event, Events, Message, Metrics,
    Outcome, Parts, Queues, Session,
};
use crate::metadata;
use crate::peer::{self, Address, Identity, Mesh};
use crate::raft::Groups;

const HERE: BrokerId = BrokerId(1);
const THERE: BrokerId = BrokerId(2);

async fn mesh(broker: BrokerId) -> (Mesh, Address) {
    mesh_with(broker, peer::Config::default()).await
}

/// A mesh, and where its peers reach it.
pub(super) async fn mesh_with(broker: BrokerId, config: peer::Config) -> (Mesh, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = Address {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    let identity = Identity {
        broker,
        cluster_id: "test".to_owned(),
        incarnation: uuid::Uuid::nil(),
    };
    let mesh = Mesh::start(identity, config, vec![listener]);
    (mesh, address)
}

/// One broker's queues over a directory that outlives them.
pub(super) struct Broker {
    pub(super) queues: Queues,
    pub(super) metadata: metadata::Handle,
    pub(super) dir: Arc<tempfile::TempDir>,
    pub(super) mesh: Mesh,
}

impl Broker {
    pub(super) fn new() -> Self {
        let mut image = Image::genesis();
        let register = Command::RegisterBroker {
            id: HERE,
            incarnation: uuid::Uuid::nil(),
            rack: None,
            endpoints: Vec::new(),
            previous_epoch: None,
            levels: machine::metadata::feature::Levels::BUILD,
        };
        let reply = image.apply(register, 0, 1);
        let Reply::Registered { epoch } = reply else {
            panic!("not registered: {reply:?}");
        };
        image.apply(Command::UnfenceBroker { id: HERE, epoch }, 0, 2);
        let metadata = metadata::Handle::in_memory(HERE, image);
        Self::over(Arc::new(tempfile::tempdir().unwrap()), metadata)
    }

    /// The home broker of all queues, and another broker that knows it; both hear the same metadata.
    pub(super) async fn pair() -> (Self, Self) {
        Self::pair_with(Config::default()).await
    }

    /// As [`Self::pair`], the home broker with these bounds.
    pub(super) async fn pair_with(bounds: Config) -> (Self, Self) {
        let (mesh, address) = mesh(HERE).await;
        let (other_mesh, other_address) = self::mesh(THERE).await;
        mesh.set_peers(BTreeMap::from([(THERE, other_address)]));
        other_mesh.set_peers(BTreeMap::from([(HERE, address)]));
        for (mesh, peer) in [(&mesh, THERE), (&other_mesh, HERE)] {
            let mut alive = mesh.alive();
            let answers = alive.wait_for(|alive| alive.is_alive(peer));
            answers.await.unwrap();
        }
        let home = Self::new().with(HERE, mesh, bounds);
        let other = Self::new().with(THERE, other_mesh, Config::default());
        (home, other)
    }

    fn with(self, broker: BrokerId, mesh: Mesh, bounds: Config) -> Self {
        self.queues.close();
        let image = Image::clone(&self.metadata.image());
        let metadata = metadata::Handle::in_memory(broker, image);
        Self::on(
            self.dir,
            metadata,
            mesh,
            crate::raft::Config::default(),
            bounds,
        )
    }

    pub(super) fn bounded(bounds: Config) -> Self {
        Self::new().with(HERE, Mesh::alone(HERE), bounds)
    }

    /// Its shards take commands of at most `bytes`.
    pub(super) fn with_commands_of(bytes: usize) -> Self {
        let broker = Self::new();
        broker.queues.close();
        let image = Image::clone(&broker.metadata.image());
        let metadata = metadata::Handle::in_memory(HERE, image);
        let raft = crate::raft::Config {
            wal_file_bytes: bytes * 2,
            ..crate::raft::Config::default()
        };
        let mesh = Mesh::alone(HERE);
        Self::on(broker.dir, metadata, mesh, raft, Config::default())
    }

    pub(super) fn over(dir: Arc<tempfile::TempDir>, metadata: metadata::Handle) -> Self {
        let (mesh, raft) = (Mesh::alone(HERE), crate::raft::Config::default());
        Self::on(dir, metadata, mesh, raft, Config::default())
    }

    fn on(
        dir: Arc<tempfile::TempDir>,
        metadata: metadata::Handle,
        mesh: Mesh,
        raft: crate::raft::Config,
        bounds: Config,
    ) -> Self {
        let parts = Parts {
            config: bounds,
            dir: dir.path().to_owned(),
            opened_after: Shutdown::Unclean,
            metadata: metadata.clone(),
            mesh: mesh.clone(),
            groups: Groups::in_memory(HERE, raft),
            metrics: Metrics::default(),
        };
        Self {
            queues: Queues::start(parts).unwrap(),
            metadata,
            dir,
            mesh,
        }
    }

    /// Everything stops where it is, and the next life begins on the same directory.
    pub(super) fn restart(self) -> Self {
        self.queues.close();
        Self::over(self.dir, self.metadata)
    }

    pub(super) async fn declare(
        &self,
        name: &str,
        durable: bool,
        arguments: &[(&str, Value)],
    ) -> Arc<Queue> {
        self.declare_as(name, false, durable, arguments).await
    }

    pub(super) async fn declare_quorum(
        &self,
        name: &str,
        arguments: &[(&str, Value)],
    ) -> Arc<Queue> {
        self.declare_as(name, true, true, arguments).await
    }

    async fn declare_as(
        &self,
        name: &str,
        quorum: bool,
        durable: bool,
        arguments: &[(&str, Value)],
    ) -> Arc<Queue> {
        let arguments: Table = arguments
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let declare = Command::DeclareQueue {
            vhost: "/".to_owned(),
            name: name.to_owned(),
            quorum,
            home: HERE,
            durable,
            auto_delete: false,
            exclusive: None,
            arguments,
        };
        let reply = self.metadata.submit(declare).await;
        self.find(name)
            .unwrap_or_else(|| panic!("not declared: {reply:?}"))
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Queue>> {
        let image = self.metadata.image();
        let vhost = image.vhosts.get("/")?;
        vhost.queues.get(name).cloned()
    }

    pub(super) fn client(&self) -> Client {
        let (mut session, events) = self.queues.open();
        let channel = session.open_channel();
        Client {
            session,
            events,
            channel,
            seq: 0,
            confirms: BTreeMap::new(),
            deliveries: Vec::new(),
            cancelled: Vec::new(),
        }
    }
}

/// A connection with one channel in confirm mode.
pub(super) struct Client {
    pub(super) session: Session,
    pub(super) events: Events,
    pub(super) channel: ChannelId,
    pub(super) seq: u64,
    pub(super) confirms: BTreeMap<u64, bool>,
    pub(super) deliveries: Vec<Delivery>,
    pub(super) cancelled: Vec<(Consumer, bool)>,
}

impl Client {
    pub(super) fn send(&mut self, queue: &Arc<Queue>, message: Message) -> u64 {
        self.seq += 1;
        let routed = [queue.clone()];
        self.session
            .publish(self.channel, Some(self.seq), &routed, message);
        self.seq
    }

    /// Publishes and waits for the outcome.
    pub(super) async fn put(&mut self, queue: &Arc<Queue>, message: Message) -> bool {
        let seq = self.send(queue, message);
        self.session.flush();
        self.hear(|client| client.confirms.contains_key(&seq)).await;
        self.confirms[&seq]
    }

    pub(super) async fn consume(&mut self, queue: &Arc<Queue>, prefetch: u16) -> Consumer {
        let request = ConsumeRequest {
            channel: self.channel,
            queue: queue.clone(),
            no_ack: false,
            exclusive: false,
            prefetch,
            priority: 0,
        };
        self.session.consume(request).await.unwrap()
    }

    pub(super) async fn hear(&mut self, enough: impl Fn(&Self) -> bool) {
        while !enough(self) {
            for event in self.events.recv().await {
                match event {
                    Event::Confirmed { confirms, .. } => {
                        let confirms = confirms.into_iter().map(|c| (c.seq, c.ack));
                        self.confirms.extend(confirms);
                    }
                    Event::Delivered { deliveries, .. } => self.deliveries.extend(deliveries),
                    Event::Cancelled {
                        consumer,
                        by_client,
                        ..
                    } => self.cancelled.push((consumer, by_client)),
                }
            }
        }
    }

    /// The next deliveries, as their bodies.
    pub(super) async fn bodies(&mut self, count: usize) -> Vec<String> {
        self.hear(|client| client.deliveries.len() >= count).await;
        self.deliveries.iter().map(|d| text(&d.message)).collect()
    }

    pub(super) fn settle_all(&mut self, outcome: Outcome) {
        let deliveries = std::mem::take(&mut self.deliveries);
        let receipts = deliveries.into_iter().map(|d| d.receipt);
        self.session.settle(receipts, outcome);
        self.session.flush();
    }

    pub(super) async fn get(&mut self, queue: &Arc<Queue>) -> Option<(Delivery, u64)> {
        self.session.get(self.channel, queue, false).await.unwrap()
    }
}

pub(super) fn text(message: &Message) -> String {
    String::from_utf8(message.body.to_vec()).unwrap()
}

pub(super) fn message(body: &str) -> Message {
    Message {
        exchange: "".into(),
        routing_key: "key".into(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        persistent: true,
        ..Message::default()
    }
}

pub(super) fn transient(body: &str) -> Message {
    Message {
        persistent: false,
        ..message(body)
    }
}
