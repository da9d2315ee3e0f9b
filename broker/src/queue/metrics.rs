//! Gauges and counters of the queues that this broker hosts.

use std::collections::HashMap;
use std::sync::Arc;

use api::metric;
use machine::metadata::image::Queue;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::message::Reason;
use super::protocol::Stats;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Labels {
    vhost: String,
    queue: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeathLabels {
    vhost: String,
    queue: String,
    reason: &'static str,
}

impl Labels {
    pub(crate) fn of(queue: &Queue) -> Self {
        Self {
            vhost: queue.vhost.to_string(),
            queue: queue.name.to_string(),
        }
    }
}

/// Cheap to clone; a default one counts for nobody.
#[derive(Clone, Default)]
pub struct Metrics {
    ready: Family<Labels, Gauge>,
    unacked: Family<Labels, Gauge>,
    consumers: Family<Labels, Gauge>,
    oldest_ready_ms: Family<Labels, Gauge>,
    dead_lettered: Family<DeathLabels, Counter>,
    memory_bytes: Gauge,
    /// What was last set, so that a busy queue does not look up its labels for nothing.
    known: Arc<Mutex<HashMap<Labels, Known>>>,
}

struct Known {
    ready: Gauge,
    unacked: Gauge,
    consumers: Gauge,
    oldest: Gauge,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let m = &metrics;
        registry.register(metric::QUEUE_READY, "Messages ready", m.ready.clone());
        registry.register(
            metric::QUEUE_UNACKED,
            "Messages unacknowledged",
            m.unacked.clone(),
        );
        registry.register(metric::QUEUE_CONSUMERS, "Consumers", m.consumers.clone());
        registry.register(
            "millrace_queue_oldest_ready_milliseconds",
            "Age of the message delivered next, when the queue was last busy",
            m.oldest_ready_ms.clone(),
        );
        registry.register(
            metric::DEAD_LETTER_QUEUE_MESSAGES,
            "Messages dead-lettered",
            m.dead_lettered.clone(),
        );
        registry.register(
            "millrace_queue_memory_bytes",
            "Bodies in memory over all queues of this broker, as counted against millrace.queue.memory.bytes",
            m.memory_bytes.clone(),
        );
        metrics
    }

    pub(crate) fn set_memory(&self, bytes: usize) {
        self.memory_bytes
            .set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    pub(crate) fn observe(&self, labels: &Labels, stats: &Stats) {
        let mut known = self.known.lock();
        if !known.contains_key(labels) {
            let gauges = Known {
                ready: self.ready.get_or_create(labels).clone(),
                unacked: self.unacked.get_or_create(labels).clone(),
                consumers: self.consumers.get_or_create(labels).clone(),
                oldest: self.oldest_ready_ms.get_or_create(labels).clone(),
            };
            known.insert(labels.clone(), gauges);
        }
        if let Some(gauges) = known.get(labels) {
            gauges.ready.set(gauge(stats.ready));
            gauges.unacked.set(gauge(stats.unacked));
            gauges.consumers.set(i64::from(stats.consumers));
            gauges.oldest.set(gauge(stats.oldest_ready_age_ms));
        }
    }

    pub(crate) fn dead_lettered(&self, labels: &Labels, reason: Reason) {
        let labels = DeathLabels {
            vhost: labels.vhost.clone(),
            queue: labels.queue.clone(),
            reason: reason.as_str(),
        };
        self.dead_lettered.get_or_create(&labels).inc();
    }

    pub(crate) fn forget(&self, labels: &Labels) {
        self.known.lock().remove(labels);
        self.ready.remove(labels);
        self.unacked.remove(labels);
        self.consumers.remove(labels);
        self.oldest_ready_ms.remove(labels);
    }
}

fn gauge(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
