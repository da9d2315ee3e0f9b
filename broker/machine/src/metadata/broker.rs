//! Registration, fencing and controlled shutdown. A fenced broker leads nothing and is in no ISR
//! but where it is the last member; one whose disk was replaced is in none at all.

use std::sync::Arc;

use model::BrokerId;
use uuid::Uuid;

use super::command::{Refusal, Reply};
use super::feature::Levels;
use super::image::{Broker, Endpoint, Image};
use super::partition::{self, Keeps};

/// A broker began a life. It starts fenced, and out of every ISR but those it is alone in: what an
/// earlier life had acknowledged from memory may be gone (KIP-966). Where that ended in order nothing is
/// gone, and the broker stays an eligible leader (see [`super::eligible`]).
///
/// The incarnation names the data directory. With another one the broker holds nothing of what it had,
/// and leaves the ISRs that it is alone in as well: it must not lead with an empty log, which its
/// followers would be cut to. Such partitions are offline until another replica may lead uncleanly, by
/// `unclean.leader.election.enable` or because somebody asks for it, or the topic is deleted. That
/// includes those that have no other replica, as with Kafka's directory ids (KIP-858): starting anew at
/// offset 0 would hide the loss from consumers.
pub(super) fn register(
    image: &mut Image,
    id: BrokerId,
    (incarnation, previous_epoch): (Uuid, Option<i64>),
    rack: Option<String>,
    endpoints: Vec<Endpoint>,
    levels: Levels,
) -> Result<Reply, Refusal> {
    if let Some(known) = image.brokers.get(&id)
        && known.incarnation != incarnation
        && !known.fenced
    {
        return Err(Refusal::InUse(format!(
            "broker id {id} is in use by a live broker with another data directory"
        )));
    }
    let departed = image.departed.remove(&id);
    let known = image.brokers.get(&id);
    let ended_in_order =
        image.keeps_eligible() && known.is_some_and(|known| previous_epoch == Some(known.epoch));
    let known = known.map(|known| known.incarnation);
    let replaced = known.or(departed).is_some_and(|known| known != incarnation);
    let epoch = image.next_broker_epoch;
    image.next_broker_epoch += 1;
    image.brokers.insert(
        id,
        Arc::new(Broker {
            id,
            epoch,
            incarnation,
            rack: rack.map(Arc::from),
            endpoints,
            fenced: true,
            in_controlled_shutdown: false,
            levels,
        }),
    );
    partition::disown(
        image,
        id,
        match (replaced, ended_in_order) {
            (true, _) => Keeps::Nothing,
            (false, true) => Keeps::All,
            (false, false) => Keeps::WhatIsOnDisk,
        },
    );
    Ok(Reply::Registered { epoch })
}

pub(super) fn fence(image: &mut Image, id: BrokerId, epoch: i64) -> Result<Reply, Refusal> {
    change(image, id, epoch, |broker| broker.fenced = true)?;
    partition::withdraw(image, id);
    Ok(Reply::Done)
}

pub(super) fn unfence(image: &mut Image, id: BrokerId, epoch: i64) -> Result<Reply, Refusal> {
    change(image, id, epoch, |broker| broker.fenced = false)?;
    partition::elect_for_leaderless(image);
    Ok(Reply::Done)
}

/// Leaderships move away and the broker leaves every ISR that has other members, so that its stop
/// is no failure.
pub(super) fn drain(image: &mut Image, id: BrokerId, epoch: i64) -> Result<Reply, Refusal> {
    change(image, id, epoch, |broker| {
        broker.in_controlled_shutdown = true;
    })?;
    partition::withdraw(image, id);
    Ok(Reply::Done)
}

pub(super) fn cancel_drain(image: &mut Image, id: BrokerId) -> Result<Reply, Refusal> {
    let epoch = image.brokers.get(&id).map_or(-1, |broker| broker.epoch);
    change(image, id, epoch, |broker| {
        broker.in_controlled_shutdown = false;
    })?;
    partition::elect_for_leaderless(image);
    Ok(Reply::Done)
}

/// Forgets the broker: it leads nothing and is in no ISR that has another member. Partitions keep it as
/// a replica until they are moved, and should it register again, its disk is told from another one.
/// As in Kafka nothing asks whether it runs.
pub(super) fn unregister(image: &mut Image, id: BrokerId) -> Result<Reply, Refusal> {
    let broker = image.brokers.remove(&id);
    let incarnation = broker.ok_or(Refusal::BrokerNotRegistered(id))?.incarnation;
    partition::withdraw(image, id);
    let partitions = image.topics.values().flat_map(|topic| &topic.partitions);
    let mut replicas = partitions.flat_map(|partition| &partition.replicas);
    if replicas.any(|replica| *replica == id) {
        image.departed.insert(id, incarnation);
    }
    Ok(Reply::Done)
}

fn change(
    image: &mut Image,
    id: BrokerId,
    epoch: i64,
    change: impl FnOnce(&mut Broker),
) -> Result<(), Refusal> {
    let broker = image
        .brokers
        .get_mut(&id)
        .filter(|broker| broker.epoch == epoch)
        .ok_or(Refusal::StaleBrokerEpoch)?;
    change(Arc::make_mut(broker));
    Ok(())
}

impl Image {
    /// Whether a broker may lead partitions and join an ISR.
    pub fn is_active(&self, id: BrokerId) -> bool {
        self.brokers
            .get(&id)
            .is_some_and(|broker| !broker.fenced && !broker.in_controlled_shutdown)
    }
}
