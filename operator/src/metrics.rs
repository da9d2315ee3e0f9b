//! The operator's own metrics.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub(crate) mod objectives;

use objectives::Objectives;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    families: Arc<Families>,
}

struct Families {
    reconciles: Family<Reconciled, Counter>,
    seconds: Family<Kinds, Histogram>,
    ready: Family<Object, Gauge>,
    objectives: Objectives,
    leader: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconciled {
    kind: String,
    /// `ok`, or what failed: `kubernetes`, `brokers`, `object`.
    result: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kinds {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Object {
    kind: String,
    namespace: String,
    name: String,
}

impl Metrics {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let families = Families {
            reconciles: Family::default(),
            seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 4.0, 9))
            }),
            ready: Family::default(),
            objectives: Objectives::register(registry),
            leader: Gauge::default(),
        };
        registry.register(
            "millrace_operator_reconciles",
            "Reconciles by kind and result",
            families.reconciles.clone(),
        );
        registry.register(
            "millrace_operator_reconcile_seconds",
            "Time of one reconcile",
            families.seconds.clone(),
        );
        registry.register(
            "millrace_resource_ready",
            "1 while the resource's Ready condition holds",
            families.ready.clone(),
        );
        registry.register(
            "millrace_operator_leader",
            "1 on the operator that leads",
            families.leader.clone(),
        );
        Self {
            families: Arc::new(families),
        }
    }

    pub(crate) fn reconciled(&self, kind: &str, failure: Option<&str>, took: Duration) {
        let labels = Reconciled {
            kind: kind.to_owned(),
            result: failure.unwrap_or("ok").to_owned(),
        };
        self.families.reconciles.get_or_create(&labels).inc();
        let labels = Kinds {
            kind: kind.to_owned(),
        };
        self.families
            .seconds
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// `None`: the resource is gone.
    pub(crate) fn ready(&self, kind: &str, namespace: &str, name: &str, ready: Option<bool>) {
        let labels = Object {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match ready {
            Some(ready) => {
                self.families.ready.get_or_create(&labels).set(ready.into());
            }
            None => {
                self.families.ready.remove(&labels);
            }
        }
    }

    /// How far behind groups may be.
    pub(crate) fn objectives(&self) -> &Objectives {
        &self.families.objectives
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.families.leader.set(leads.into());
    }
}
