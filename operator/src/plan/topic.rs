//! Topics: create, grow, set configs.

use std::collections::BTreeMap;

use api::admin;
use crds::topic::TopicSpec;

use super::Refusal;

#[cfg(test)]
mod tests;

/// What the cluster is, as far as topics care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Registered brokers, dead ones included: a topic may be created while one restarts.
    pub brokers: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    Nothing,
    Create(admin::TopicSpec),
    Alter {
        spec: admin::TopicSpec,
        /// Old and new number of partitions, where it changes: keys move from there on.
        grows: Option<(usize, i32)>,
        /// Configs to change, as `key: have -> want`.
        changes: Vec<String>,
    },
}

/// `managed_before` names the configs that this resource has set earlier; those that left the spec
/// go back to their defaults. Configs that the spec never named are somebody else's.
///
/// # Errors
/// A replication factor above the number of brokers or other than the topic has, fewer partitions
/// than the topic has, `minInSync` above the topic's replicas.
pub fn plan(
    spec: &TopicSpec,
    observed: Option<&admin::Topic>,
    facts: &Facts,
    managed_before: &[String],
) -> Result<Plan, Refusal> {
    let configs = spec.configs();
    let Some(topic) = observed else {
        fits_the_cluster(spec, facts)?;
        return Ok(Plan::Create(admin::TopicSpec {
            partitions: spec.partitions,
            replication_factor: replication_factor(spec),
            configs: configs.into_iter().map(|(k, v)| (k, Some(v))).collect(),
        }));
    };
    replicas_stay(spec, topic, facts)?;
    let grows = grows(spec, topic)?;
    let mut changed: BTreeMap<String, Option<String>> = managed_before
        .iter()
        .filter(|key| !configs.contains_key(*key) && topic.configs.contains_key(*key))
        .map(|key| (key.clone(), None))
        .collect();
    changed.extend(
        configs
            .into_iter()
            .filter(|(key, want)| topic.configs.get(key) != Some(want))
            .map(|(key, want)| (key, Some(want))),
    );
    if grows.is_none() && changed.is_empty() {
        return Ok(Plan::Nothing);
    }
    let changes = changed
        .iter()
        .map(|(key, want)| {
            let have = topic.configs.get(key).map_or("default", String::as_str);
            format!("{key}: {have} -> {}", want.as_deref().unwrap_or("default"))
        })
        .collect();
    Ok(Plan::Alter {
        spec: admin::TopicSpec {
            partitions: grows.map(|(_, to)| to),
            replication_factor: None,
            configs: changed,
        },
        grows,
        changes,
    })
}

fn fits_the_cluster(spec: &TopicSpec, facts: &Facts) -> Result<(), Refusal> {
    match spec.replication_factor {
        Some(rf) if usize::try_from(rf).is_ok_and(|rf| rf > facts.brokers) => Err(Refusal {
            field: "replicationFactor",
            reason: "TooFewBrokers",
            message: format!(
                "{rf} replicas need {rf} brokers, the cluster has {}",
                facts.brokers
            ),
        }),
        _ => Ok(()),
    }
}

fn replicas_stay(spec: &TopicSpec, topic: &admin::Topic, facts: &Facts) -> Result<(), Refusal> {
    let have = topic.replication_factor();
    if let Some(want) = spec.replication_factor
        && usize::try_from(want) != Ok(have)
    {
        fits_the_cluster(spec, facts)?;
        return Err(Refusal {
            field: "replicationFactor",
            reason: "ReplicationFactorFixed",
            message: format!(
                "the topic has {have} replicas of each partition and {want} are asked for; it is \
                 fixed when the topic is created"
            ),
        });
    }
    match spec.min_in_sync {
        Some(min) if usize::try_from(min).is_ok_and(|min| min > have) => Err(Refusal {
            field: "minInSync",
            reason: "TooFewReplicas",
            message: format!(
                "{min} in-sync replicas are asked for, the topic has {have}: every write with \
                 acks=all would fail"
            ),
        }),
        _ => Ok(()),
    }
}

fn grows(spec: &TopicSpec, topic: &admin::Topic) -> Result<Option<(usize, i32)>, Refusal> {
    let have = topic.partitions.len();
    let Some(want) = spec.partitions else {
        return Ok(None);
    };
    match usize::try_from(want).unwrap_or_default() {
        n if n == have => Ok(None),
        n if n > have => Ok(Some((have, want))),
        _ => Err(Refusal {
            field: "partitions",
            reason: "PartitionsShrink",
            message: format!(
                "the topic has {have} partitions and {want} are asked for; partitions cannot \
                 shrink, since the records of a removed one would be lost"
            ),
        }),
    }
}

fn replication_factor(spec: &TopicSpec) -> Option<i16> {
    spec.replication_factor
        .and_then(|rf| i16::try_from(rf).ok())
}
