//! Asking the cluster for another in-sync set (KIP-497).

use machine::metadata::{
    command::{Command, Reply},
    image::Image,
};
use model::{BrokerId, Epoch, TopicPartition};
use tokio::runtime;

use super::driver::{Job, Mailbox};
use crate::metadata;

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
            let refused = if is_eligible(&metadata.image(), partition, &in_sync) {
                let command = Command::AlterPartition {
                    topic: partition.topic,
                    partition: partition.partition,
                    leader: this,
                    leader_epoch,
                    partition_epoch,
                    isr: in_sync.clone(),
                };
                match metadata.submit(command).await {
                    Ok(Reply::Refused(refusal)) => Some(refusal.to_string()),
                    Ok(_) => None,
                    Err(unavailable) => Some(unavailable.to_string()),
                }
            } else {
                Some("a replica is fenced or draining".into())
            };
            match refused {
                None => tracing::info!(%partition, isr = ?in_sync, "in-sync set changed"),
                Some(why) => {
                    tracing::debug!(%partition, isr = ?in_sync, why, "in-sync set was refused");
                    mailbox.send(Job::ProposalRefused { partition });
                }
            }
        });
    }
}

/// Members may stay as they are; whoever joins must be alive and staying. The quorum checks the same:
/// looking here first keeps what is known to be refused off its log.
fn is_eligible(image: &Image, partition: TopicPartition, in_sync: &[BrokerId]) -> bool {
    let current = image
        .topics
        .get(&partition.topic)
        .and_then(|t| t.partitions.get(usize::try_from(partition.partition).ok()?));
    let Some(current) = current else { return false };
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
