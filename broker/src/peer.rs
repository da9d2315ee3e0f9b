//! Talk between brokers: one framed TCP connection per pair and direction, carrying the calls and
//! one-way messages of every service, and a failure detector per node.
//!
//! Never interprets a payload: a service is a number and a handler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::BrokerId;
use parking_lot::{Mutex, RwLock};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use link::Link;

mod connection;
mod frame;
mod link;
mod listener;
#[cfg(test)]
mod tests;

/// Bounds and times of the mesh.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.peer.heartbeat.ms`: how often each side of a pair shows that it lives.
    pub heartbeat: Duration,
    /// `millrace.peer.suspect.ms`: silence after which a peer is held dead, counted in heartbeats of this
    /// broker: where the machine is short of processors they come late, and patience grows with them. A peer
    /// that ended is noticed by its connection's end, at once.
    pub suspect_after: Duration,
    /// `millrace.peer.call.timeout.ms`: how long [`Mesh::call`] waits for a reply.
    pub call_timeout: Duration,
    /// `millrace.peer.queue.bytes`: what may wait for one peer, requests and replies each.
    pub queue_bytes_max: usize,
    /// `millrace.peer.frame.bytes`: a longer frame closes the connection.
    pub frame_bytes_max: usize,
    /// `millrace.peer.calls`: calls of one peer that may be under way here; more wait unread.
    pub calls_max: usize,
}

impl Config {
    /// Heartbeats without a sign of life after which a peer is held dead.
    fn silent_beats_max(&self) -> u128 {
        let beat = self.heartbeat.as_millis().max(1);
        self.suspect_after.as_millis().div_ceil(beat).max(1)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(50),
            suspect_after: Duration::from_millis(600),
            call_timeout: Duration::from_secs(30),
            queue_bytes_max: 64 << 20,
            frame_bytes_max: 128 << 20,
            calls_max: 8192,
        }
    }
}

/// Who a frame is for. Calls and messages of one service keep their order per peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Service {
    Raft = 1,
    Metadata = 2,
    Replica = 3,
    Queue = 4,
    Coordinator = 5,
    /// Direct replies between the AMQP fronts.
    Reply = 6,
    /// Batches that a damaged log asks of another replica.
    Refetch = 7,
    /// What the leader of the metadata group is asked about its quorum.
    Quorum = 8,
}

/// Why a peer did not answer. The request may have had its effect on `Timeout` and `Unreachable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("broker {0} cannot be reached")]
    Unreachable(BrokerId),
    #[error("broker {0} did not answer in time")]
    Timeout(BrokerId),
    /// Nothing there serves this service, its handler failed, or too much waits for that peer.
    #[error("broker {0} refused the request")]
    Refused(BrokerId),
}

/// The serving side of a service. A panic in a handler fails that request only.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request. Runs concurrently with other calls of the same peer; started in order.
    fn call(&self, from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes>;

    /// Takes a one-way message, in order per peer. Must not block.
    fn message(&self, from: BrokerId, message: Bytes) {
        let _ = (from, message);
    }
}

/// Which peers answer, as seen from this broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alive {
    /// Every known peer but this broker.
    pub peers: BTreeMap<BrokerId, bool>,
}

impl Alive {
    /// Whether `broker` answered within the suspicion time. Unknown brokers are not alive.
    pub fn is_alive(&self, broker: BrokerId) -> bool {
        self.peers.get(&broker).copied().unwrap_or(false)
    }
}

/// Who this broker is to its peers.
#[derive(Clone, Debug)]
pub struct Identity {
    pub broker: BrokerId,
    pub cluster_id: String,
    /// Drawn when the data directory was made.
    pub incarnation: Uuid,
}

/// Where a peer listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

/// Handle to the mesh of this broker. Cheap to clone.
#[derive(Clone)]
pub struct Mesh(Arc<Inner>);

struct Inner {
    identity: Arc<Identity>,
    config: Arc<Config>,
    handlers: Arc<Handlers>,
    peers: RwLock<BTreeMap<BrokerId, Peer>>,
    alive: watch::Sender<Alive>,
    accepting: Mutex<Vec<JoinHandle<()>>>,
}

struct Peer {
    link: Arc<Link>,
    address: watch::Sender<Address>,
    running: JoinHandle<()>,
}

#[derive(Default)]
struct Handlers(RwLock<BTreeMap<Service, Arc<dyn Handler>>>);

impl Handlers {
    fn get(&self, service: Service) -> Option<Arc<dyn Handler>> {
        self.0.read().get(&service).cloned()
    }
}

impl Mesh {
    /// A mesh that accepts peers on `listeners`; it reaches out to those of [`Mesh::set_peers`].
    pub fn start(identity: Identity, config: Config, listeners: Vec<TcpListener>) -> Self {
        let mesh = Self::new(identity, config);
        let inner = Arc::downgrade(&mesh.0);
        let knock: listener::Knock = Arc::new(move |from| {
            if let Some(inner) = inner.upgrade()
                && let Some(peer) = inner.peers.read().get(&from)
            {
                peer.link.knock();
            }
        });
        for listener in listeners {
            let accepting = tokio::spawn(listener::accept(
                listener,
                Arc::clone(&mesh.0.identity),
                Arc::clone(&mesh.0.config),
                Arc::clone(&mesh.0.handlers),
                Arc::clone(&knock),
            ));
            mesh.0.accepting.lock().push(accepting);
        }
        mesh
    }

    /// A mesh without peers: calls to itself are served, all else is unreachable. For tests and
    /// one-broker clusters.
    pub fn alone(this: BrokerId) -> Self {
        Self::new(
            Identity {
                broker: this,
                cluster_id: String::new(),
                incarnation: Uuid::nil(),
            },
            Config::default(),
        )
    }

    fn new(identity: Identity, config: Config) -> Self {
        Self(Arc::new(Inner {
            identity: Arc::new(identity),
            config: Arc::new(config),
            handlers: Arc::default(),
            peers: RwLock::default(),
            alive: watch::channel(Alive::default()).0,
            accepting: Mutex::default(),
        }))
    }

    /// The broker whose mesh this is.
    pub fn this_broker(&self) -> BrokerId {
        self.0.identity.broker
    }

    /// Reaches out to exactly these peers from now on; a changed address is reconnected.
    pub fn set_peers(&self, addresses: BTreeMap<BrokerId, Address>) {
        let mut peers = self.0.peers.write();
        peers.retain(|id, peer| {
            let keep = addresses.contains_key(id);
            if !keep {
                peer.running.abort();
                self.0.alive.send_modify(|alive| {
                    alive.peers.remove(id);
                });
            }
            keep
        });
        for (id, address) in addresses {
            if id == self.this_broker() {
                continue;
            }
            match peers.get(&id) {
                Some(peer) => {
                    peer.address.send_if_modified(|current| {
                        let changed = *current != address;
                        *current = address;
                        changed
                    });
                }
                None => {
                    peers.insert(id, self.reach_out(id, address));
                }
            }
        }
    }

    fn reach_out(&self, id: BrokerId, address: Address) -> Peer {
        let (address, address_seen) = watch::channel(address);
        let link = Arc::new(Link::new(id, Arc::clone(&self.0.config)));
        self.0.alive.send_modify(|alive| {
            alive.peers.insert(id, false);
        });
        let alive = self.0.alive.clone();
        let report = Box::new(move |answers| {
            alive.send_if_modified(|alive| {
                alive
                    .peers
                    .get_mut(&id)
                    .is_some_and(|known| std::mem::replace(known, answers) != answers)
            });
        });
        let running =
            tokio::spawn(Arc::clone(&link).run(Arc::clone(&self.0.identity), address_seen, report));
        Peer {
            link,
            address,
            running,
        }
    }

    /// Sends `request` and waits for the reply. Calls to this broker itself go straight to its handler.
    pub async fn call(
        &self,
        to: BrokerId,
        service: Service,
        request: Bytes,
    ) -> Result<Bytes, Error> {
        if to == self.this_broker() {
            let answer = listener::call(&self.0.handlers, to, service as u8, request);
            return match answer {
                Some(answer) => answer.await.ok_or(Error::Refused(to)),
                None => Err(Error::Refused(to)),
            };
        }
        self.link(to)?.call(service, request).await
    }

    /// Queues a one-way message; messages of one service to one peer arrive in order or not at all.
    pub fn send(&self, to: BrokerId, service: Service, message: Bytes) -> Result<(), Error> {
        if to == self.this_broker() {
            listener::deliver(to, service as u8, message, &self.0.handlers);
            return Ok(());
        }
        self.link(to)?.send(service, message)
    }

    /// The data directory of the process that answered last for `broker`; `None` before one did.
    pub fn incarnation(&self, broker: BrokerId) -> Option<Uuid> {
        self.link(broker).ok()?.incarnation()
    }

    /// Where a peer is reached; `None` for this broker and for one that is no peer.
    pub fn address(&self, of: BrokerId) -> Option<Address> {
        let peers = self.0.peers.read();
        Some(peers.get(&of)?.address.borrow().clone())
    }

    /// Reaches out to one more peer, until [`Mesh::set_peers`] leaves it out. One that is known stays as it is.
    pub fn reach(&self, id: BrokerId, address: Address) {
        let mut peers = self.0.peers.write();
        if id != self.this_broker() && !peers.contains_key(&id) {
            peers.insert(id, self.reach_out(id, address));
        }
    }

    fn link(&self, to: BrokerId) -> Result<Arc<Link>, Error> {
        self.0
            .peers
            .read()
            .get(&to)
            .map(|peer| Arc::clone(&peer.link))
            .ok_or(Error::Unreachable(to))
    }

    /// Makes `handler` answer for `service` from now on.
    pub fn serve(&self, service: Service, handler: Arc<dyn Handler>) {
        self.0.handlers.0.write().insert(service, handler);
    }

    /// Longest frame that this broker takes; its peers are configured alike.
    pub fn frame_bytes_max(&self) -> usize {
        self.0.config.frame_bytes_max
    }

    /// How long [`Mesh::call`] waits for a peer.
    pub fn call_timeout(&self) -> Duration {
        self.0.config.call_timeout
    }

    /// The failure detector's view; changes are published as they are noticed.
    pub fn alive(&self) -> watch::Receiver<Alive> {
        self.0.alive.subscribe()
    }

    /// Stops accepting and drops the way to every peer and all handlers.
    pub fn close(&self) {
        for accepting in self.0.accepting.lock().drain(..) {
            accepting.abort();
        }
        self.set_peers(BTreeMap::new());
        self.0.handlers.0.write().clear();
    }
}
