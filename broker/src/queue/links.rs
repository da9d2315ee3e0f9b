//! From a queue to its host, and from a host back to the session: the only place that knows where a
//! queue lives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use machine::metadata::image::{Queue, QueueKind};
use model::{BrokerId, ShardId};
use parking_lot::RwLock;
use tokio::sync::Notify;

use super::Config;
use super::protocol::{Op, Reply, Request, Response, SessionKey};
use super::session::Shared;

/// Who serves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    /// A driver thread of this broker.
    Driver(usize),
    /// The home broker of a classic queue.
    Broker(BrokerId),
    /// Whoever leads the shard.
    Shard(ShardId),
}

/// What one session sends one host at once.
pub(crate) struct Batch {
    pub(crate) session: SessionKey,
    pub(crate) requests: Vec<Request>,
    /// Given back when the host has taken the batch.
    pub(crate) permit: Permit,
}

pub(crate) struct Links {
    broker: BrokerId,
    config: Config,
    sessions: RwLock<HashMap<u64, Weak<Shared>>>,
}

impl Links {
    pub(crate) fn new(broker: BrokerId, config: Config) -> Self {
        Self {
            broker,
            config,
            sessions: RwLock::default(),
        }
    }

    pub(crate) fn broker(&self) -> BrokerId {
        self.broker
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn register(&self, key: SessionKey, shared: &Arc<Shared>) {
        let mut sessions = self.sessions.write();
        sessions.insert(key.number, Arc::downgrade(shared));
    }

    pub(crate) fn forget(&self, key: SessionKey) {
        self.sessions.write().remove(&key.number);
    }

    pub(crate) fn host(&self, queue: &Queue) -> Host {
        match queue.kind {
            QueueKind::Quorum { shard } => Host::Shard(shard),
            QueueKind::Classic { home } if home != self.broker => Host::Broker(home),
            QueueKind::Classic { .. } => {
                let drivers = self.config.drivers.max(1) as u64;
                Host::Driver(usize::try_from(queue.id % drivers).unwrap_or(0))
            }
        }
    }

    /// Hands a batch to its host. Never blocks: what is under way is bounded by the session.
    pub(crate) fn send(&self, _host: Host, batch: Batch) {
        self.respond(batch.session, unavailable(batch.requests));
    }

    /// Answers a session of this broker.
    pub(crate) fn respond(&self, session: SessionKey, responses: Vec<Response>) {
        let shared = self.sessions.read().get(&session.number).cloned();
        if let Some(shared) = shared.and_then(|shared| shared.upgrade()) {
            shared.mailbox.put(responses);
        }
    }
}

/// The answers of a host that cannot be reached.
pub(crate) fn unavailable(requests: Vec<Request>) -> Vec<Response> {
    let answers = requests.into_iter().filter_map(|request| match request.op {
        Op::Publish { publish, .. } => Some(Response::Refused {
            publishes: vec![publish],
        }),
        Op::Consume { call, .. }
        | Op::Get { call, .. }
        | Op::Purge { call }
        | Op::Stats { call } => Some(Response::Called {
            call,
            reply: Reply::Unavailable,
        }),
        Op::Cancel { consumer } => Some(Response::Cancelled {
            consumer,
            by_client: true,
        }),
        Op::Leave { .. } | Op::Settle { .. } | Op::Written { .. } => None,
    });
    answers.collect()
}

/// Bytes of one session that no host has taken yet.
pub(crate) struct Inflight {
    bytes: AtomicUsize,
    bytes_max: usize,
    freed: Notify,
}

/// Counts its bytes out when dropped.
pub(crate) struct Permit {
    inflight: Arc<Inflight>,
    bytes: usize,
}

impl Inflight {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            bytes_max,
            freed: Notify::new(),
        }
    }

    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Permit {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Permit {
            inflight: self.clone(),
            bytes,
        }
    }

    pub(crate) async fn below_bound(&self) {
        loop {
            let freed = self.freed.notified();
            if self.bytes.load(Ordering::Acquire) < self.bytes_max {
                return;
            }
            freed.await;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let before = self.inflight.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        if before >= self.inflight.bytes_max {
            self.inflight.freed.notify_one();
        }
    }
}
