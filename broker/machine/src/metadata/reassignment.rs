//! Moving the replicas of a partition to other brokers (KIP-455).
//!
//! While a partition moves it has the replicas of both sets, those of the target first. The move is
//! complete when the whole target is in sync: then the others leave, and the leadership with them where
//! one of them had it. Called off, it goes back to the replicas from before the first move that was not
//! completed.
//!
//! Invariants: no partition is left moving whose target is in sync; nobody leaves the ISR by a move
//! unless another member stays, but where an unclean election is allowed; the leader epoch grows
//! whenever a replica leaves, so that it cannot answer for a time at which it is none any more.

use std::sync::Arc;

use model::{BrokerId, TopicId};

use super::command::{Reassignment, Refusal, Reply};
use super::image::{Image, Partition};
use super::{partition, topic};

/// Decides each partition by itself, in order; the answers are in the same order.
pub(super) fn reassign(
    image: &mut Image,
    partitions: Vec<Reassignment>,
    allow_factor_change: bool,
) -> Reply {
    let outcomes = partitions.into_iter().map(|wanted| {
        let place = (wanted.topic, wanted.partition);
        let outcome = match wanted.replicas {
            Some(target) => begin(image, place, &target, allow_factor_change),
            None => cancel(image, place),
        };
        outcome.err()
    });
    Reply::Reassigned(outcomes.collect())
}

fn begin(
    image: &mut Image,
    (topic, number): (TopicId, i32),
    target: &[BrokerId],
    allow_factor_change: bool,
) -> Result<(), Refusal> {
    let present = partition::find(image, topic, number)?;
    topic::check_replicas(image, target)?;
    let factor = present.target().count();
    if !allow_factor_change && factor != target.len() {
        return Err(Refusal::InvalidReplicationFactor(format!(
            "The replication factor is changed from {factor} to {}",
            target.len()
        )));
    }
    let mut changed = Partition::clone(present);
    let mut removing: Vec<_> = present.replicas.clone();
    removing.retain(|id| !target.contains(id));
    removing.sort_unstable();
    let fresh = target.iter().filter(|id| !present.replicas.contains(id));
    let fresh: Vec<_> = fresh.copied().collect();
    changed.adding.extend_from_slice(&fresh);
    changed.adding.sort_unstable();
    changed.replicas = [target, &removing].concat();
    changed.removing = removing;
    changed.isr = partition::in_replica_order(&changed.replicas, &changed.isr);
    changed.emptied.extend(fresh);
    if changed == *present {
        return Ok(());
    }
    changed.partition_epoch += 1;
    partition::replace(image, topic, number, changed);
    Ok(())
}

fn cancel(image: &mut Image, (topic, number): (TopicId, i32)) -> Result<(), Refusal> {
    let present = partition::find(image, topic, number)?;
    if !present.is_moving() {
        return Err(Refusal::NoReassignmentInProgress);
    }
    let stays = |id: &BrokerId| !present.adding.contains(id);
    let replicas: Vec<_> = present.replicas.iter().copied().filter(stays).collect();
    let in_sync: Vec<_> = present.isr.iter().copied().filter(stays).collect();
    let lossy = in_sync.is_empty() && !present.isr.is_empty();
    if lossy && !partition::unclean_allowed(image, topic) {
        let name = image
            .topics
            .get(&topic)
            .map(|topic| Arc::clone(&topic.name));
        return Err(Refusal::InvalidReplicaAssignment(format!(
            "Unable to revert partition assignment for {}:{number} because it would require an unclean leader election.",
            name.unwrap_or_default()
        )));
    }
    let mut changed = Partition::clone(present);
    changed.isr = in_sync;
    come_to(image, topic, &mut changed, replicas);
    if lossy && changed.isr.is_empty() {
        // Nobody is active: whoever has something shall lead when it comes.
        let has_nothing = |id: &&BrokerId| changed.emptied.contains(id);
        changed
            .isr
            .extend(changed.replicas.iter().min_by_key(has_nothing));
    }
    changed.partition_epoch += 1;
    partition::replace(image, topic, number, changed);
    Ok(())
}

/// Ends the move of a partition about to be written if its target is in sync.
pub(super) fn complete(image: &Image, topic: TopicId, partition: &mut Partition) {
    if partition.is_moving() && partition.target().all(|id| partition.isr.contains(&id)) {
        let target = partition.target().collect();
        come_to(image, topic, partition, target);
    }
}

/// The partition is on `replicas` and moves no more.
fn come_to(image: &Image, topic: TopicId, partition: &mut Partition, replicas: Vec<BrokerId>) {
    let leaves = partition.replicas.iter().any(|id| !replicas.contains(id));
    partition.replicas = replicas;
    partition.adding.clear();
    partition.removing.clear();
    partition.isr = partition::in_replica_order(&partition.replicas, &partition.isr);
    let epoch = partition.leader_epoch;
    let leader = partition::choose_leader(image, topic, partition);
    partition::lead(partition, leader);
    if leaves && partition.leader_epoch == epoch {
        partition.leader_epoch.0 += 1;
    }
}

impl Partition {
    /// Replicas are being added or removed.
    pub fn is_moving(&self) -> bool {
        !self.adding.is_empty() || !self.removing.is_empty()
    }

    /// A replica is not in sync; those that are only being added are not missed (KIP-455).
    pub fn is_under_replicated(&self) -> bool {
        self.isr.len() < self.replicas.len() - self.adding.len()
    }

    /// The replicas that it is to have: those it has, unless it moves.
    pub fn target(&self) -> impl Iterator<Item = BrokerId> {
        let stays = |id: &BrokerId| !self.removing.contains(id);
        self.replicas.iter().copied().filter(stays)
    }
}
