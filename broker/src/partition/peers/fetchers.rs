//! The follower's side: one task per leader broker.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesOrdered,
};
use model::{BrokerId, Epoch, TopicPartition};
use parking_lot::Mutex;
use replica::{Answer, Standing};
use tokio::{
    runtime,
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    Throttles,
    frame::{Request, Response},
};
use crate::{
    metadata,
    partition::{driver::Job, handle::Shared},
    peer::{self, Mesh, Service},
};

/// Requests under way to one leader: one that waits for news and one that brings them.
const REQUESTS_MAX: usize = 2;
/// Pause before a partition is asked for again whose answer could not be used.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Fetches from every leader broker that this broker follows.
pub(in crate::partition) struct Fetchers {
    mesh: Mesh,
    metadata: metadata::Handle,
    runtime: runtime::Handle,
    backoff: Duration,
    throttles: Arc<Throttles>,
    by_leader: Mutex<HashMap<BrokerId, mpsc::UnboundedSender<Change>>>,
}

/// At most one per assignment of a replica or sync of its log: bounded by their number.
enum Change {
    /// Follow the replica, or tell the leader anew where it stands.
    Follow(Arc<Shared>),
    Unfollow(TopicPartition),
}

/// One session with one leader broker.
struct Fetcher {
    leader: BrokerId,
    mesh: Mesh,
    metadata: metadata::Handle,
    backoff: Duration,
    throttles: Arc<Throttles>,
    changes: mpsc::UnboundedReceiver<Change>,
    following: HashMap<TopicPartition, Arc<Shared>>,
    /// What the leader does not know yet.
    changed: HashSet<TopicPartition>,
    removed: HashSet<TopicPartition>,
    /// Partitions whose last answer could not be used or that a throttle holds up, and when to ask again:
    /// the others go on.
    resting: HashMap<TopicPartition, Instant>,
    session: u64,
    /// The leader has not heard of the session.
    fresh: bool,
    calls: FuturesOrdered<BoxFuture<'static, Result<Bytes, peer::Error>>>,
}

/// Why a session has to begin anew.
enum Broken {
    /// Wait a little first.
    Unreachable,
    UnknownSession,
}

// === impl Fetchers ===

impl Fetchers {
    pub(in crate::partition) fn new(
        mesh: Mesh,
        metadata: metadata::Handle,
        runtime: runtime::Handle,
        backoff_ms: u64,
        throttles: Arc<Throttles>,
    ) -> Self {
        Self {
            throttles,
            mesh,
            metadata,
            runtime,
            backoff: Duration::from_millis(backoff_ms),
            by_leader: Mutex::default(),
        }
    }

    /// Has the replica follow `leader`, or its standing reported again.
    pub(in crate::partition) fn follow(&self, leader: BrokerId, replica: Arc<Shared>) {
        self.send(leader, Change::Follow(replica));
    }

    pub(in crate::partition) fn unfollow(&self, leader: BrokerId, partition: TopicPartition) {
        self.send(leader, Change::Unfollow(partition));
    }

    fn send(&self, leader: BrokerId, change: Change) {
        let mut by_leader = self.by_leader.lock();
        let sender = by_leader.entry(leader).or_insert_with(|| {
            let (sender, changes) = mpsc::unbounded_channel();
            let fetcher = Fetcher {
                leader,
                mesh: self.mesh.clone(),
                metadata: self.metadata.clone(),
                backoff: self.backoff,
                throttles: self.throttles.clone(),
                changes,
                following: HashMap::new(),
                changed: HashSet::new(),
                removed: HashSet::new(),
                resting: HashMap::new(),
                session: 0,
                fresh: true,
                calls: FuturesOrdered::new(),
            };
            self.runtime.spawn(fetcher.run());
            sender
        });
        // The task lives as long as this sender.
        let _sent = sender.send(change);
    }
}

// === impl Fetcher ===

impl Fetcher {
    async fn run(mut self) {
        self.begin();
        loop {
            while self.following.is_empty() && self.removed.is_empty() {
                let Some(change) = self.changes.recv().await else {
                    return;
                };
                self.note(change);
            }
            match self.exchange().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(broken) => {
                    if matches!(broken, Broken::Unreachable) {
                        tokio::time::sleep(self.backoff).await;
                    }
                    self.begin();
                }
            }
        }
    }

    /// Forgets the session: the next request names everything.
    fn begin(&mut self) {
        self.calls = FuturesOrdered::new();
        self.session = uuid::Uuid::new_v4().as_u64_pair().0;
        self.fresh = true;
        self.removed.clear();
        self.resting.clear();
        self.changed = self.following.keys().copied().collect();
    }

    fn note(&mut self, change: Change) {
        match change {
            Change::Follow(replica) => {
                let partition = replica.partition;
                self.removed.remove(&partition);
                self.resting.remove(&partition);
                self.following.insert(partition, replica);
                self.ask_for(partition);
            }
            Change::Unfollow(partition) => {
                self.changed.remove(&partition);
                self.resting.remove(&partition);
                if self.following.remove(&partition).is_some() {
                    self.removed.insert(partition);
                }
            }
        }
    }

    /// One step: sends what is new, takes one answer or one change. False when nobody will send
    /// changes any more.
    async fn exchange(&mut self) -> Result<bool, Broken> {
        while let Ok(change) = self.changes.try_recv() {
            self.note(change);
        }
        self.wake();
        let news = !self.changed.is_empty() || !self.removed.is_empty();
        if self.calls.is_empty() || (news && self.calls.len() < REQUESTS_MAX) {
            self.request();
        }
        let room = self.calls.len() < REQUESTS_MAX;
        tokio::select! {
            Some(answer) = self.calls.next() => {
                let answer = answer.map_err(|_| Broken::Unreachable)?;
                self.take(answer).await?;
                Ok(true)
            }
            change = self.changes.recv(), if room => match change {
                Some(change) => {
                    self.note(change);
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }

    /// Asks again for what has rested long enough; a long poll's time later at the latest.
    fn wake(&mut self) {
        if self.resting.is_empty() {
            return;
        }
        let now = Instant::now();
        let Self {
            resting, changed, ..
        } = self;
        resting.retain(|partition, until| {
            let over = *until <= now;
            if over {
                changed.insert(*partition);
            }
            !over
        });
    }

    /// Has the next request name where this replica stands, unless it is held up.
    fn ask_for(&mut self, partition: TopicPartition) {
        let now = Instant::now();
        let replica = self.following.get(&partition);
        let throttled = replica.is_some_and(|replica| self.is_throttled(replica));
        match self.throttles.follower.pause(now).filter(|_| throttled) {
            Some(pause) => {
                self.resting.insert(partition, now + pause);
            }
            None => {
                self.changed.insert(partition);
            }
        }
    }

    /// Not in sync, and its topic says that it is to be held up.
    fn is_throttled(&self, replica: &Shared) -> bool {
        let this = self.mesh.this_broker();
        let settings = replica.settings.load();
        settings.throttles_follower(replica.partition, this)
            && !replica.snapshot.read().isr.contains(&this)
    }

    fn request(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let request = Request {
            session: self.session,
            full: std::mem::take(&mut self.fresh),
            changed: changed
                .into_iter()
                .filter_map(|p| Some((p, standing(self.following.get(&p)?))))
                .collect(),
            removed: self.removed.drain().collect(),
            life: self.life(),
        };
        let (mesh, leader) = (self.mesh.clone(), self.leader);
        self.calls.push_back(Box::pin(async move {
            mesh.call(leader, Service::Replica, request.encode()).await
        }));
    }

    /// Epoch of this broker's registration.
    fn life(&self) -> Option<i64> {
        let image = self.metadata.image();
        let this = image.brokers.get(&self.mesh.this_broker())?;
        Some(this.epoch)
    }

    /// Hands every partition's part to its driver and waits until all are written: the next request
    /// acknowledges them.
    async fn take(&mut self, answer: Bytes) -> Result<(), Broken> {
        let partitions = match Response::decode(answer) {
            Ok(Response::Partitions(partitions)) => partitions,
            Ok(Response::UnknownSession) => return Err(Broken::UnknownSession),
            Err(malformed) => {
                tracing::error!(broker = %self.leader, %malformed, "leader's answer is ignored");
                return Err(Broken::Unreachable);
            }
        };
        let mut written = Vec::with_capacity(partitions.len());
        for (partition, epoch, answer) in partitions {
            let Some(replica) = self.following.get(&partition) else {
                continue;
            };
            if self.is_throttled(replica) {
                self.throttles.follower.count(answer.size_bytes());
            }
            written.push(apply(partition, replica, epoch, answer));
        }
        for (partition, used) in join_all(written).await {
            if !self.following.contains_key(&partition) {
                continue;
            }
            if used {
                self.ask_for(partition);
            } else {
                self.resting.insert(partition, Instant::now() + ASK_AGAIN);
            }
        }
        Ok(())
    }
}

async fn apply(
    partition: TopicPartition,
    replica: &Arc<Shared>,
    epoch: Epoch,
    answer: Answer,
) -> (TopicPartition, bool) {
    let (done, used) = oneshot::channel();
    replica.mailbox.send(Job::Fetched {
        partition,
        epoch,
        answer,
        done,
    });
    // Dropped when the replica was closed meanwhile: nothing to fail.
    (partition, used.await.unwrap_or(true))
}

fn standing(replica: &Arc<Shared>) -> Standing {
    let (epoch, partition_epoch) = {
        let now = replica.snapshot.read();
        (now.leader_epoch, now.partition_epoch)
    };
    let synced_only = replica.settings.load().synced_only();
    Standing {
        partition_epoch: Some(partition_epoch),
        is_read: replica.nearby.is_read(),
        ..Standing::of(&replica.reader, epoch, synced_only)
    }
}
