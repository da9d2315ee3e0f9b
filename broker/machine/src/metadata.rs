//! The cluster's metadata: brokers, topics and partitions, configs, exchanges, queues, bindings.
//!
//! One Raft group carries [`command::Command`]s; every broker applies them in order to its
//! [`image::Image`] and publishes the result. `apply` is deterministic: time comes with the entry.
//! A command is refused as a whole or carried out as a whole, but for the one that moves many
//! partitions.
//!
//! The log holds commands and not their effects, so a rule here may only change together with a
//! version in the command: all brokers must come to the same image from the same log.

mod broker;
pub mod command;
mod config;
mod eligible;
pub mod feature;
pub mod image;
mod partition;
pub mod quota;
mod reassignment;
mod restart;
pub mod submission;
mod topic;
pub mod topology;

#[cfg(test)]
mod tests;

pub use topic::check_name as check_topic_name;

use command::{Command, Refusal, Reply};
use image::{Image, Origin};

/// Producer ids handed out at a time (KIP-730).
pub const PRODUCER_ID_BLOCK: i32 = 1000;

impl Image {
    /// The image before the first entry: no broker, no topic, the virtual host `/`.
    pub fn genesis() -> Self {
        let mut image = Self::default();
        topology::create_vhost(&mut image, "/");
        image
    }

    /// Carries out `command` as entry `index` of the log, or refuses it and changes nothing but the
    /// index. `now_ms` is the leader's clock, never going back along the log.
    pub fn apply(&mut self, command: Command, now_ms: i64, index: u64) -> Reply {
        self.index = index;
        self.carry_out(command, now_ms)
            .unwrap_or_else(Reply::Refused)
    }

    /// Whether this image has come to the declaration of the queue with that id. If it has and does not
    /// hold the queue, the queue was deleted; if it has not, the image says nothing about it. Ids are
    /// given in order and never twice; they are no indexes of the log.
    pub fn has_declared(&self, queue_id: u64) -> bool {
        queue_id < self.next_queue_id
    }

    fn carry_out(&mut self, command: Command, now_ms: i64) -> Result<Reply, Refusal> {
        match command {
            Command::RegisterBroker {
                id,
                incarnation,
                rack,
                endpoints,
                previous_epoch,
                levels,
            } => {
                feature::check(self, id, levels)?;
                let life = (incarnation, previous_epoch);
                let is_first = self.next_broker_epoch == 0;
                let reply = broker::register(self, id, life, rack, endpoints, levels)?;
                if is_first {
                    let at_ms = now_ms;
                    self.origin = Some(Origin { incarnation, at_ms });
                }
                Ok(reply)
            }
            Command::FenceBroker { id, epoch } => broker::fence(self, id, epoch),
            Command::UnfenceBroker { id, epoch } => broker::unfence(self, id, epoch),
            Command::DrainBroker { id, epoch } => broker::drain(self, id, epoch),
            Command::CancelDrain { id } => broker::cancel_drain(self, id),
            Command::CreateTopic {
                name,
                id,
                assignment,
                configs,
            } => topic::create(self, &name, id, assignment, configs),
            Command::DeleteTopic { id } => topic::delete(self, id),
            Command::CreatePartitions {
                topic,
                count,
                assignments,
            } => topic::create_partitions(self, topic, count, assignments),
            Command::AlterConfigs { resource, changes } => config::alter(self, resource, changes),
            Command::AlterPartition {
                topic,
                partition,
                leader,
                leader_epoch,
                partition_epoch,
                isr,
            } => partition::alter(
                self,
                (topic, partition),
                (leader, leader_epoch),
                partition_epoch,
                isr,
            ),
            Command::ResignReplica {
                topic,
                partition,
                replica,
                partition_epoch,
            } => partition::resign(self, (topic, partition), replica, partition_epoch),
            Command::ElectPreferred { partitions } => partition::elect_preferred(self, partitions),
            Command::ElectUnclean { partitions } => partition::elect_unclean(self, partitions),
            Command::AllocateProducerIds { .. } => {
                let first = self.next_producer_id;
                self.next_producer_id += i64::from(PRODUCER_ID_BLOCK);
                Ok(Reply::ProducerIds {
                    first,
                    len: PRODUCER_ID_BLOCK,
                })
            }
            Command::GrantRestartPermit {
                broker,
                holder,
                token,
                ttl_ms,
            } => restart::grant(self, broker, &holder, token, ttl_ms, now_ms),
            Command::ReleaseRestartPermit { token } => restart::release(self, token),
            Command::AlterQuotas { entity, changes } => Ok(quota::alter(self, entity, changes)),
            Command::AdoptUncleanDefault { enabled } => partition::adopt_default(self, enabled),
            Command::ReassignPartitions {
                partitions,
                allow_factor_change,
            } => Ok(reassignment::reassign(
                self,
                partitions,
                allow_factor_change,
            )),
            Command::UnregisterBroker { id } => broker::unregister(self, id),
            Command::AdoptInSyncDefault { min } => eligible::adopt_default(self, min),
            Command::FinalizeLevel {
                level,
                registrations,
            } => feature::finalize(self, level, &registrations),
            command => topology::carry_out(self, command),
        }
    }
}
