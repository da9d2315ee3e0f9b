//! How long clients were made to wait, by the limit that made them.

use machine::metadata::quota::{Entity, Name};
use machine::quota::Kind;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::telemetry::Telemetry;

/// One line for each limit that ever made somebody wait: as many as somebody has set.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    throttled: Family<Labels, Counter>,
    wait_ms: Family<Labels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    quota: &'static str,
    user: String,
    client_id: String,
    ip: String,
}

impl Metrics {
    pub(super) fn register(&self, telemetry: &Telemetry) {
        telemetry.register("kafka_quota", |registry| {
            registry.register(
                "throttled",
                "Requests and connections that were over a limit",
                self.throttled.clone(),
            );
            registry.register(
                "throttle_ms",
                "Milliseconds for which clients were told to wait",
                self.wait_ms.clone(),
            );
        });
    }

    pub(super) fn throttled(&self, kind: Kind, entity: &Entity, wait_ms: u64) {
        let name = |name: &Option<Name>| match name {
            None => String::new(),
            Some(Name::Default) => "<default>".to_owned(),
            Some(Name::Named(name)) => name.to_string(),
        };
        let labels = Labels {
            quota: kind.key(),
            user: name(&entity.user),
            client_id: name(&entity.client_id),
            ip: name(&entity.ip),
        };
        self.throttled.get_or_create(&labels).inc();
        self.wait_ms.get_or_create(&labels).inc_by(wait_ms);
    }
}
