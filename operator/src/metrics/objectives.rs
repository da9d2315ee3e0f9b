//! How far behind groups may be, as the alert rules read it: a series for each topic that a ConsumerGroup
//! declares, so that a rule knows which topics count.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

#[cfg(test)]
mod tests;

/// A group of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    pub(crate) namespace: String,
    pub(crate) cluster: String,
    pub(crate) group: String,
}

/// What `spec.slo` of its ConsumerGroup allows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objective {
    pub(crate) topics: Vec<String>,
    pub(crate) lag_seconds: Option<f64>,
    pub(crate) lag_records: Option<i64>,
}

/// All of them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objectives(Arc<Mutex<BTreeMap<Group, Objective>>>);

impl Objectives {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let all = Self::default();
        registry.register_collector(Box::new(all.clone()));
        all
    }

    /// `None`: the group has no objective any more.
    pub(crate) fn set(&self, group: Group, objective: Option<Objective>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match objective {
            Some(objective) => all.insert(group, objective),
            None => all.remove(&group),
        };
    }
}

impl Collector for Objectives {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gauges(
            &mut encoder,
            "millrace_group_slo_lag_seconds",
            "Greatest lag in time that a ConsumerGroup allows",
            &all,
            |objective| objective.lag_seconds,
        )?;
        gauges(
            &mut encoder,
            "millrace_group_slo_lag_records",
            "Greatest lag in records, over all of its topics, that a ConsumerGroup allows",
            &all,
            |objective| objective.lag_records,
        )
    }
}

fn gauges<N>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    all: &BTreeMap<Group, Objective>,
    allowed: impl Fn(&Objective) -> Option<N>,
) -> std::fmt::Result
where
    N: Copy,
    ConstGauge<N>: EncodeMetric,
{
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (group, objective) in all {
        let Some(allowed) = allowed(objective) else {
            continue;
        };
        for topic in &objective.topics {
            let labels = [
                ("namespace", group.namespace.as_str()),
                ("cluster", group.cluster.as_str()),
                ("group", group.group.as_str()),
                ("topic", topic.as_str()),
            ];
            ConstGauge::new(allowed).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}
