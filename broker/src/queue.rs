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

mod links;
mod mailbox;

use std::sync::Arc;

use machine::metadata::image::Queue;
use model::BrokerId;

pub use message::{Death, Deaths, Message, Reason};
pub use protocol::Stats;
pub use session::{
    ChannelId, Confirm, ConsumeError, ConsumeRequest, Consumer, Delivery, Event, Events, Outcome,
    Receipt, Session,
};

/// Bounds of this module; each is a documented `millrace.queue.*` key of the broker's config.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.queue.session.inflight.bytes.max`: bytes published by one connection and not yet taken
    /// by their queues. Above it [`Session::capacity`] waits, so the socket is not read.
    pub session_inflight_bytes_max: usize,
    /// `millrace.queue.consumer.unwritten.max`: messages given to a consumer without prefetch limit (or
    /// without acknowledgement) and not yet written to its socket.
    pub consumer_unwritten_max: u32,
    /// `millrace.queue.cache.bytes.max`: bodies kept in memory per classic queue; older ones are read
    /// back from its log.
    pub cache_bytes_max: usize,
    /// `millrace.queue.drivers`: threads that carry the classic queues of this broker.
    pub drivers: usize,
    /// `millrace.queue.shards`: Raft groups that carry the quorum queues of the cluster.
    pub shards: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            session_inflight_bytes_max: 16 << 20,
            consumer_unwritten_max: 2_000,
            cache_bytes_max: 8 << 20,
            drivers: 2,
            shards: 8,
        }
    }
}

/// Why a queue could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Deleted, or not declared yet on the broker that would host it.
    #[error("queue '{0}' does not exist")]
    NotFound(Arc<str>),
    /// RabbitMQ answers 541 here: the home broker is down or the shard has no leader.
    #[error("queue '{0}' is not available: its host does not answer")]
    Unavailable(Arc<str>),
    /// RabbitMQ's 405: `basic.get` on a single-active-consumer quorum queue.
    #[error("queue '{0}' has a single active consumer and cannot be polled")]
    SingleActiveConsumer(Arc<str>),
}

/// Why a queue was not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    #[error("queue '{0}' in use")]
    InUse(Arc<str>),
    #[error("queue '{0}' not empty")]
    NotEmpty(Arc<str>),
    #[error(transparent)]
    Unreachable(#[from] Error),
    #[error("the metadata group does not answer")]
    NoMetadata,
}

/// All queues of the cluster, from this broker. Cheap to clone.
#[derive(Clone)]
pub struct Queues {
    links: Arc<links::Links>,
}

impl Queues {
    /// A handle without hosts, for unit tests of fronts: every queue is unavailable.
    pub fn detached(broker: BrokerId, config: Config) -> Self {
        Self {
            links: Arc::new(links::Links::new(broker, config)),
        }
    }

    /// One session per client connection; dropping the [`Session`] is the connection's end: its
    /// consumers leave and what they held unacknowledged goes back to the queues.
    pub fn open(&self) -> (Session, Events) {
        session::open(self.links.clone())
    }

    /// Removes every ready message; the answer is how many.
    pub async fn purge(&self, queue: &Arc<Queue>) -> Result<u64, Error> {
        let (mut session, _events) = self.open();
        session.purge(queue).await
    }

    pub async fn stats(&self, queue: &Arc<Queue>) -> Result<Stats, Error> {
        let (mut session, _events) = self.open();
        session.stats(queue).await
    }
}
