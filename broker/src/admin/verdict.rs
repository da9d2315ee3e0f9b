//! May a broker stop now? A pure function of the metadata image.
//!
//! Rules after Strimzi's KafkaRoller and Redpanda's restart probes: a partition forbids the stop when
//! its ISR without the broker would be too small, unless its replication factor never allows one
//! broker to be down; a Raft group forbids it when the members that would be left are no majority.

use std::collections::BTreeSet;

use api::admin::{PartitionName, QuorumGroup, Verdict};
use machine::metadata::image::{Image, Partition};
use model::BrokerId;

#[cfg(test)]
mod tests;

/// What is asked, and of what.
pub struct Question<'a> {
    pub image: &'a Image,
    /// Voters of the metadata group.
    pub voters: &'a [BrokerId],
    /// Effective `min.insync.replicas` of a topic.
    pub min_insync: &'a dyn Fn(&str) -> usize,
    pub broker: BrokerId,
}

/// What stopping the broker would do.
pub fn judge(question: &Question<'_>) -> Verdict {
    let Question { image, broker, .. } = *question;
    let mut verdict = Verdict {
        broker: broker.0,
        index: image.index,
        ..Verdict::default()
    };
    for topic in image.topics.values() {
        let min_insync = (question.min_insync)(&topic.name);
        for (number, partition) in (0..).zip(&topic.partitions) {
            if partition.replicas.contains(&broker) {
                let name = PartitionName {
                    topic: topic.name.to_string(),
                    partition: number,
                };
                weigh(&mut verdict, partition, name, broker, min_insync);
            }
        }
    }
    let shards = image.shards.values();
    let shards = shards.map(|s| (QuorumGroup::Shard(s.id.0), s.members.as_slice()));
    let groups = [(QuorumGroup::Metadata, question.voters)];
    for (group, members) in groups.into_iter().chain(shards) {
        if !members.contains(&broker) || keeps_majority(image, members, broker) {
            continue;
        }
        if members.len() <= 2 {
            verdict.tolerated_groups.push(group);
        } else {
            verdict.quorum_critical.push(group);
        }
    }
    sort(&mut verdict);
    verdict.may_stop = verdict.would_block_writes.is_empty()
        && verdict.would_go_offline.is_empty()
        && verdict.quorum_critical.is_empty();
    verdict
}

fn weigh(
    verdict: &mut Verdict,
    partition: &Partition,
    name: PartitionName,
    broker: BrokerId,
    min_insync: usize,
) {
    let left = partition.isr.iter().filter(|b| **b != broker).count();
    if partition.leader == Some(broker) && left > 0 {
        verdict.would_lose_acks.push(name.clone());
    }
    if partition.replicas.len() <= min_insync || partition.replicas.len() == 1 {
        verdict.tolerated.push(name);
    } else if left == 0 {
        verdict.would_go_offline.push(name);
    } else if left < min_insync {
        verdict.would_block_writes.push(name);
    }
}

fn keeps_majority(image: &Image, members: &[BrokerId], broker: BrokerId) -> bool {
    let left = members
        .iter()
        .filter(|b| **b != broker && image.is_active(**b))
        .collect::<BTreeSet<_>>()
        .len();
    left > members.len() / 2
}

fn sort(verdict: &mut Verdict) {
    verdict.would_lose_acks.sort();
    verdict.would_block_writes.sort();
    verdict.would_go_offline.sort();
    verdict.tolerated.sort();
    verdict.quorum_critical.sort();
    verdict.tolerated_groups.sort();
}
