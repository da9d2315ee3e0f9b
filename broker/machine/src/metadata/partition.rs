//! Leaders and in-sync replicas of partitions (KIP-497 and the elections of Kafka's controller).
//!
//! Invariants after every command: the ISR is a subset of the replicas, empty only where others are eligible
//! (see [`super::eligible`]) or the disk of the last to have everything was replaced; a leader is an active member of the ISR; the leader epoch grows with
//! each change of leader, the partition epoch with each change at all.

use std::sync::Arc;

use model::{BrokerId, Epoch, TopicId};

use super::command::{Refusal, Reply};
use super::eligible;
use super::image::{ConfigResource, Image, Partition};
use super::reassignment;

/// Config that lets a replica lead that is not in sync.
pub(super) const UNCLEAN_KEY: &str = "unclean.leader.election.enable";

/// A leader proposes another ISR.
pub(super) fn alter(
    image: &mut Image,
    (topic, number): (TopicId, i32),
    (leader, leader_epoch): (BrokerId, Epoch),
    partition_epoch: i32,
    isr: Vec<BrokerId>,
) -> Result<Reply, Refusal> {
    let partition = find(image, topic, number)?;
    if partition.leader != Some(leader) || partition.leader_epoch != leader_epoch {
        return Err(Refusal::FencedLeaderEpoch);
    }
    if partition.partition_epoch != partition_epoch {
        return Err(Refusal::StalePartitionEpoch);
    }
    let distinct = isr
        .iter()
        .enumerate()
        .all(|(i, id)| !isr.iter().take(i).any(|earlier| earlier == id));
    let eligible = isr
        .iter()
        .all(|id| partition.replicas.contains(id) && image.is_active(*id));
    if !distinct || !eligible || !isr.contains(&leader) {
        return Err(Refusal::IneligibleReplica);
    }
    let mut changed = Partition::clone(partition);
    changed.isr = in_replica_order(&changed.replicas, &isr);
    changed.partition_epoch += 1;
    let epoch = changed.partition_epoch;
    replace(image, topic, number, changed);
    Ok(Reply::PartitionEpoch(epoch))
}

/// One replica cannot be used any more: out of the ISR, its leadership moved. The version fences one that
/// was under way while the replica recovered.
pub(super) fn resign(
    image: &mut Image,
    (topic, number): (TopicId, i32),
    replica: BrokerId,
    partition_epoch: i32,
) -> Result<Reply, Refusal> {
    let partition = find(image, topic, number)?;
    if partition.partition_epoch != partition_epoch {
        return Err(Refusal::StalePartitionEpoch);
    }
    let others = |id: &BrokerId| *id != replica && image.is_active(*id);
    let Partition { isr, elr, .. } = partition;
    if !partition.counts_on(replica) || !isr.iter().chain(elr).any(others) {
        return Err(Refusal::IneligibleReplica);
    }
    let mut changed = Partition::clone(partition);
    changed.isr.retain(|member| *member != replica);
    changed.elr.retain(|member| *member != replica);
    let leader = choose_leader(image, topic, &mut changed);
    lead(&mut changed, leader);
    changed.partition_epoch += 1;
    let epoch = changed.partition_epoch;
    replace_forgetting(image, topic, number, changed, Some(replica));
    Ok(Reply::PartitionEpoch(epoch))
}

/// Gives partitions to their preferred leader where it is in sync and active.
pub(super) fn elect_preferred(
    image: &mut Image,
    partitions: Option<Vec<(TopicId, i32)>>,
) -> Result<Reply, Refusal> {
    let chosen = match partitions {
        Some(partitions) => {
            for (topic, number) in &partitions {
                find(image, *topic, *number)?;
            }
            partitions
        }
        None => all(image, |_| true),
    };
    for (topic, number) in chosen {
        let Ok(partition) = find(image, topic, number) else {
            continue;
        };
        let Some(preferred) = partition.replicas.first().copied() else {
            continue;
        };
        if partition.leader != Some(preferred)
            && partition.isr.contains(&preferred)
            && image.is_active(preferred)
        {
            let mut changed = Partition::clone(partition);
            lead(&mut changed, Some(preferred));
            changed.partition_epoch += 1;
            replace(image, topic, number, changed);
        }
    }
    Ok(Reply::Done)
}

/// An operator gives up what the absent and the lost replicas had: partitions without a leader get one
/// that is active, in sync or not. Partitions that have a leader, or no active replica, stay as they are.
pub(super) fn elect_unclean(
    image: &mut Image,
    partitions: Vec<(TopicId, i32)>,
) -> Result<Reply, Refusal> {
    for (topic, number) in &partitions {
        find(image, *topic, *number)?;
    }
    for (topic, number) in partitions {
        let Ok(partition) = find(image, topic, number) else {
            continue;
        };
        if partition.leader.is_some() {
            continue;
        }
        let mut changed = Partition::clone(partition);
        let leader =
            in_sync_leader(image, &changed).or_else(|| eligible::leader(image, &mut changed));
        if let Some(leader) = leader.or_else(|| unclean_leader(image, &mut changed)) {
            lead(&mut changed, Some(leader));
            changed.partition_epoch += 1;
            replace(image, topic, number, changed);
        }
    }
    Ok(Reply::Done)
}

/// A broker is no longer active: out of every ISR that has other members, its leaderships moved.
pub(super) fn withdraw(image: &mut Image, id: BrokerId) {
    for (topic, number) in all(image, |p| p.isr.contains(&id) || p.leader == Some(id)) {
        let Ok(partition) = find(image, topic, number) else {
            continue;
        };
        let mut changed = Partition::clone(partition);
        if changed.isr.len() > 1 {
            changed.isr.retain(|member| *member != id);
        }
        let leader = choose_leader(image, topic, &mut changed);
        lead(&mut changed, leader);
        changed.partition_epoch += 1;
        replace(image, topic, number, changed);
    }
}

/// What a broker that begins a life has of what it had in the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// The life ended in order.
    All,
    /// What it had in memory only may be gone.
    WhatIsOnDisk,
    /// It has another disk.
    Nothing,
}

/// As [`withdraw`], and ISR changes that were proposed before and would let the broker in are made
/// stale: they speak of an earlier life. Whom the cluster counts on with others it counts on no more when
/// something may be gone, and when everything is, also where it has nobody else.
pub(super) fn disown(image: &mut Image, id: BrokerId, keeps: Keeps) {
    if keeps != Keeps::All {
        forget(image, id, keeps);
    }
    withdraw(image, id);
    for (topic, number) in all(image, |p| p.replicas.contains(&id)) {
        change(image, topic, number, |_| {});
    }
}

/// Nothing is expected any more of what the broker had.
fn forget(image: &mut Image, id: BrokerId, keeps: Keeps) {
    let lost = keeps == Keeps::Nothing;
    let concerned = |p: &Partition| match lost {
        true => p.replicas.contains(&id),
        false => p.counts_on(id) && p.counts_on_others(id),
    };
    for (topic, number) in all(image, concerned) {
        let Ok(partition) = find(image, topic, number) else {
            continue;
        };
        let mut changed = Partition::clone(partition);
        if lost && !changed.emptied.contains(&id) {
            changed.emptied.push(id);
        }
        if changed.counts_on(id) {
            changed.isr.retain(|member| *member != id);
            changed.elr.retain(|member| *member != id);
            let leader = choose_leader(image, topic, &mut changed);
            lead(&mut changed, leader);
        }
        changed.partition_epoch += 1;
        replace_forgetting(image, topic, number, changed, Some(id));
    }
}

/// A broker became active, or more may lead: partitions without a leader may have one again.
pub(super) fn elect_for_leaderless(image: &mut Image) {
    for (topic, number) in all(image, |p| p.leader.is_none()) {
        let Ok(partition) = find(image, topic, number) else {
            continue;
        };
        let mut changed = Partition::clone(partition);
        let leader = choose_leader(image, topic, &mut changed);
        if leader.is_some() {
            lead(&mut changed, leader);
            changed.partition_epoch += 1;
            replace(image, topic, number, changed);
        }
    }
}

/// A partition as it begins.
pub(super) fn fresh(image: &Image, replicas: Vec<BrokerId>) -> Partition {
    let mut isr: Vec<_> = replicas
        .iter()
        .copied()
        .filter(|id| image.is_active(*id))
        .collect();
    let leader = isr.first().copied();
    if isr.is_empty() {
        isr.clone_from(&replicas);
    }
    Partition {
        replicas,
        isr,
        leader,
        leader_epoch: Epoch(0),
        partition_epoch: 0,
        emptied: Vec::new(),
        adding: Vec::new(),
        removing: Vec::new(),
        elr: Vec::new(),
        last_known_elr: Vec::new(),
    }
}

/// The present leader if it may stay, else the first in-sync replica that is active, else the first
/// eligible one. Only with `unclean.leader.election.enable` one that is neither.
pub(super) fn choose_leader(
    image: &Image,
    topic: TopicId,
    partition: &mut Partition,
) -> Option<BrokerId> {
    in_sync_leader(image, partition)
        .or_else(|| eligible::leader(image, partition))
        .or_else(|| {
            let allowed = unclean_allowed(image, topic);
            allowed.then(|| unclean_leader(image, partition)).flatten()
        })
}

fn in_sync_leader(image: &Image, partition: &Partition) -> Option<BrokerId> {
    let eligible = |id: &BrokerId| partition.isr.contains(id) && image.is_active(*id);
    let present = partition.leader.filter(|id| eligible(id));
    present.or_else(|| partition.replicas.iter().copied().find(|id| eligible(id)))
}

/// The first active replica, which then is the whole ISR. One whose disk was replaced only where there
/// is no other: what it lacks is everything.
fn unclean_leader(image: &Image, partition: &mut Partition) -> Option<BrokerId> {
    let active = partition.replicas.iter().filter(|id| image.is_active(**id));
    let leader = *active.min_by_key(|id| partition.emptied.contains(id))?;
    partition.isr = vec![leader];
    Some(leader)
}

/// The topic's own value, else the cluster's, else what the files say.
pub(super) fn unclean_allowed(image: &Image, topic: TopicId) -> bool {
    let Some(topic) = image.topics.get(&topic) else {
        return false;
    };
    [
        ConfigResource::Topic(Arc::clone(&topic.name)),
        ConfigResource::BrokerDefault,
    ]
    .iter()
    .find_map(|resource| image.configs.get(resource)?.get(UNCLEAN_KEY))
    .map_or(image.unclean_default, |value| {
        value.trim().eq_ignore_ascii_case("true")
    })
}

/// Another default: partitions without a leader may have one now.
pub(super) fn adopt_default(image: &mut Image, enabled: bool) -> Result<Reply, Refusal> {
    image.unclean_default = enabled;
    elect_for_leaderless(image);
    Ok(Reply::Done)
}

pub(super) fn lead(partition: &mut Partition, leader: Option<BrokerId>) {
    if partition.leader != leader {
        partition.leader = leader;
        partition.leader_epoch.0 += 1;
    }
}

pub(super) fn in_replica_order(replicas: &[BrokerId], isr: &[BrokerId]) -> Vec<BrokerId> {
    replicas
        .iter()
        .copied()
        .filter(|id| isr.contains(id))
        .collect()
}

pub(super) fn all(image: &Image, wanted: impl Fn(&Partition) -> bool) -> Vec<(TopicId, i32)> {
    image
        .topics
        .iter()
        .flat_map(|(id, topic)| {
            (0..)
                .zip(&topic.partitions)
                .filter(|(_, partition)| wanted(partition))
                .map(|(number, _)| (*id, number))
        })
        .collect()
}

pub(super) fn find(image: &Image, topic: TopicId, number: i32) -> Result<&Partition, Refusal> {
    let topic = image.topics.get(&topic).ok_or(Refusal::UnknownTopic)?;
    usize::try_from(number)
        .ok()
        .and_then(|n| topic.partitions.get(n))
        .map(Arc::as_ref)
        .ok_or(Refusal::UnknownPartition)
}

/// Changes a partition's record where that changes no leader.
pub(super) fn change(
    image: &mut Image,
    topic: TopicId,
    number: i32,
    change: impl FnOnce(&mut Partition),
) {
    if let Ok(partition) = find(image, topic, number) {
        let mut changed = Partition::clone(partition);
        change(&mut changed);
        changed.partition_epoch += 1;
        replace(image, topic, number, changed);
    }
}

pub(super) fn replace(image: &mut Image, topic: TopicId, number: i32, partition: Partition) {
    replace_forgetting(image, topic, number, partition, None);
}

/// The one way a partition is written that was there before. `forgot` may have lost what it had.
fn replace_forgetting(
    image: &mut Image,
    topic: TopicId,
    number: i32,
    mut partition: Partition,
    forgot: Option<BrokerId>,
) {
    reassignment::complete(image, topic, &mut partition);
    if let Ok(before) = find(image, topic, number) {
        eligible::carry(image, topic, before, &mut partition, forgot);
    }
    let Partition {
        replicas,
        isr,
        emptied,
        ..
    } = &mut partition;
    emptied.retain(|id| replicas.contains(id) && !isr.contains(id));
    debug_assert!(
        partition
            .leader
            .is_none_or(|id| partition.isr.contains(&id)),
        "a leader is in sync: {partition:?}"
    );
    let slot = image.topics.get_mut(&topic).and_then(|topic| {
        Arc::make_mut(topic)
            .partitions
            .get_mut(usize::try_from(number).ok()?)
    });
    if let Some(slot) = slot {
        *slot = Arc::new(partition);
    }
}
