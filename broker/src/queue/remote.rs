//! Hosts on other brokers, and sessions of other brokers.
//!
//! A *link* is this broker's one way to a host (a shard, or another broker's classic queues): batches of
//! all sessions gather while one frame is under way. A *pusher* carries what hosts here have to say to
//! the sessions of one other broker, in order, one frame at a time. When a frame's fate is unknown the
//! host says so ([`frame::Frame::Resync`]) and the links resume their consumers with what their sessions
//! hold, so nothing stays lost on the way.

mod announcer;
mod broker_link;
mod frame;
mod pusher;
mod shard_link;
mod shards;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use model::{BrokerId, ShardId};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use self::frame::{Frame, Proposed};
use self::pusher::Push;
use super::classic::Input;
use super::inflight::{Arrived, Permit};
use super::links::{Batch, Host, Links};
use super::metrics::Metrics;
use super::outbox::Outbox;
use super::protocol::{Op, Request, Response, SessionKey};
use super::quorum::command::Batches;
use crate::peer::{Alive, Handler, Mesh, Service};
use crate::raft::Groups;

pub(crate) use self::shards::Shards;

/// Requests that a link puts into one frame.
const FRAME_BATCHES_MAX: usize = 1_024;
/// Bytes of publishes that a link puts into one frame; a larger batch goes alone.
const FRAME_BYTES_MAX: usize = 1 << 20;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Remote(Arc<Inner>);

struct Inner {
    links: Arc<Links>,
    mesh: Mesh,
    shards: Shards,
    /// Number of this process' life.
    boot: u64,
    to_hosts: Mutex<HashMap<Host, Link>>,
    to_brokers: Mutex<HashMap<BrokerId, mpsc::UnboundedSender<Push>>>,
}

/// The near end of a link.
#[derive(Clone)]
struct Link {
    batches: mpsc::UnboundedSender<Sent>,
    /// Something may have been lost on the way back.
    resume: Arc<Notify>,
    open: Arc<Mutex<broker_link::Open>>,
}

/// A batch on its way to its link.
struct Sent {
    at: Instant,
    batch: Batch,
}

impl Remote {
    pub(crate) fn shard_leader(&self, shard: ShardId) -> Option<BrokerId> {
        let leader = self.0.shards.leader(shard);
        *leader.borrow()
    }

    pub(crate) fn start(links: &Arc<Links>, mesh: &Mesh, groups: Groups, metrics: Metrics) -> Self {
        let remote = Self(Arc::new(Inner {
            links: links.clone(),
            mesh: mesh.clone(),
            shards: Shards::new(links.clone(), groups, metrics),
            boot: Uuid::new_v4().as_u64_pair().0,
            to_hosts: Mutex::default(),
            to_brokers: Mutex::default(),
        }));
        mesh.serve(Service::Queue, Arc::new(remote.clone()));
        tokio::spawn(remote.clone().watch_peers(mesh.alive()));
        tokio::spawn(announcer::run(mesh.clone(), links.pressure().here()));
        if let Some(images) = links.images() {
            let shards = remote.0.shards.clone();
            let (mesh, remote) = (mesh.clone(), remote.clone());
            tokio::spawn(async move { shards.follow(images, mesh, remote).await });
        }
        remote
    }

    /// Gives the batch back when its link has ended.
    pub(crate) fn send(&self, host: Host, batch: Batch) -> Option<Batch> {
        let at = Instant::now();
        let sent = self.link(host).batches.send(Sent { at, batch });
        sent.err().map(|refused| refused.0.batch)
    }

    /// Tells a session of another broker.
    pub(crate) fn push(&self, session: SessionKey, responses: Vec<Response>) {
        let broker = session.broker;
        let mut pushers = self.0.to_brokers.lock();
        let pusher = pushers.entry(broker).or_insert_with(|| {
            let (sender, pushes) = mpsc::unbounded_channel();
            let mesh = self.0.mesh.clone();
            self.0.links.spawn(pusher::run(broker, mesh, pushes));
            sender
        });
        let push = Push {
            session: session.number,
            responses,
        };
        // A pusher ends with the broker only.
        drop(pusher.send(push));
    }

    fn link(&self, host: Host) -> Link {
        let mut links = self.0.to_hosts.lock();
        let link = links.entry(host).or_insert_with(|| {
            let (batches, waiting) = mpsc::unbounded_channel();
            let link = Link {
                batches,
                resume: Arc::default(),
                open: Arc::default(),
            };
            match host {
                Host::Shard(shard) => self.0.links.spawn(shard_link::run(
                    self.clone(),
                    shard,
                    waiting,
                    link.resume.clone(),
                )),
                Host::Broker(broker) => self.0.links.spawn(broker_link::run(
                    self.clone(),
                    broker,
                    waiting,
                    link.resume.clone(),
                    link.open.clone(),
                )),
                // Not remote: its batches never come here.
                Host::Driver(_) => {}
            }
            link
        });
        link.clone()
    }

    /// Opens the way to a shard, so that it hears of this process' life.
    pub(crate) fn greet(&self, shard: ShardId) {
        self.link(Host::Shard(shard));
    }

    /// What `broker` hosts may have said something that did not arrive.
    fn resume_from(&self, broker: BrokerId) {
        let links = self.0.to_hosts.lock();
        for (host, link) in links.iter() {
            match host {
                Host::Broker(of) if *of != broker => {}
                _ => link.resume.notify_one(),
            }
        }
    }

    /// A peer that is back may have missed what was sent, and so may we.
    async fn watch_peers(self, mut alive: watch::Receiver<Alive>) {
        let mut before: BTreeMap<BrokerId, bool> = BTreeMap::new();
        while alive.changed().await.is_ok() {
            let peers = alive.borrow_and_update().peers.clone();
            for (broker, answers) in &peers {
                let answered = before.get(broker).copied().unwrap_or(false);
                if *answers && !answered {
                    self.resume_from(*broker);
                    let mesh = self.0.mesh.clone();
                    tokio::spawn(pusher::resync(*broker, mesh));
                } else if !*answers && answered {
                    self.lost(*broker);
                }
            }
            for (broker, answered) in before {
                if answered && !peers.contains_key(&broker) {
                    // Not a peer any more.
                    self.lost(broker);
                }
            }
            before = peers;
        }
    }

    /// A peer does not answer any more.
    fn lost(&self, broker: BrokerId) {
        self.0.links.pressure().set_other(broker, None);
        for driver in self.0.links.drivers() {
            // A driver that has ended has no consumers.
            drop(driver.send(Input::Gone(broker)));
        }
        broker_link::lost(&self.0.links, broker);
        let link = self.0.to_hosts.lock().get(&Host::Broker(broker)).cloned();
        if let Some(link) = link {
            broker_link::refuse_open(&self.0.links, &link.open);
        }
    }

    /// Batches of another broker for classic queues here, of a frame of `whole` bytes. Ends when their
    /// drivers have taken them: that bounds what one broker may have waiting here to a frame.
    fn take(&self, from: BrokerId, batches: Batches, whole: usize) -> oneshot::Receiver<()> {
        let links = &self.0.links;
        let (arrived, taken) = Arrived::new(links.budget().clone());
        for (number, requests) in batches {
            let session = SessionKey {
                broker: from,
                number,
            };
            let mut by_driver: BTreeMap<usize, Vec<Request>> = BTreeMap::new();
            for mut request in requests {
                if let Op::Publish { message, .. } = &mut request.op
                    && let Some(message) = Arc::get_mut(message)
                {
                    message.detach(whole);
                }
                let driver = links.driver_of(request.queue);
                by_driver.entry(driver).or_default().push(request);
            }
            for (driver, requests) in by_driver {
                let bytes = requests.iter().map(Request::memory_bytes).sum();
                let batch = Batch {
                    session,
                    requests,
                    permit: arrived.take(bytes),
                };
                links.send(Host::Driver(driver), batch);
            }
        }
        taken
    }

    fn deliver(&self, from: BrokerId, pushes: Vec<Push>) {
        let link = self.0.to_hosts.lock().get(&Host::Broker(from)).cloned();
        for push in pushes {
            if let Some(link) = &link {
                link.open.lock().close(push.session, &push.responses);
            }
            let session = SessionKey {
                broker: self.0.links.broker(),
                number: push.session,
            };
            self.0.links.respond(session, push.responses);
        }
    }
}

impl Handler for Remote {
    fn call(&self, from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes> {
        let whole = request.len();
        match Frame::decode(request) {
            Ok(Frame::Shard(shard, command)) => {
                let shards = self.0.shards.clone();
                let bound = self.0.mesh.call_timeout();
                async move {
                    let proposed = timeout(bound, shards.propose(shard, command)).await;
                    // Who asked has stopped waiting.
                    proposed.unwrap_or(Proposed::Unknown).encode()
                }
                .boxed()
            }
            Ok(Frame::Classic(batches)) => {
                let taken = self.take(from, batches, whole);
                taken.map(|_| Bytes::new()).boxed()
            }
            Ok(Frame::Push(pushes)) => {
                self.deliver(from, pushes);
                futures::future::ready(Bytes::new()).boxed()
            }
            Ok(Frame::Resync) => {
                self.resume_from(from);
                futures::future::ready(Bytes::new()).boxed()
            }
            Ok(Frame::Shortage(shortage)) => {
                self.0.links.pressure().set_other(from, shortage);
                futures::future::ready(Bytes::new()).boxed()
            }
            Err(error) => {
                tracing::error!(%from, %error, "frame of a peer is malformed");
                futures::future::ready(Bytes::new()).boxed()
            }
        }
    }
}

/// What fits one frame.
#[derive(Default)]
struct Gathered {
    batches: Batches,
    /// To give back with its answer.
    permits: Vec<Permit>,
    /// When the oldest of it was sent.
    since: Option<Instant>,
}

/// What of `waiting` fits one frame, by session.
fn gather(first: Option<Sent>, waiting: &mut mpsc::UnboundedReceiver<Sent>) -> Gathered {
    let mut gathered = Gathered::default();
    let mut bytes = 0;
    let mut next = first;
    while let Some(Sent { at, batch }) = next.take() {
        bytes += batch.permit.bytes();
        gathered.permits.push(batch.permit);
        gathered.since.get_or_insert(at);
        match gathered.batches.last_mut() {
            Some((session, requests)) if *session == batch.session.number => {
                requests.extend(batch.requests);
            }
            _ => {
                let session = batch.session.number;
                gathered.batches.push((session, batch.requests));
            }
        }
        if gathered.permits.len() < FRAME_BATCHES_MAX && bytes < FRAME_BYTES_MAX {
            next = waiting.try_recv().ok();
        }
    }
    gathered
}

/// Answers sessions of this broker.
fn respond(links: &Links, outbox: &mut Outbox) {
    for (session, responses) in outbox.drain() {
        links.respond(session, responses);
    }
}
