//! Eligible leader replicas (KIP-966): members that left an ISR smaller than `min.insync.replicas`.
//!
//! The high watermark of a partition stands still while its ISR is smaller than that, so whoever leaves then
//! has everything that was acknowledged, and may lead when nobody of the ISR can. It may no more once the
//! ISR is large enough again, or once it has begun another life without having ended the one before in
//! order, which may have cost it what was not on disk yet.
//!
//! Kafka moves the last member of an ISR here too, and lets the last known leader lead when nobody is left.
//! Here the last one in either set stays in it, whatever became of it but a new disk: the same replica
//! leads in the end. Clients are told it in Kafka's way.
//!
//! Kept from the first [`Command::AdoptInSyncDefault`] on; before that every command means what it meant to
//! builds that know nothing of this.
//!
//! [`Command::AdoptInSyncDefault`]: super::command::Command::AdoptInSyncDefault

use std::sync::Arc;

use model::{BrokerId, TopicId};

use super::command::{Refusal, Reply};
use super::image::{ConfigResource, Image, Partition};
use super::partition;

/// Replicas that an ISR needs for the high watermark to move.
pub(super) const KEY: &str = "min.insync.replicas";

impl Image {
    /// Whether eligible replicas are kept: level 1 of Kafka's feature `eligible.leader.replicas.version`.
    pub fn keeps_eligible(&self) -> bool {
        self.in_sync_default.is_some()
    }

    /// `min.insync.replicas` of a topic as the elections take it: its own value, else the cluster's, else
    /// what was adopted. A leader that lets its watermark move needs at least as many.
    pub fn in_sync_min(&self, topic: &Arc<str>) -> usize {
        [
            ConfigResource::Topic(Arc::clone(topic)),
            ConfigResource::BrokerDefault,
        ]
        .iter()
        .find_map(|resource| self.configs.get(resource)?.get(KEY)?.trim().parse().ok())
        .or(self.in_sync_default)
        .unwrap_or(1)
    }
}

impl Partition {
    /// The ISR, and who may lead besides it, as Kafka shows them: without a leader nobody is in sync, and
    /// whoever was last may lead.
    pub fn shown_in_sync(&self, image: &Image) -> (Vec<BrokerId>, Vec<BrokerId>) {
        if self.leader.is_some() || !image.keeps_eligible() {
            return (self.isr.clone(), self.elr.clone());
        }
        (Vec::new(), self.replicas_of(|id| self.counts_on(id)))
    }

    /// Whether it may lead without loss.
    pub(super) fn counts_on(&self, id: BrokerId) -> bool {
        self.isr.contains(&id) || self.elr.contains(&id)
    }

    /// Whether anybody else may.
    pub(super) fn counts_on_others(&self, id: BrokerId) -> bool {
        self.isr.iter().chain(&self.elr).any(|other| *other != id)
    }

    fn replicas_of(&self, wanted: impl Fn(BrokerId) -> bool) -> Vec<BrokerId> {
        let replicas = self.replicas.iter().copied();
        replicas.filter(|id| wanted(*id)).collect()
    }
}

/// An eligible replica that is active, which then is the whole ISR.
pub(super) fn leader(image: &Image, partition: &mut Partition) -> Option<BrokerId> {
    let eligible = partition.replicas_of(|id| partition.elr.contains(&id));
    let leader = eligible.into_iter().find(|id| image.is_active(*id))?;
    partition.isr = vec![leader];
    Some(leader)
}

/// Who is eligible after a change. `forgot` may have lost what it had.
pub(super) fn carry(
    image: &Image,
    topic: TopicId,
    before: &Partition,
    after: &mut Partition,
    forgot: Option<BrokerId>,
) {
    if !image.keeps_eligible() {
        return;
    }
    let Some(topic) = image.topics.get(&topic) else {
        return;
    };
    let needed = image.in_sync_min(&topic.name).min(after.replicas.len());
    let uncleanly = after.leader.is_some_and(|id| !before.counts_on(id));
    after.elr = if uncleanly || after.isr.len() >= needed.max(1) {
        Vec::new()
    } else {
        after.replicas_of(|id| {
            (before.isr.contains(&id) || after.elr.contains(&id))
                && !after.isr.contains(&id)
                && forgot != Some(id)
        })
    };
    match (before.leader, after.leader) {
        (_, Some(_)) => after.last_known_elr.clear(),
        (Some(last), None) => after.last_known_elr = vec![last],
        (None, None) => {}
    }
}

/// What the file of the group's leader says: from now on eligible replicas are kept.
pub(super) fn adopt_default(image: &mut Image, min: usize) -> Result<Reply, Refusal> {
    let before = image.in_sync_default.replace(min);
    if before.is_some_and(|before| before != min) {
        requirement_changed(image, &ConfigResource::BrokerDefault);
    }
    Ok(Reply::Done)
}

/// `min.insync.replicas` was set or removed there. Watermarks may have begun to move: as in Kafka nobody is
/// eligible any more. Without a leader no watermark moves.
pub(super) fn requirement_changed(image: &mut Image, resource: &ConfigResource) {
    let concerns = |topic: &Arc<str>| match resource {
        ConfigResource::Topic(name) => name == topic,
        ConfigResource::BrokerDefault => true,
        ConfigResource::Broker(_) | ConfigResource::Group(_) => false,
    };
    let topics = image.topics.values().filter(|topic| concerns(&topic.name));
    let concerned: Vec<_> = topics.map(|topic| topic.id).collect();
    for (topic, number) in partition::all(image, |p| p.leader.is_some() && !p.elr.is_empty()) {
        if concerned.contains(&topic) {
            partition::change(image, topic, number, |changed| changed.elr.clear());
        }
    }
}
