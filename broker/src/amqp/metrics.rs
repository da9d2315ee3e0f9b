//! Counters of the AMQP front.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Cheap to clone: every clone counts into the same cells.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub connections: Gauge,
    pub connections_opened: Counter,
    pub logins_refused: Counter,
    pub channels: Gauge,
    pub consumers: Gauge,
    pub messages_published: Counter,
    pub messages_confirmed: Counter,
    pub messages_refused: Counter,
    pub messages_returned: Counter,
    pub messages_unroutable: Counter,
    pub messages_delivered: Counter,
    pub messages_acknowledged: Counter,
    pub messages_requeued: Counter,
    pub messages_rejected: Counter,
    pub replies_dropped: Counter,
    pub channel_errors: Counter,
    pub connection_errors: Counter,
}

impl Metrics {
    /// Adds them to `registry`, as `millrace_amqp_*`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("millrace_amqp");
        let mut gauge = |name, help, metric: &Gauge| registry.register(name, help, metric.clone());
        gauge(
            "connections",
            "AMQP connections open now",
            &self.connections,
        );
        gauge("channels", "AMQP channels open now", &self.channels);
        gauge("consumers", "AMQP consumers attached now", &self.consumers);
        let mut counter =
            |name, help, metric: &Counter| registry.register(name, help, metric.clone());
        counter(
            "connections_opened",
            "AMQP connections that completed the handshake",
            &self.connections_opened,
        );
        counter(
            "logins_refused",
            "AMQP logins with a wrong user or password",
            &self.logins_refused,
        );
        counter(
            "messages_published",
            "Messages that clients published",
            &self.messages_published,
        );
        counter(
            "messages_confirmed",
            "Publishes acknowledged to clients",
            &self.messages_confirmed,
        );
        counter(
            "messages_refused",
            "Publishes negatively acknowledged to clients",
            &self.messages_refused,
        );
        counter(
            "messages_returned",
            "Mandatory messages returned as unroutable",
            &self.messages_returned,
        );
        counter(
            "messages_unroutable",
            "Messages that no queue was bound for",
            &self.messages_unroutable,
        );
        counter(
            "messages_delivered",
            "Messages delivered to consumers and gets",
            &self.messages_delivered,
        );
        counter(
            "messages_acknowledged",
            "Deliveries acknowledged by clients",
            &self.messages_acknowledged,
        );
        counter(
            "messages_requeued",
            "Deliveries given back by clients",
            &self.messages_requeued,
        );
        counter(
            "messages_rejected",
            "Deliveries rejected by clients without requeue",
            &self.messages_rejected,
        );
        counter(
            "replies_dropped",
            "Direct replies whose requester was gone or had too many waiting",
            &self.replies_dropped,
        );
        counter(
            "channel_errors",
            "Channels closed because of an error",
            &self.channel_errors,
        );
        counter(
            "connection_errors",
            "Connections closed because of an error",
            &self.connection_errors,
        );
    }
}
