//! Asking the cluster for another in-sync set (KIP-497).
//!
//! A leader counts the members it proposed until it knows that the set was not taken. So an outcome
//! that is unknown is never told as a refusal: the proposal is made again until the cluster has
//! answered or the image has moved past the version it was made for.

#[cfg(test)]
mod tests;

use std::time::Duration;

use machine::metadata::{
    command::{Command, Refusal, Reply},
    image::{Image, Partition},
};
use model::{BrokerId, Epoch, TopicPartition};
use tokio::{runtime, time::sleep};

use super::driver::{Job, Mailbox};
use crate::metadata::{self, Unavailable};

/// Pause before a proposal whose outcome is unknown is made again.
const AGAIN: Duration = Duration::from_millis(250);

/// Submits proposals of this broker's leaders.
pub(super) struct Proposals {
    pub this: BrokerId,
    pub metadata: metadata::Handle,
    pub runtime: runtime::Handle,
}

/// What an answer of the quorum says of a proposal.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The image has a later version, agreed on or made otherwise: it reaches the leader by itself.
    Settled,
    /// Not taken.
    Refused(String),
    /// It may be carried out or not.
    Unknown,
}

impl Proposals {
    /// Asks for `in_sync`. When it is agreed on, the image says so; when not, the driver is told.
    pub(super) fn submit(
        &self,
        mailbox: Mailbox,
        partition: TopicPartition,
        in_sync: Vec<BrokerId>,
        leader_epoch: Epoch,
        partition_epoch: i32,
    ) {
        let (this, metadata) = (self.this, self.metadata.clone());
        self.runtime.spawn(async move {
            let refuse = |why: &str| {
                tracing::debug!(%partition, why, "in-sync set was refused");
                mailbox.send(Job::ProposalRefused {
                    partition,
                    partition_epoch,
                });
            };
            if !is_eligible(&metadata.image(), partition, &in_sync) {
                return refuse("a replica is fenced or draining");
            }
            let mut isr = in_sync;
            // An earlier attempt may be carried out yet.
            let mut unsure = false;
            loop {
                let command = Command::AlterPartition {
                    topic: partition.topic,
                    partition: partition.partition,
                    leader: this,
                    leader_epoch,
                    partition_epoch,
                    isr: isr.clone(),
                };
                match verdict(metadata.submit(command).await) {
                    Verdict::Settled => {
                        tracing::info!(%partition, ?isr, "in-sync set proposed and answered");
                        return;
                    }
                    Verdict::Refused(why) if !unsure => return refuse(&why),
                    Verdict::Refused(_) => {
                        // Agreeing on what is agreed on already makes the earlier attempt stale.
                        match find(&metadata.image(), partition) {
                            Some(agreed) => isr.clone_from(&agreed.isr),
                            None => return,
                        }
                    }
                    Verdict::Unknown => unsure = true,
                }
                match find(&metadata.image(), partition) {
                    Some(agreed) if agreed.partition_epoch <= partition_epoch => {}
                    // Past it, or gone.
                    _ => return,
                }
                sleep(AGAIN).await;
                if mailbox.is_closed() {
                    return;
                }
            }
        });
    }

    /// Asks the cluster to do without this replica. When it does, the image says so; when not, the
    /// driver is told. Asking twice does no harm, so an unknown outcome counts as not.
    pub(super) fn resign(&self, mailbox: Mailbox, partition: TopicPartition, partition_epoch: i32) {
        let (replica, metadata) = (self.this, self.metadata.clone());
        self.runtime.spawn(async move {
            let command = Command::ResignReplica {
                topic: partition.topic,
                partition: partition.partition,
                replica,
                partition_epoch,
            };
            let answer = metadata.submit(command).await;
            match verdict(answer) {
                Verdict::Settled => {
                    tracing::info!(%partition, "resignation from the in-sync set answered");
                    return;
                }
                Verdict::Refused(why) => {
                    tracing::debug!(%partition, why, "cannot leave the in-sync set");
                }
                Verdict::Unknown => {}
            }
            mailbox.send(Job::ResignationRefused {
                partition,
                partition_epoch,
            });
        });
    }
}

fn verdict(answer: Result<Reply, Unavailable>) -> Verdict {
    match answer {
        // The quorum may have carried out the same proposal before, when its answer was lost.
        Ok(Reply::Refused(Refusal::StalePartitionEpoch | Refusal::FencedLeaderEpoch)) => {
            Verdict::Settled
        }
        Ok(Reply::Refused(refusal)) => Verdict::Refused(refusal.to_string()),
        Ok(_) => Verdict::Settled,
        Err(Unavailable) => Verdict::Unknown,
    }
}

fn find(image: &Image, partition: TopicPartition) -> Option<&Partition> {
    let number = usize::try_from(partition.partition).ok()?;
    let topic = image.topics.get(&partition.topic)?;
    topic.partitions.get(number).map(AsRef::as_ref)
}

/// Members may stay as they are; whoever joins must be alive and staying. The quorum checks the same:
/// looking here first keeps what is known to be refused off its log.
fn is_eligible(image: &Image, partition: TopicPartition, in_sync: &[BrokerId]) -> bool {
    let Some(current) = find(image, partition) else {
        return false;
    };
    in_sync
        .iter()
        .filter(|b| !current.isr.contains(b))
        .all(|b| {
            image
                .brokers
                .get(b)
                .is_some_and(|b| !b.fenced && !b.in_controlled_shutdown)
        })
}
