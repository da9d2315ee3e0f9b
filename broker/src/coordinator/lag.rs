//! How far groups are behind: in records, and in seconds since the first record that they have not
//! committed was written.
//!
//! Measured every interval for the groups coordinated here. The ends of the logs and the times of
//! records come from the partitions' leaders, one question per broker. A partition that a group never
//! committed on, or whose leader does not answer, has no lag rather than a lag of zero.

mod membership;
mod position;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use api::admin::{Group, GroupPartition, GroupSummary};
use machine::group::{Description, GroupId, State};
use machine::metadata::image::Image;
use model::{BrokerId, Offset, TopicId, TopicPartition};

use super::clock::wall_ms;
use super::{Inner, ask, remote};

pub(super) use position::{
    Ask, Position, Positions, get_asks, get_positions, put_asks, put_positions,
};

/// Standing of the groups coordinated here at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub groups: Vec<Group>,
}

/// A group as its shard knows it.
#[derive(Clone, Debug)]
struct Standing {
    id: GroupId,
    description: Description,
    offsets: Vec<Committed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Committed {
    topic: Arc<str>,
    topic_id: TopicId,
    partition: i32,
    offset: i64,
}

/// Measures until the coordinators are dropped.
pub(super) async fn monitor(coordinators: Weak<Inner>) {
    let Some(inner) = coordinators.upgrade() else {
        return;
    };
    let mut ticks = tokio::time::interval(inner.config.lag_every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    drop(inner);
    loop {
        ticks.tick().await;
        let Some(inner) = coordinators.upgrade() else {
            return;
        };
        let report = measure(&inner).await;
        inner.report.send_replace(Arc::new(report));
    }
}

async fn measure(inner: &Inner) -> Report {
    let standings = standings(inner).await;
    let image = inner.metadata.image();
    let asks = by_leader(&standings, &image);
    let answers = asks.into_iter().map(|(leader, asks)| async move {
        let positions = remote::positions(&inner.mesh, leader, &asks).await;
        asks.into_iter().zip(positions.unwrap_or_default())
    });
    let positions: HashMap<Ask, Position> = futures::future::join_all(answers)
        .await
        .into_iter()
        .flatten()
        .filter_map(|(ask, position)| Some((ask, position?)))
        .collect();
    let this = inner.metadata.this_broker();
    let now_ms = wall_ms();
    let groups = standings
        .into_iter()
        .map(|standing| assess(standing, &image, &positions, this, now_ms))
        .collect();
    Report { groups }
}

async fn standings(inner: &Inner) -> Vec<Standing> {
    let mailboxes: Vec<_> = inner
        .shards
        .read()
        .values()
        .filter_map(|slot| slot.mailbox().ok())
        .collect();
    let mut standings = Vec::new();
    for mailbox in mailboxes {
        // A shard that ends now is measured by its successor.
        if let Ok(mut found) = ask(&mailbox, look).await {
            standings.append(&mut found);
        }
    }
    standings
}

fn look(state: &State) -> Vec<Standing> {
    let offsets = |group: &GroupId| {
        state
            .offsets(group)
            .map(|(topic, partition, committed)| Committed {
                topic: Arc::clone(topic),
                topic_id: committed.topic_id,
                partition,
                offset: committed.offset,
            })
            .collect()
    };
    state
        .groups()
        .filter_map(|id| {
            Some(Standing {
                id: id.clone(),
                description: state.describe(id)?,
                offsets: offsets(id),
            })
        })
        .collect()
}

/// One question for each offset that somebody committed, for the broker that can answer it.
fn by_leader(standings: &[Standing], image: &Image) -> BTreeMap<BrokerId, Vec<Ask>> {
    let mut asks: BTreeMap<BrokerId, BTreeSet<Ask>> = BTreeMap::new();
    for committed in standings.iter().flat_map(|s| &s.offsets) {
        if let Some(ask) = question(committed, image)
            && let Some(leader) = leader(ask.place, image)
        {
            asks.entry(leader).or_default().insert(ask);
        }
    }
    asks.into_iter()
        .map(|(leader, asks)| (leader, asks.into_iter().collect()))
        .collect()
}

fn question(committed: &Committed, image: &Image) -> Option<Ask> {
    let topic = *image.topic_names.get(&committed.topic)?;
    let of_an_earlier_topic =
        committed.topic_id != TopicId::default() && committed.topic_id != topic;
    if of_an_earlier_topic {
        return None;
    }
    Some(Ask {
        place: TopicPartition {
            topic,
            partition: committed.partition,
        },
        offset: Offset(committed.offset),
    })
}

fn leader(place: TopicPartition, image: &Image) -> Option<BrokerId> {
    let topic = image.topics.get(&place.topic)?;
    let index = usize::try_from(place.partition).ok()?;
    topic.partitions.get(index)?.leader
}

fn assess(
    standing: Standing,
    image: &Image,
    positions: &HashMap<Ask, Position>,
    this: BrokerId,
    now_ms: i64,
) -> Group {
    let partitions: Vec<GroupPartition> = standing
        .offsets
        .iter()
        .filter_map(|committed| {
            let ask = question(committed, image)?;
            let position = positions.get(&ask).copied();
            Some(partition(committed, position, now_ms))
        })
        .collect();
    let description = standing.description;
    let lag_seconds = partitions
        .iter()
        .filter_map(|p| p.lag_seconds)
        .reduce(f64::max);
    Group {
        summary: GroupSummary {
            id: standing.id.to_string(),
            state: description.condition.name().to_owned(),
            protocol_type: description.protocol_type.to_string(),
            members: description.members.len(),
            lag_records: partitions.iter().filter_map(|p| p.lag_records).sum(),
            lag_seconds,
        },
        coordinator: this.0,
        protocol: description.protocol.to_string(),
        membership: membership::of(&description),
        partitions,
    }
}

fn partition(committed: &Committed, position: Option<Position>, now_ms: i64) -> GroupPartition {
    GroupPartition {
        topic: committed.topic.to_string(),
        partition: committed.partition,
        committed: committed.offset,
        end: position.map(|p| p.end.0),
        lag_records: position.map(|p| records_behind(committed.offset, p)),
        lag_seconds: position.and_then(|p| seconds_behind(committed.offset, p, now_ms)),
    }
}

/// A commit beyond the end (after an unclean election, or by hand) is not a negative lag.
fn records_behind(committed: i64, position: Position) -> i64 {
    position.end.0.saturating_sub(committed).max(0)
}

/// `None` when the first record that is behind has no time of its own.
fn seconds_behind(committed: i64, position: Position, now_ms: i64) -> Option<f64> {
    if records_behind(committed, position) == 0 {
        return Some(0.0);
    }
    let age_ms = now_ms.saturating_sub(position.written_ms?).max(0);
    #[allow(clippy::cast_precision_loss, reason = "ages are far below 2^52 ms")]
    Some(age_ms as f64 / 1000.0)
}
