//! The shards that this broker is a member of, and who leads which.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use machine::metadata::image::Image;
use model::{BrokerId, ShardId};
use parking_lot::RwLock;
use tokio::sync::watch;

use super::Remote;
use super::frame::Proposed;
use crate::peer::Mesh;
use crate::queue::links::Links;
use crate::queue::metrics::Metrics;
use crate::queue::quorum::Shard;
use crate::queue::quorum::command::Command;
use crate::queue::quorum::keeper::{self, Outlook};
use crate::raft::{Group, GroupId, Groups, Members, ProposeError};

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shards(Arc<Inner>);

struct Inner {
    links: Arc<Links>,
    groups: Groups,
    metrics: Metrics,
    here: RwLock<BTreeMap<ShardId, Carried>>,
}

#[derive(Clone)]
struct Carried {
    group: Group,
    outlook: Arc<Outlook>,
}

impl Shards {
    pub(super) fn new(links: Arc<Links>, groups: Groups, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            links,
            groups,
            metrics,
            here: RwLock::default(),
        }))
    }

    /// Starts the shards that the image gives this broker, now and later.
    pub(super) async fn follow(
        self,
        mut images: watch::Receiver<Arc<Image>>,
        mesh: Mesh,
        remote: Remote,
    ) {
        loop {
            let image = images.borrow_and_update().clone();
            for shard in image.shards.values() {
                let known = self.0.here.read().contains_key(&shard.id);
                let this = self.0.links.broker();
                if !known && shard.members.contains(&this) {
                    let broker = image.brokers.get(&this);
                    let directory = broker.map(|broker| broker.incarnation);
                    let members = Members {
                        voters: shard.members.clone(),
                        preferred: shard.preferred,
                        original: directory.is_some() && shard.directory(this) == directory,
                    };
                    self.carry(shard.id, members, &images, &mesh).await;
                }
                remote.greet(shard.id);
            }
            if images.changed().await.is_err() {
                return;
            }
        }
    }

    async fn carry(
        &self,
        id: ShardId,
        members: Members,
        images: &watch::Receiver<Arc<Image>>,
        mesh: &Mesh,
    ) {
        let outlook = Arc::new(Outlook::default());
        let links = self.0.links.clone();
        let machine = Shard::new(id, links, self.0.metrics.clone(), outlook.clone());
        let started = self
            .0
            .groups
            .start_group(GroupId::shard(id), members, machine);
        match started.await {
            Ok(group) => {
                let keeper = keeper::run(
                    id,
                    outlook.clone(),
                    group.clone(),
                    images.clone(),
                    mesh.alive(),
                );
                tokio::spawn(keeper);
                let carried = Carried { group, outlook };
                self.0.here.write().insert(id, carried);
            }
            Err(error) => tracing::error!(shard = %id, %error, "shard cannot be carried here"),
        }
    }

    /// Largest command that a shard takes, in bytes.
    pub(super) fn command_bytes_max(&self) -> usize {
        self.0.groups.command_bytes_max()
    }

    /// Who leads, as far as is known here. The sender is gone when this broker does not carry the shard.
    pub(super) fn leader(&self, shard: ShardId) -> watch::Receiver<Option<BrokerId>> {
        let here = self.0.here.read();
        match here.get(&shard) {
            Some(carried) => carried.group.leader(),
            None => watch::channel(None).1,
        }
    }

    /// One member after another.
    pub(super) fn member(&self, shard: ShardId, turn: usize) -> Option<BrokerId> {
        let image = self.0.links.image();
        let members = &image.shards.get(&shard)?.members;
        let at = turn.checked_rem(members.len())?;
        members.get(at).copied()
    }

    /// Has a batch applied, if this broker leads the shard. Queues that it names are declared first: a
    /// batch must never find a queue missing that the metadata has.
    pub(super) async fn propose(&self, shard: ShardId, command: Bytes) -> Proposed {
        let carried = self.0.here.read().get(&shard).cloned();
        let Some(carried) = carried else {
            return Proposed::Elsewhere(None);
        };
        let leader = *carried.group.leader().borrow();
        if leader != Some(self.0.links.broker()) {
            return Proposed::Elsewhere(leader);
        }
        if !self.declare(&carried, &command).await {
            return Proposed::Unknown;
        }
        match carried.group.propose(command).await {
            Ok(reply) => Proposed::Applied(reply),
            Err(ProposeError::NotLeader { hint }) => Proposed::Elsewhere(hint),
            Err(ProposeError::TooLarge { .. }) => Proposed::TooLarge,
            Err(
                ProposeError::Overloaded
                | ProposeError::NoRoom
                | ProposeError::Unknown
                | ProposeError::Stopped,
            ) => Proposed::Unknown,
        }
    }

    /// False when it could not be done.
    async fn declare(&self, carried: &Carried, command: &Bytes) -> bool {
        let Ok(Command::Batch(_, batches)) = Command::decode(command.clone()) else {
            return false;
        };
        let requests = batches.iter().flat_map(|(_, requests)| requests);
        let mut queues: Vec<u64> = requests.map(|request| request.queue).collect();
        queues.sort_unstable();
        queues.dedup();
        if carried.outlook.declares(queues.iter().copied()) {
            return true;
        }
        let newest = queues.last().copied().unwrap_or(0);
        let Some(mut images) = self.0.links.images() else {
            return false;
        };
        // An image that has not come to the newest declaration cannot say that its queue is gone.
        let image = images.wait_for(|image| image.has_declared(newest)).await;
        let Ok(image) = image.map(|image| image.clone()) else {
            return false;
        };
        let all = image
            .vhosts
            .values()
            .flat_map(|vhost| vhost.queues.values());
        let named = all.filter(|queue| queues.binary_search(&queue.id).is_ok());
        let missing = named.filter(|queue| !carried.outlook.declares([queue.id]));
        for queue in missing {
            let declare = keeper::declare(queue).encode();
            if carried.group.propose(declare).await.is_err() {
                return false;
            }
        }
        true
    }
}
