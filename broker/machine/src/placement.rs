//! Where replicas go: over racks first, then over brokers, leaders evenly. Semantics of Kafka's
//! rack-aware striped placement; deterministic, since every broker computes it from the log.

use model::BrokerId;

use crate::metadata::image::{Image, Shard};

/// Fewer brokers than replicas asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewBrokers {
    pub active: usize,
    pub registered: usize,
}

struct Candidate {
    id: BrokerId,
    rack: usize,
    active: bool,
}

/// Replicas of `partitions` new partitions. The first of each is active; fenced brokers follow only
/// where there are too few active ones.
pub fn spread(
    image: &Image,
    partitions: usize,
    replication_factor: usize,
) -> Result<Vec<Vec<BrokerId>>, TooFewBrokers> {
    let candidates = striped(image);
    let active: Vec<_> = candidates.iter().filter(|c| c.active).collect();
    if active.is_empty() || candidates.len() < replication_factor {
        return Err(TooFewBrokers {
            active: active.len(),
            registered: candidates.len(),
        });
    }
    let first = least_leading(image, &active);
    let placed = (0..partitions)
        .map(|p| {
            // Each round over the leaders shifts the followers, so that one broker's loss is shared.
            let leader = active[(first + p) % active.len()];
            replicas(&candidates, leader, p / active.len(), replication_factor)
        })
        .collect();
    Ok(placed)
}

/// Members of `count` new queue shards, as many as there are brokers up to `replicas`, leaders spread.
pub fn shards(image: &Image, count: u32, replicas_max: usize) -> Vec<Shard> {
    let factor = replicas_max.min(image.brokers.len());
    let Ok(placed) = spread(image, count as usize, factor) else {
        return Vec::new();
    };
    (0..count)
        .zip(placed)
        .filter_map(|(id, members)| {
            let preferred = *members.first()?;
            let incarnation = |id: &BrokerId| Some(image.brokers.get(id)?.incarnation);
            let directories = members.iter().filter_map(incarnation).collect();
            Some(Shard {
                id: model::ShardId(id),
                members,
                preferred,
                directories,
            })
        })
        .collect()
}

/// Brokers, neighbours in different racks: the first of each rack, then the second of each, and so on.
fn striped(image: &Image) -> Vec<Candidate> {
    let mut racks: Vec<(Option<&str>, Vec<BrokerId>)> = Vec::new();
    for (id, broker) in &image.brokers {
        let rack = broker.rack.as_deref();
        match racks.iter_mut().find(|(name, _)| *name == rack) {
            Some((_, members)) => members.push(*id),
            None => racks.push((rack, vec![*id])),
        }
    }
    racks.sort();
    let longest = racks.iter().map(|(_, m)| m.len()).max().unwrap_or(0);
    (0..longest)
        .flat_map(|row| {
            racks
                .iter()
                .enumerate()
                .filter_map(move |(rack, (_, members))| Some((rack, *members.get(row)?)))
        })
        .map(|(rack, id)| Candidate {
            id,
            rack,
            active: image.is_active(id),
        })
        .collect()
}

/// Position of the active broker that is preferred leader of the fewest partitions.
fn least_leading(image: &Image, active: &[&Candidate]) -> usize {
    let leading = |id: BrokerId| {
        image
            .topics
            .values()
            .flat_map(|topic| &topic.partitions)
            .filter(|partition| partition.replicas.first() == Some(&id))
            .count()
    };
    (0..active.len())
        .min_by_key(|i| leading(active[*i].id))
        .unwrap_or(0)
}

fn replicas(
    candidates: &[Candidate],
    leader: &Candidate,
    shift: usize,
    replication_factor: usize,
) -> Vec<BrokerId> {
    let n = candidates.len();
    let at = candidates
        .iter()
        .position(|c| c.id == leader.id)
        .unwrap_or(0);
    let mut others: Vec<_> = (1..n)
        .map(|step| &candidates[(at + 1 + (step - 1 + shift) % (n - 1)) % n])
        .collect();
    let mut chosen = vec![leader];
    while chosen.len() < replication_factor && !others.is_empty() {
        let used = |rack: usize| chosen.iter().filter(|c| c.rack == rack).count();
        let next = (0..others.len())
            .min_by_key(|i| (!others[*i].active, used(others[*i].rack)))
            .unwrap_or(0);
        chosen.push(others.remove(next));
    }
    chosen.into_iter().map(|c| c.id).collect()
}
