//! Lag of groups and growth of dead-letter topics, computed when `/metrics` is read: a series ends with
//! the group, the topic or the leadership it is about.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use api::metric;
use machine::metadata::image::{ConfigResource, Image};
use model::TopicPartition;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{Coordinators, Inner, Report};
use crate::partition::Role;
use crate::telemetry::Telemetry;

/// Topic config that makes a topic a dead-letter topic whatever its name.
const DEAD_LETTER_CONFIG: &str = "millrace.dead.letter";
/// Endings by which people name theirs.
const DEAD_LETTER_SUFFIXES: [&str; 6] = [".dlq", "-dlq", "_dlq", ".DLQ", "-DLQ", ".dead-letter"];

pub(super) fn register(telemetry: &Telemetry, coordinators: &Coordinators) {
    let groups = Groups(Arc::downgrade(&coordinators.0));
    let dead_letters = DeadLetters(Arc::downgrade(&coordinators.0));
    telemetry.register("group", |registry| {
        registry.register_collector(Box::new(groups))
    });
    telemetry.register("dead_letter", |registry| {
        registry.register_collector(Box::new(dead_letters));
    });
}

#[derive(Debug)]
struct Groups(Weak<Inner>);

#[derive(Debug)]
struct DeadLetters(Weak<Inner>);

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coordinators").finish_non_exhaustive()
    }
}

impl Collector for Groups {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        match self.0.upgrade() {
            Some(inner) => encode_groups(&inner.report.borrow().clone(), encoder),
            None => Ok(()),
        }
    }
}

impl Collector for DeadLetters {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        match self.0.upgrade() {
            Some(inner) => encode_dead_letters(&inner.dead_letters(), encoder),
            None => Ok(()),
        }
    }
}

impl Inner {
    /// Log ends of the dead-letter partitions led here.
    fn dead_letters(&self) -> Vec<DeadLettered> {
        let image = self.metadata.image();
        let mut found = Vec::new();
        for topic in image
            .topics
            .values()
            .filter(|t| is_dead_letter(&image, &t.name))
        {
            for (partition, _) in (0..).zip(&topic.partitions) {
                let place = TopicPartition {
                    topic: topic.id,
                    partition,
                };
                let status = self.roster.get(place).map(|handle| handle.status());
                if let Some(status) = status.filter(|s| s.role == Role::Leader) {
                    found.push(DeadLettered {
                        topic: Arc::clone(&topic.name),
                        partition,
                        records: u64::try_from(status.log_end.0).unwrap_or(0),
                    });
                }
            }
        }
        found
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct DeadLettered {
    topic: Arc<str>,
    partition: i32,
    /// Records ever appended: the offset of the next one.
    records: u64,
}

fn is_dead_letter(image: &Image, topic: &Arc<str>) -> bool {
    let declared = image
        .configs
        .get(&ConfigResource::Topic(Arc::clone(topic)))
        .and_then(|configs| configs.get(DEAD_LETTER_CONFIG));
    match declared {
        Some(value) => &**value == "true",
        None => DEAD_LETTER_SUFFIXES
            .iter()
            .any(|suffix| topic.ends_with(suffix)),
    }
}

fn encode_groups(report: &Report, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
    let every = || {
        report
            .groups
            .iter()
            .flat_map(|g| g.partitions.iter().map(move |p| (&*g.summary.id, p)))
    };
    let records = every().filter_map(|(group, p)| {
        let labels = [
            ("group", group.to_owned()),
            ("topic", p.topic.clone()),
            ("partition", p.partition.to_string()),
        ];
        Some((labels, p.lag_records?))
    });
    let help = "Records that the group has not committed yet";
    gauges(&mut encoder, metric::GROUP_LAG_RECORDS, help, records)?;
    let seconds = every().filter_map(|(group, p)| {
        let labels = [
            ("group", group.to_owned()),
            ("topic", p.topic.clone()),
            ("partition", p.partition.to_string()),
        ];
        Some((labels, p.lag_seconds?))
    });
    let help = "Age of the first record that the group has not committed";
    gauges(&mut encoder, metric::GROUP_LAG_SECONDS, help, seconds)?;
    let worst = worst_by_topic(report)
        .into_iter()
        .map(|((group, topic), seconds)| {
            (
                [("group", group.to_owned()), ("topic", topic.to_owned())],
                seconds,
            )
        });
    let help = "Age of the first record that the group has not committed, on its worst partition";
    gauges(&mut encoder, metric::GROUP_LAG_SECONDS_MAX, help, worst)?;
    let uncommitted = report.groups.iter().map(|g| {
        let count = i64::try_from(g.uncommitted().len()).unwrap_or(i64::MAX);
        ([("group", g.summary.id.clone())], count)
    });
    let help = "Partitions read by members of the group on which it has committed nothing";
    let name = metric::GROUP_PARTITIONS_UNCOMMITTED;
    gauges(&mut encoder, name, help, uncommitted)?;
    let members = report.groups.iter().map(|g| {
        let members = i64::try_from(g.summary.members).unwrap_or(i64::MAX);
        ([("group", g.summary.id.clone())], members)
    });
    gauges(
        &mut encoder,
        metric::GROUP_MEMBERS,
        "Members of the group",
        members,
    )
}

fn worst_by_topic(report: &Report) -> BTreeMap<(&str, &str), f64> {
    let mut worst = BTreeMap::new();
    for group in &report.groups {
        for partition in &group.partitions {
            let Some(seconds) = partition.lag_seconds else {
                continue;
            };
            let key = (&*group.summary.id, &*partition.topic);
            let most = worst.entry(key).or_insert(seconds);
            *most = seconds.max(*most);
        }
    }
    worst
}

fn encode_dead_letters(
    found: &[DeadLettered],
    mut encoder: DescriptorEncoder<'_>,
) -> std::fmt::Result {
    if found.is_empty() {
        return Ok(());
    }
    let name = within(metric::DEAD_LETTER_TOPIC_RECORDS, "millrace_dead_letter_");
    let help = "Records appended to a dead-letter topic";
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for dead in found {
        let labels = [
            ("topic", dead.topic.to_string()),
            ("partition", dead.partition.to_string()),
        ];
        ConstCounter::new(dead.records).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn gauges<N, const LABELS: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = ([(&'static str, String); LABELS], N)>,
) -> std::fmt::Result
where
    ConstGauge<N>: EncodeMetric,
{
    let mut series = series.peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    let name = within(name, "millrace_group_");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in series {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

/// The registry puts the prefix in front again.
fn within<'a>(name: &'a str, prefix: &str) -> &'a str {
    name.strip_prefix(prefix).unwrap_or(name)
}
