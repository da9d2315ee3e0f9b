//! Asking the cluster for another in-sync set (KIP-497).
//! What follows from its answers is decided by [`replica::Proposal`].

use std::time::Duration;

use machine::metadata::command::Command;
use model::{BrokerId, Epoch, TopicPartition};
use replica::{Next, Proposal, Verdict};
use tokio::{runtime, time::sleep};

use super::driver::{Job, Mailbox};
use crate::metadata;

/// Pause before a proposal whose outcome is unknown is made again.
const AGAIN: Duration = Duration::from_millis(250);

/// Submits proposals of this broker's leaders.
pub(super) struct Proposals {
    pub this: BrokerId,
    pub metadata: metadata::Handle,
    pub runtime: runtime::Handle,
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
            let mut proposal =
                Proposal::new(partition, this, in_sync, leader_epoch, partition_epoch);
            if !proposal.is_eligible(&metadata.image()) {
                return refuse("a replica is fenced or draining");
            }
            loop {
                let answer = metadata.submit(proposal.command()).await.ok();
                match proposal.answered(Verdict::of(answer), &metadata.image()) {
                    Next::Done => return tracing::info!(%partition, "in-sync set answered"),
                    Next::Refuse(why) => return refuse(&why),
                    Next::Again => sleep(AGAIN).await,
                }
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
            match Verdict::of(answer.ok()) {
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
