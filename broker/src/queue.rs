//! Queues as a front sees them: publish, consume, settle, get, purge, on whatever broker a queue lives.
//!
//! One [`Session`] per client connection sends [`protocol::Request`]s to *hosts*; a host is the home
//! broker's driver thread of a classic queue, or the leader of the shard of a quorum queue. Hosts run
//! `machine::queue`, keep the bodies, and answer into the session's [`Events`]. A session never asks
//! whether its host is local: `links` finds the host, `remote` carries requests between brokers.
//!
//! ```text
//! amqp -> Session::publish .. flush => link => host: machine::queue, store, sync => Events -> amqp
//! ```
//!
//! Nothing here reads a client's socket, and nothing here knows AMQP frames.

pub mod message;
pub mod protocol;
pub mod session;

mod budget;
mod classic;
mod dead_letter;
mod deletion;
mod host;
mod inflight;
mod links;
mod mailbox;
mod metrics;
mod outbox;
mod owner;
mod pressure;
mod quorum;
mod remote;
mod store;
mod sync;
#[cfg(test)]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use commitlog::Shutdown;
use machine::metadata::image::{Image, Queue, QueueKind};
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::metadata;
use crate::peer::Mesh;
use crate::raft::Groups;

pub use metrics::Metrics;

pub use message::{Death, Deaths, Message, Reason};
pub use owner::Owner;
pub use pressure::Shortage;
pub use protocol::Stats;
pub use session::{
    Attaching, Caller, ChannelId, Confirm, ConsumeError, ConsumeRequest, Consumer, Delivery, Event,
    Events, Outcome, Receipt, Session,
};

/// Bounds of this module; each is a documented `millrace.queue.*` key of the broker's config.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.queue.session.inflight.bytes.max`: bytes published by one connection and not yet taken
    /// by their queues. Above it [`Session::capacity`] waits, so the socket is not read.
    pub session_inflight_bytes_max: usize,
    /// `millrace.queue.consumer.unwritten.max`: messages given to a consumer and not yet written to
    /// its socket.
    pub consumer_unwritten_max: u32,
    /// `millrace.queue.consumer.unwritten.bytes.max`: the same in bytes; one message may exceed it.
    pub consumer_unwritten_bytes_max: u64,
    /// `millrace.queue.cache.bytes.max`: bodies kept in memory per classic queue; older ones are read
    /// back from its log.
    pub cache_bytes_max: usize,
    /// `millrace.queue.memory.bytes`: bodies in memory over all queues of this broker, and on their way
    /// to one. Near it the caches give way, at it publishers wait. Not given: two fifths of the memory
    /// of the machine or container.
    pub memory_bytes_max: usize,
    /// `millrace.disk.free.limit.bytes`: with less than this free on the disk of the data directory
    /// publishers wait (RabbitMQ's `disk_free_limit`, there 50 MB). More than a file of the write-ahead
    /// log (`millrace.wal.file.bytes`): publishers shall wait before that has no room for its next.
    pub disk_free_bytes_min: u64,
    /// `millrace.queue.drivers`: threads that carry the classic queues of this broker.
    pub drivers: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            session_inflight_bytes_max: 16 << 20,
            consumer_unwritten_max: 2_000,
            consumer_unwritten_bytes_max: 8 << 20,
            cache_bytes_max: 8 << 20,
            memory_bytes_max: budget::default_bytes(),
            disk_free_bytes_min: 128 << 20,
            drivers: 2,
        }
    }
}

/// Why a queue could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Deleted, or not declared yet on the broker that would host it.
    #[error("queue '{0}' does not exist")]
    NotFound(Arc<str>),
    /// The home broker is down, or no leader of the shard takes the request.
    #[error("queue '{0}' is not available: its host does not answer")]
    Unavailable(Arc<str>),
    /// The request may still have its effect.
    #[error("queue '{0}' is not available: its host did not answer in time")]
    TimedOut(Arc<str>),
    /// Its host is there, but cannot read its log; the log of the broker says why. It is tried again.
    #[error("queue '{0}' cannot be read by its host")]
    Crashed(Arc<str>),
    /// RabbitMQ's 405: `basic.get` on a single-active-consumer quorum queue.
    #[error("queue '{0}' has a single active consumer and cannot be polled")]
    SingleActiveConsumer(Arc<str>),
}

/// What queues are built from.
pub struct Parts {
    pub config: Config,
    /// Directory of the broker's data; queues live in `queues` below it.
    pub dir: PathBuf,
    pub opened_after: Shutdown,
    /// The image has this broker's registration already: what is in it is from an earlier life.
    pub metadata: metadata::Handle,
    pub mesh: Mesh,
    pub groups: Groups,
    pub metrics: Metrics,
}

/// All queues of the cluster, from this broker. Cheap to clone.
#[derive(Clone)]
pub struct Queues {
    links: Arc<links::Links>,
    drivers: Arc<Drivers>,
}

/// The driver threads; they end with the last handle.
#[derive(Default)]
struct Drivers {
    inboxes: Vec<Sender<classic::Input>>,
    threads: Mutex<Vec<JoinHandle<bool>>>,
}

impl Drop for Drivers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Drivers {
    fn stop(&self) {
        for inbox in &self.inboxes {
            // A driver that has ended already has closed its queues.
            drop(inbox.send(classic::Input::Stop));
        }
    }
}

impl Queues {
    /// A handle without hosts, for unit tests of fronts: every queue is unavailable.
    pub fn detached(broker: BrokerId, config: Config) -> Self {
        Self {
            links: Arc::new(links::Links::new(broker, config, None)),
            drivers: Arc::default(),
        }
    }

    /// Recovers the queues whose home is here, begins to serve them and the shards, and follows the
    /// metadata from now on.
    pub fn start(parts: Parts) -> std::io::Result<Self> {
        let image = parts.metadata.image();
        let broker = parts.metadata.this_broker();
        let metadata = Some(parts.metadata.clone());
        let links = Arc::new(links::Links::new(broker, parts.config, metadata));
        let dir = parts.dir.join("queues");
        clean(&dir, &image)?;
        links.set_remote(remote::Remote::start(
            &links,
            &parts.mesh,
            parts.groups,
            parts.metrics.clone(),
        ));
        let syncer = sync::Syncer::start(links.clone())?;
        let (mut inboxes, mut threads) = (Vec::new(), Vec::new());
        for index in 0..links.config().drivers.max(1) {
            let context = classic::Context {
                links: links.clone(),
                metrics: parts.metrics.clone(),
                syncer: syncer.clone(),
                dir: dir.clone(),
                opened_after: parts.opened_after,
                index,
            };
            let (inbox, thread) = classic::start(context, image.clone())?;
            inboxes.push(inbox);
            threads.push(thread);
        }
        links.set_drivers(inboxes.clone());
        for queue in left_behind(&image, broker) {
            links.delete_abandoned(queue);
        }
        tokio::spawn(follow(parts.metadata.watch(), links.clone()));
        let disk = pressure::Disk {
            dir: parts.dir,
            free_bytes_min: links.config().disk_free_bytes_min,
        };
        let budget = links.budget().clone();
        tokio::spawn(pressure::watch(
            Arc::downgrade(&links),
            budget,
            disk,
            parts.metrics,
        ));
        Ok(Self {
            links,
            drivers: Arc::new(Drivers {
                inboxes,
                threads: Mutex::new(threads),
            }),
        })
    }

    /// Ends the drivers: everything taken is written and synced when this returns. Blocks. False when
    /// a queue was not closed cleanly: the data directory must not be marked clean then.
    pub fn close(&self) -> bool {
        self.drivers.stop();
        let mut cleanly = true;
        for thread in self.drivers.threads.lock().drain(..) {
            cleanly &= thread.join().unwrap_or_else(|_| {
                tracing::error!("a driver of classic queues has panicked");
                false
            });
        }
        cleanly
    }

    /// One session per client connection; dropping the [`Session`] is the connection's end: its
    /// consumers leave and what they held unacknowledged goes back to the queues.
    pub fn open(&self) -> (Session, Events) {
        session::open(self.links.clone())
    }

    /// One per client connection that may have exclusive queues.
    pub fn owner(&self) -> Owner {
        self.links.owners().enter()
    }

    /// Has a queue deleted that nobody can use any more, whenever that is possible.
    pub fn delete_abandoned(&self, queue: &Arc<Queue>) {
        self.links.delete_abandoned(queue);
    }

    /// Broker that serves `queue`: its home, or the leader of its shard where this broker knows it.
    pub fn served_by(&self, queue: &Queue) -> Option<BrokerId> {
        match queue.kind {
            QueueKind::Classic { home } => Some(home),
            QueueKind::Quorum { shard } => self.links.shard_leader(shard),
        }
    }

    /// This broker is, and not one of the others.
    pub fn is_short_of_memory(&self) -> bool {
        self.links.budget().is_short(true)
    }

    /// What some broker of the cluster is short of, so that publishers have to wait; see
    /// [`Session::is_blocked`].
    pub fn pressure(&self) -> watch::Receiver<Option<Shortage>> {
        self.links.pressure().anywhere()
    }

    /// Removes every ready message; the answer is how many.
    pub async fn purge(&self, queue: &Arc<Queue>) -> Result<u64, Error> {
        let (session, _events) = self.open();
        session.caller().purge(queue).await
    }

    pub async fn stats(&self, queue: &Arc<Queue>) -> Result<Stats, Error> {
        let (session, _events) = self.open();
        session.caller().stats(queue).await
    }
}

/// Tells the drivers of every change of the metadata, until the broker goes down.
async fn follow(mut images: watch::Receiver<Arc<Image>>, links: Arc<links::Links>) {
    while images.changed().await.is_ok() {
        let image = images.borrow_and_update().clone();
        for driver in links.drivers() {
            if driver.send(classic::Input::Follow(image.clone())).is_err() {
                return;
            }
        }
    }
}

/// Queues that could not outlive the stop of their home. Exclusive ones go for want of their owner.
fn left_behind(image: &Image, broker: BrokerId) -> Vec<&Arc<Queue>> {
    let queues = image
        .vhosts
        .values()
        .flat_map(|vhost| vhost.queues.values());
    let here = queues.filter(|queue| {
        matches!(queue.kind, QueueKind::Classic { home } if home == broker) && !queue.durable
    });
    here.collect()
}

/// Removes the files of queues that were deleted while this broker was away: the image has come to their
/// declaration and does not hold them.
fn clean(dir: &Path, image: &Image) -> std::io::Result<()> {
    if !dir.exists() {
        return std::fs::create_dir_all(dir);
    }
    let queues = image
        .vhosts
        .values()
        .flat_map(|vhost| vhost.queues.values());
    let held: std::collections::BTreeSet<u64> = queues.map(|queue| queue.id).collect();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let id = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if id.is_some_and(|id: u64| image.has_declared(id) && !held.contains(&id)) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
