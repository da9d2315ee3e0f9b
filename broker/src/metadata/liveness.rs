//! What the leader of the metadata group does about brokers: fences those the failure detector
//! suspects, lets registered ones follow the log and unregistered ones go, gives leaderships back to
//! preferred replicas.
//!
//! A fenced broker asks to be let in itself, once it has seen its registration: that shows that it
//! is alive and caught up (see [`super::registration`]).

use std::time::Duration;

use machine::metadata::command::Command;
use machine::metadata::image::{Broker, Image};
use model::BrokerId;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::config::Defaults;
use super::{Config, Handle};
use crate::peer::{Alive, Mesh};
use crate::raft::{Group, Status};

#[cfg(test)]
mod tests;

/// A step that failed, or whose effect is not visible yet, is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What the leader should do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Fence(BrokerId, i64),
    Follow(BrokerId),
    /// It was unregistered and is gone.
    Forget(BrokerId),
    /// An earlier leader began to change the voters.
    EndVoterChange,
    /// The file here says other than the image of unclean elections.
    AdoptUncleanDefault(bool),
    /// Or of how many replicas have to be in sync.
    AdoptInSyncDefault(usize),
}

/// Works for as long as the group runs; idle while another broker leads.
pub(super) async fn supervise(metadata: Handle, group: Group, mesh: Mesh, config: Config) {
    let mut alive = mesh.alive();
    let mut leader = group.leader();
    let mut image = metadata.watch();
    let contact = metadata.contact();
    // When leaderships are given back, if some can be.
    let mut rebalance_at = None;
    loop {
        let leading = *leader.borrow_and_update() == Some(metadata.this_broker());
        let known = image.borrow_and_update().clone();
        let heard = alive.borrow_and_update().clone();
        // Nothing can be decided without a majority, and somebody else may lead by now.
        let steps = if leading && contact.has_majority() {
            decide(
                &known,
                &heard,
                metadata.this_broker(),
                &group.status(),
                |id| mesh.incarnation(id),
                config.defaults,
            )
        } else {
            Vec::new()
        };
        let acted = !steps.is_empty();
        for step in steps {
            act(&metadata, &group, step).await;
        }
        rebalance_at = config
            .rebalance_after
            .filter(|_| leading && has_imbalance(&metadata.image()))
            .map(|after| rebalance_at.unwrap_or_else(|| Instant::now() + after));
        let change = async {
            tokio::select! {
                changed = leader.changed() => changed.is_ok(),
                changed = image.changed(), if leading => changed.is_ok(),
                changed = alive.changed(), if leading => changed.is_ok(),
            }
        };
        let again_at = acted.then(|| Instant::now() + LOOK_AGAIN);
        let changed = match again_at.into_iter().chain(rebalance_at).min() {
            Some(at) => timeout_at(at, change).await.ok(),
            None => Some(change.await),
        };
        if changed == Some(false) {
            return;
        }
        if rebalance_at.is_some_and(|at| at <= Instant::now()) {
            rebalance_at = None;
            let elect = Command::ElectPreferred { partitions: None };
            if metadata.submit_as_leader(elect).await.is_err() {
                tracing::warn!("leaderships not given back: the quorum is not available");
            }
        }
    }
}

pub(super) fn decide(
    image: &Image,
    alive: &Alive,
    this: BrokerId,
    members: &Status,
    incarnation: impl Fn(BrokerId) -> Option<Uuid>,
    defaults: Defaults,
) -> Vec<Step> {
    let mut steps = Vec::new();
    if image.unclean_default != defaults.unclean {
        steps.push(Step::AdoptUncleanDefault(defaults.unclean));
    }
    if image.in_sync_default != Some(defaults.in_sync_min) {
        steps.push(Step::AdoptInSyncDefault(defaults.in_sync_min));
    }
    // Another data directory answers under its id: the registered one is gone, and the other cannot
    // register before that is said.
    let is_same = |broker: &Broker| {
        incarnation(broker.id).is_none_or(|answering| answering == broker.incarnation)
    };
    for broker in image.brokers.values() {
        if broker.id == this {
            continue;
        }
        let is_member =
            members.voters.contains(&broker.id) || members.learners.contains(&broker.id);
        if !is_member {
            steps.push(Step::Follow(broker.id));
        } else if !broker.fenced && (!alive.is_alive(broker.id) || !is_same(broker)) {
            steps.push(Step::Fence(broker.id, broker.epoch));
        }
    }
    if members.changing {
        steps.push(Step::EndVoterChange);
    }
    for learner in &members.learners {
        if !image.brokers.contains_key(learner) && !alive.is_alive(*learner) {
            steps.push(Step::Forget(*learner));
        }
    }
    steps
}

fn has_imbalance(image: &Image) -> bool {
    image
        .topics
        .values()
        .flat_map(|topic| &topic.partitions)
        .any(|partition| {
            partition.replicas.first().is_some_and(|preferred| {
                partition.leader != Some(*preferred)
                    && partition.isr.contains(preferred)
                    && image.is_active(*preferred)
            })
        })
}

async fn act(metadata: &Handle, group: &Group, step: Step) {
    match step {
        Step::Fence(id, epoch) => {
            tracing::info!(broker = %id, epoch, "broker is gone: fenced");
            if metadata
                .submit_as_leader(Command::FenceBroker { id, epoch })
                .await
                .is_err()
            {
                tracing::warn!(broker = %id, "not fenced: this broker does not lead a quorum any more");
            }
        }
        Step::AdoptUncleanDefault(enabled) => {
            tracing::info!(enabled, "unclean elections as the configuration file says");
            let adopt = Command::AdoptUncleanDefault { enabled };
            if metadata.submit_as_leader(adopt).await.is_err() {
                tracing::warn!("default of unclean elections not set: the quorum is not available");
            }
        }
        Step::AdoptInSyncDefault(min) => {
            tracing::info!(min, "replicas to be in sync as the configuration file says");
            let adopt = Command::AdoptInSyncDefault { min };
            if metadata.submit_as_leader(adopt).await.is_err() {
                tracing::warn!("default of in-sync replicas not set: the quorum is not available");
            }
        }
        Step::Follow(id) => {
            tracing::info!(broker = %id, "broker follows the metadata log");
            if let Err(error) = group.add_learner(id).await {
                tracing::debug!(broker = %id, %error, "not added yet");
            }
        }
        Step::EndVoterChange => {
            if let Err(error) = group.end_change().await {
                tracing::debug!(%error, "change of the voters not ended yet");
            }
        }
        Step::Forget(id) => {
            tracing::info!(broker = %id, "broker was unregistered: it follows the metadata log no more");
            if let Err(error) = group.remove_learner(id).await {
                tracing::debug!(broker = %id, %error, "not removed yet");
            }
        }
    }
}
