//! Group coordination on this broker: a shard per partition of `__consumer_offsets` led here, and the
//! lag of the groups that are coordinated here.
//!
//! Owns loading, appending and answering. What a group does is decided in [`machine::group`]; what
//! clients see of it is the fronts' business.
//!
//! ```text
//! front ── submit / query ──> shard (by the group's partition) ──> machine::group
//!                               `── records ──> partition::Handle ── committed ──> answer
//! roster, image ──> leadership: shards start with a leadership and end with it
//! lag: every interval, committed offsets of the shards against the log ends their leaders tell
//! ```

mod config;
mod journal;
mod lag;
mod leadership;
mod load;
mod metrics;
mod offsets_topic;
mod record;
mod remote;
mod shard;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::group::{Command, GroupId, Listed, Reply, State};
use model::{BrokerId, Epoch};
use parking_lot::RwLock;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

pub use config::Config;
pub use lag::Report;
pub use offsets_topic::{NAME as OFFSETS_TOPIC, partition_of};

use crate::peer::{Mesh, Service};
use crate::telemetry::Telemetry;
use crate::{clock, metadata, partition};
use shard::Request;

/// Why a coordinator did not answer. The request may or may not have had its effect; clients ask again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("the coordinator is loading its groups")]
    Loading,
    #[error("another broker coordinates this group")]
    NotCoordinator,
    #[error("no coordinator can take requests now")]
    NotAvailable,
}

/// Why a group was not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    #[error("there is no such group")]
    NotFound,
    #[error("the group has members")]
    HasMembers,
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The coordinators of this broker. Cheap to clone.
#[derive(Clone)]
pub struct Coordinators(Arc<Inner>);

struct Inner {
    config: Config,
    metadata: metadata::Handle,
    roster: partition::Roster,
    mesh: Mesh,
    /// By partition of `__consumer_offsets`.
    shards: RwLock<BTreeMap<i32, Slot>>,
    /// The newest measure of lag, and who waits for the next.
    report: watch::Sender<Arc<Report>>,
}

/// A shard that runs, and the leadership it runs under.
struct Slot {
    epoch: Epoch,
    requests: mpsc::Sender<Request>,
    ready: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Coordinators {
    /// Follows the roster from now on: coordinates what is led here.
    pub fn start(
        config: Config,
        metadata: metadata::Handle,
        roster: partition::Roster,
        mesh: Mesh,
        telemetry: &Telemetry,
    ) -> Self {
        let coordinators = Self(Arc::new(Inner {
            config,
            metadata,
            roster,
            mesh: mesh.clone(),
            shards: RwLock::default(),
            report: watch::Sender::default(),
        }));
        mesh.serve(
            Service::Coordinator,
            Arc::new(remote::Server::new(coordinators.clone())),
        );
        metrics::register(telemetry, &coordinators);
        tokio::spawn(leadership::follow(Arc::downgrade(&coordinators.0)));
        tokio::spawn(lag::monitor(Arc::downgrade(&coordinators.0)));
        coordinators
    }

    /// Has the group's coordinator, if that is this broker, carry out `command`. A refusal by the group
    /// is a [`Reply`]. Joins and syncs are answered when the group is ready.
    pub async fn submit(&self, group: &GroupId, command: Command) -> Result<Reply, Unavailable> {
        let requests = self.mailbox(group)?;
        let (answer, answered) = oneshot::channel();
        let request = Request::Command {
            group: group.clone(),
            command,
            answer,
        };
        let gone = |_| Unavailable::NotCoordinator;
        requests.send(request).await.map_err(gone)?;
        answered.await.unwrap_or(Err(Unavailable::NotCoordinator))
    }

    /// Looks at the groups beside `group` in its partition; answers once what was seen is committed.
    pub async fn query<T: Send + 'static>(
        &self,
        group: &str,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        ask(&self.mailbox(group)?, look).await
    }

    /// Groups that are coordinated here, and whether some are still being loaded.
    pub async fn list(&self) -> (Vec<Listed>, Option<Unavailable>) {
        let mut listed = Vec::new();
        let mut incomplete = None;
        for mailbox in self.mailboxes() {
            let found = match mailbox {
                Ok(requests) => ask(&requests, |state| state.list().collect::<Vec<_>>()).await,
                Err(unavailable) => Err(unavailable),
            };
            match found {
                Ok(mut found) => listed.append(&mut found),
                // What moved away is listed by its new coordinator.
                Err(Unavailable::NotCoordinator) => {}
                Err(unavailable) => incomplete = Some(unavailable),
            }
        }
        (listed, incomplete)
    }

    /// Who coordinates `group`. Makes the offsets topic when the first group asks.
    ///
    /// # Errors
    /// [`Unavailable::NotAvailable`] while there is no such topic or its partition has no leader.
    pub async fn find(&self, group: &str) -> Result<BrokerId, Unavailable> {
        let inner = &self.0;
        offsets_topic::ensure(&inner.metadata, &inner.config).await?;
        offsets_topic::leader(&inner.metadata.image(), group)
    }

    /// Standing and lag of every group of the cluster, as of the last interval. Groups of brokers that
    /// do not answer are left out.
    pub async fn groups(&self) -> Vec<api::admin::Group> {
        remote::groups_of_all(&self.0.mesh, &self.0.metadata).await
    }

    /// Deletes a group without members and its offsets, whichever broker coordinates it.
    pub async fn delete(&self, group: &str) -> Result<(), DeleteError> {
        let image = self.0.metadata.image();
        if offsets_topic::topic(&image).is_none() {
            return Err(DeleteError::NotFound);
        }
        let coordinator = offsets_topic::leader(&image, group)?;
        remote::delete(&self.0.mesh, coordinator, group).await
    }

    /// Standing and lag of the groups coordinated here, as of the last interval.
    pub fn report(&self) -> Arc<Report> {
        self.0.report.borrow().clone()
    }

    fn mailbox(&self, group: &str) -> Result<mpsc::Sender<Request>, Unavailable> {
        let image = self.0.metadata.image();
        let topic = offsets_topic::topic(&image).ok_or(Unavailable::NotCoordinator)?;
        let partition = partition_of(group, topic.partitions.len());
        if let Some(slot) = self.0.shards.read().get(&partition) {
            return slot.mailbox();
        }
        // Elected, but the replica here has not taken over yet.
        match offsets_topic::leader(&image, group) {
            Ok(leader) if leader == self.0.metadata.this_broker() => Err(Unavailable::Loading),
            _ => Err(Unavailable::NotCoordinator),
        }
    }

    fn mailboxes(&self) -> Vec<Result<mpsc::Sender<Request>, Unavailable>> {
        self.0.shards.read().values().map(Slot::mailbox).collect()
    }
}

impl Slot {
    fn mailbox(&self) -> Result<mpsc::Sender<Request>, Unavailable> {
        if self.task.is_finished() {
            Err(Unavailable::NotCoordinator)
        } else if self.ready.load(Ordering::Acquire) {
            Ok(self.requests.clone())
        } else {
            Err(Unavailable::Loading)
        }
    }
}

async fn ask<T: Send + 'static>(
    requests: &mpsc::Sender<Request>,
    look: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Unavailable> {
    let (answer, answered) = oneshot::channel();
    let query: shard::Query = Box::new(move |state| {
        let seen = look(state);
        Box::new(move || {
            // The asker may have gone away.
            let _gone = answer.send(seen);
        })
    });
    let gone = |_| Unavailable::NotCoordinator;
    requests.send(Request::Query(query)).await.map_err(gone)?;
    answered.await.map_err(|_| Unavailable::NotCoordinator)
}
