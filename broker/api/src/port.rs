//! Default TCP ports, one per listener. Local mode adds the broker's ordinal and `--port-offset`.

/// Kafka's own default.
pub const KAFKA: u16 = 9092;
/// AMQP 0-9-1's registered port.
pub const AMQP: u16 = 5672;
/// Admin API, `/metrics`, `/healthz`, `/readyz`.
pub const ADMIN: u16 = 9644;
/// Broker to broker: Raft, replication, remote queues.
pub const PEER: u16 = 7644;
