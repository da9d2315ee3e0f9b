//! From a queue to its host, and from a host back to the session: the only place that knows where a
//! queue lives.

use std::collections::HashMap;
use std::sync::mpsc::{SendError, Sender};
use std::sync::{Arc, OnceLock, Weak};

use machine::metadata::image::{Image, Queue, QueueKind};
use model::{BrokerId, ShardId};
use parking_lot::RwLock;
use tokio::runtime;
use tokio::sync::watch;

use super::Config;
use super::budget::Budget;
use super::classic::Input;
use super::deletion::{self, Deletions, UnderWay};
use super::inflight::Permit;
use super::outbox::Outbox;
use super::owner::Owners;
use super::pressure::Pressure;
use super::protocol::{Op, QueueId, Reply, Request, Response, SessionKey};
use super::remote::Remote;
use super::session::Shared;
use crate::metadata;

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
    budget: Arc<Budget>,
    pressure: Pressure,
    owners: Owners,
    deletions: Deletions,
    /// `None` in a handle without hosts.
    metadata: Option<metadata::Handle>,
    runtime: Option<runtime::Handle>,
    drivers: OnceLock<Vec<Sender<Input>>>,
    remote: OnceLock<Remote>,
    sessions: RwLock<HashMap<u64, Weak<Shared>>>,
}

impl Links {
    pub(crate) fn new(
        broker: BrokerId,
        config: Config,
        metadata: Option<metadata::Handle>,
    ) -> Self {
        Self {
            broker,
            budget: Arc::new(Budget::new(config.memory_bytes_max)),
            pressure: Pressure::default(),
            owners: Owners::default(),
            deletions: Deletions::default(),
            config,
            metadata,
            runtime: runtime::Handle::try_current().ok(),
            drivers: OnceLock::new(),
            remote: OnceLock::new(),
            sessions: RwLock::default(),
        }
    }

    /// Names the driver threads; once, before any session opens.
    pub(crate) fn set_drivers(&self, drivers: Vec<Sender<Input>>) {
        if self.drivers.set(drivers).is_err() {
            tracing::error!("drivers of queues were named twice");
        }
    }

    pub(crate) fn set_remote(&self, remote: Remote) {
        if self.remote.set(remote).is_err() {
            tracing::error!("links to other brokers were named twice");
        }
    }

    pub(crate) fn drivers(&self) -> &[Sender<Input>] {
        self.drivers.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn broker(&self) -> BrokerId {
        self.broker
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(crate) fn pressure(&self) -> &Pressure {
        &self.pressure
    }

    pub(super) fn owners(&self) -> &Owners {
        &self.owners
    }

    pub(crate) fn image(&self) -> Arc<Image> {
        let metadata = self.metadata.as_ref();
        metadata.map(metadata::Handle::image).unwrap_or_default()
    }

    /// Follows the metadata; `None` in a handle without hosts.
    pub(crate) fn images(&self) -> Option<watch::Receiver<Arc<Image>>> {
        self.metadata.as_ref().map(metadata::Handle::watch)
    }

    /// Runs a task of this module, also from a driver's thread.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }

    pub(crate) fn register(&self, key: SessionKey, shared: &Arc<Shared>) {
        let mut sessions = self.sessions.write();
        sessions.insert(key.number, Arc::downgrade(shared));
    }

    pub(crate) fn forget(&self, key: SessionKey) {
        self.sessions.write().remove(&key.number);
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Shared>> {
        let sessions = self.sessions.read();
        sessions.values().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn host(&self, queue: &Queue) -> Host {
        match queue.kind {
            QueueKind::Quorum { shard } => Host::Shard(shard),
            QueueKind::Classic { home } if home != self.broker => Host::Broker(home),
            QueueKind::Classic { .. } => Host::Driver(self.driver_of(queue.id)),
        }
    }

    pub(crate) fn shard_leader(&self, shard: ShardId) -> Option<BrokerId> {
        self.remote.get()?.shard_leader(shard)
    }

    pub(crate) fn driver_of(&self, queue: QueueId) -> usize {
        let drivers = self.config.drivers.max(1) as u64;
        usize::try_from(queue % drivers).unwrap_or(0)
    }

    /// Hands a batch to its host. Never blocks: what is under way is bounded by who sends it.
    pub(crate) fn send(&self, host: Host, batch: Batch) {
        let refused = match host {
            Host::Driver(index) => match self.drivers().get(index) {
                Some(driver) => match driver.send(Input::Batch(batch)) {
                    Err(SendError(Input::Batch(batch))) => Some(batch),
                    _ => None,
                },
                None => Some(batch),
            },
            Host::Broker(_) | Host::Shard(_) => match self.remote.get() {
                Some(remote) => remote.send(host, batch),
                None => Some(batch),
            },
        };
        if let Some(batch) = refused {
            self.respond(batch.session, unavailable(batch.requests));
        }
    }

    /// Answers sessions, wherever they are.
    pub(crate) fn answer(&self, outbox: &mut Outbox) {
        for (session, responses) in outbox.drain() {
            if session.broker == self.broker {
                self.respond(session, responses);
            } else if let Some(remote) = self.remote.get() {
                remote.push(session, responses);
            }
        }
    }

    /// Answers a session of this broker.
    pub(crate) fn respond(&self, session: SessionKey, responses: Vec<Response>) {
        let shared = self.sessions.read().get(&session.number).cloned();
        if let Some(shared) = shared.and_then(|shared| shared.upgrade()) {
            shared.mailbox.put(responses);
        }
    }

    /// Has a queue deleted that nobody uses any more. Tried once: its host says so again while it is unused.
    pub(crate) fn delete_unused(&self, queue: &Arc<Queue>) {
        if let Some((metadata, under_way)) = self.begin_deletion(queue) {
            let queue = queue.clone();
            self.spawn(async move {
                deletion::delete(&metadata, &queue).await;
                drop(under_way);
            });
        }
    }

    /// Has a queue deleted that nobody can use any more, by as many tries as it takes.
    pub(crate) fn delete_abandoned(&self, queue: &Arc<Queue>) {
        if let Some((metadata, under_way)) = self.begin_deletion(queue) {
            let queue = queue.clone();
            self.spawn(async move {
                let delete = || deletion::delete(&metadata, &queue);
                deletion::delete_until_gone(deletion::AGAIN, delete).await;
                drop(under_way);
            });
        }
    }

    fn begin_deletion(&self, queue: &Queue) -> Option<(metadata::Handle, UnderWay)> {
        let metadata = self.metadata.clone()?;
        Some((metadata, self.deletions.begin(queue.id)?))
    }
}

/// The answers of a host that cannot be reached.
pub(crate) fn unavailable(requests: Vec<Request>) -> Vec<Response> {
    let answers = requests.into_iter().filter_map(|request| match request.op {
        Op::Publish { publish, .. } => Some(Response::Refused {
            publishes: vec![publish],
        }),
        Op::Consume(_, call) | Op::Get { call, .. } | Op::Purge { call } | Op::Stats { call } => {
            Some(Response::Called {
                call,
                reply: Reply::Unavailable,
            })
        }
        Op::Cancel { consumer } => Some(Response::Cancelled {
            consumer,
            by_client: true,
        }),
        Op::Resume(..) | Op::Leave { .. } | Op::Settle { .. } | Op::Written { .. } => None,
    });
    answers.collect()
}
