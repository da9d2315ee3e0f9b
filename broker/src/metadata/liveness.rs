//! What the leader of the metadata group does about brokers: fences those the failure detector
//! suspects, lets registered ones follow the log, gives leaderships back to preferred replicas.
//!
//! A fenced broker asks to be let in itself, once it has seen its registration: that shows that it
//! is alive and caught up (see [`super::registration`]).

use std::time::Duration;

use machine::metadata::command::Command;
use machine::metadata::image::{Broker, Image};
use model::BrokerId;
use tokio::time::timeout;
use uuid::Uuid;

use super::Handle;
use crate::peer::{Alive, Mesh};
use crate::raft::Group;

#[cfg(test)]
mod tests;

/// A step that failed, or whose effect is not visible yet, is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// How long partitions may be led by others before leadership is given back.
const REBALANCE_AFTER: Duration = Duration::from_secs(5);

/// What the leader should do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Fence(BrokerId, i64),
    Follow(BrokerId),
    /// The file here says other than the image of unclean elections.
    AdoptUncleanDefault(bool),
}

/// Works for as long as the group runs; idle while another broker leads.
pub(super) async fn supervise(metadata: Handle, group: Group, mesh: Mesh, unclean_default: bool) {
    let mut alive = mesh.alive();
    let mut leader = group.leader();
    let mut image = metadata.watch();
    let contact = metadata.contact();
    loop {
        let leading = *leader.borrow_and_update() == Some(metadata.this_broker());
        let known = image.borrow_and_update().clone();
        let heard = alive.borrow_and_update().clone();
        // Nothing can be decided without a majority, and somebody else may lead by now.
        let steps = if leading && contact.has_majority() {
            let status = group.status();
            let members: Vec<_> = status.voters.iter().chain(&status.learners).collect();
            let is_member = |id: BrokerId| members.contains(&&id);
            decide(
                &known,
                &heard,
                metadata.this_broker(),
                is_member,
                |id| mesh.incarnation(id),
                unclean_default,
            )
        } else {
            Vec::new()
        };
        let acted = !steps.is_empty();
        for step in steps {
            act(&metadata, &group, step).await;
        }
        let imbalanced = leading && has_imbalance(&metadata.image());
        let change = async {
            tokio::select! {
                changed = leader.changed() => changed.is_ok(),
                changed = image.changed(), if leading => changed.is_ok(),
                changed = alive.changed(), if leading => changed.is_ok(),
            }
        };
        let changed = if acted {
            timeout(LOOK_AGAIN, change).await.ok()
        } else if imbalanced {
            let quiet = timeout(REBALANCE_AFTER, change).await.ok();
            if quiet.is_none() {
                let elect = Command::ElectPreferred { partitions: None };
                if metadata.submit_as_leader(elect).await.is_err() {
                    tracing::warn!("leaderships not given back: the quorum is not available");
                }
            }
            quiet
        } else {
            Some(change.await)
        };
        if changed == Some(false) {
            return;
        }
    }
}

pub(super) fn decide(
    image: &Image,
    alive: &Alive,
    this: BrokerId,
    is_member: impl Fn(BrokerId) -> bool,
    incarnation: impl Fn(BrokerId) -> Option<Uuid>,
    unclean_default: bool,
) -> Vec<Step> {
    let mut steps = Vec::new();
    if image.unclean_default != unclean_default {
        steps.push(Step::AdoptUncleanDefault(unclean_default));
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
        if !is_member(broker.id) {
            steps.push(Step::Follow(broker.id));
        } else if !broker.fenced && (!alive.is_alive(broker.id) || !is_same(broker)) {
            steps.push(Step::Fence(broker.id, broker.epoch));
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
        Step::Follow(id) => {
            tracing::info!(broker = %id, "broker follows the metadata log");
            if let Err(error) = group.add_learner(id).await {
                tracing::debug!(broker = %id, %error, "not added yet");
            }
        }
    }
}
