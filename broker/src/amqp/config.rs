//! What the front is told at start.

use std::time::Duration;

/// Bounds of the front; each is a `millrace.amqp.*` key of the broker's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.amqp.connections.max`: connections open at once; the next one is closed unanswered.
    pub connections_max: usize,
    /// `millrace.amqp.connections.per.ip.max`: of these, from one address.
    pub connections_per_address_max: usize,
    /// `millrace.amqp.handshake.timeout.ms`: from accept to the open vhost.
    pub handshake_timeout: Duration,
    /// `millrace.amqp.channel.max`: channels of one connection.
    pub channel_max: u16,
    /// `millrace.amqp.frame.max.bytes`: a frame, overhead included.
    pub frame_max: u32,
    /// `millrace.amqp.heartbeat.s`: interval offered to clients; 0 = none.
    pub heartbeat_s: u16,
    /// `millrace.amqp.message.max.bytes`: a message body.
    pub message_bytes_max: u64,
    /// `millrace.amqp.transaction.max.bytes`: publishes that one channel holds before a commit.
    pub transaction_bytes_max: usize,
    /// `millrace.amqp.consumers.max`: consumers of one connection.
    pub consumers_max: usize,
    /// `millrace.amqp.operation.timeout.ms`: how long a method waits for a queue's host or for the metadata
    /// group before its client hears that they are not available (RabbitMQ's `channel_operation_timeout`).
    pub operation_timeout: Duration,
    /// `millrace.amqp.waiting.bytes.max`: frames that wait behind such methods of their channels, over all
    /// channels of a connection. Above it its socket is not read.
    pub waiting_bytes_max: usize,
    /// `millrace.amqp.replies.bytes.max`: direct replies that wait for one connection; what comes above it
    /// is dropped.
    pub replies_bytes_max: usize,
    /// `millrace.amqp.contents.bytes`: bytes of frames and messages that have not come whole, over all
    /// connections. When it is used up one connection at a time goes on with its own.
    pub contents_bytes_max: usize,
    /// `millrace.amqp.contents.stall.ms`: longest time in which a client sends less than 64 KiB of a message
    /// that it has begun. Its connection is closed then.
    pub contents_stall: Duration,
    /// `millrace.amqp.full.stall.ms`: the same while `contents_bytes_max` is used up, and the longest time
    /// in which a client takes less than 64 KiB of what is sent to it while the broker is short of memory.
    pub full_stall: Duration,
    /// `millrace.amqp.product` and `millrace.amqp.version`: what clients read in the server properties
    /// before they use RabbitMQ's extensions.
    pub product: String,
    pub version: String,
}

impl Default for Config {
    fn default() -> Self {
        let wire = amqp_wire::session::Config::default();
        Self {
            connections_max: 10_000,
            connections_per_address_max: 1_024,
            handshake_timeout: Duration::from_secs(10),
            channel_max: wire.channel_max,
            frame_max: wire.frame_max,
            heartbeat_s: wire.heartbeat_s,
            message_bytes_max: wire.message_bytes_max,
            transaction_bytes_max: 64 << 20,
            consumers_max: 10_000,
            operation_timeout: Duration::from_secs(30),
            waiting_bytes_max: 4 << 20,
            replies_bytes_max: 16 << 20,
            contents_bytes_max: 256 << 20,
            contents_stall: Duration::from_secs(30),
            full_stall: Duration::from_secs(5),
            product: wire.product,
            version: wire.version,
        }
    }
}

impl Config {
    /// Reads the keys of the front; what is not given has its default.
    pub fn from_broker(broker: &crate::Config) -> Self {
        let own = Self::default();
        let text = |key: &str, default: String| broker.setting(key).map_or(default, str::to_owned);
        Self {
            connections_max: broker
                .setting_or("millrace.amqp.connections.max", own.connections_max),
            connections_per_address_max: broker.setting_or(
                "millrace.amqp.connections.per.ip.max",
                own.connections_per_address_max,
            ),
            handshake_timeout: broker
                .millis_or("millrace.amqp.handshake.timeout.ms", own.handshake_timeout),
            channel_max: broker
                .setting_or("millrace.amqp.channel.max", own.channel_max)
                .max(1),
            frame_max: broker
                .setting_or("millrace.amqp.frame.max.bytes", own.frame_max)
                .max(amqp_wire::session::FRAME_MIN),
            heartbeat_s: broker.setting_or("millrace.amqp.heartbeat.s", own.heartbeat_s),
            message_bytes_max: broker
                .setting_or("millrace.amqp.message.max.bytes", own.message_bytes_max)
                .min(quorum_body_bytes_max(broker)),
            transaction_bytes_max: broker.setting_or(
                "millrace.amqp.transaction.max.bytes",
                own.transaction_bytes_max,
            ),
            consumers_max: broker.setting_or("millrace.amqp.consumers.max", own.consumers_max),
            operation_timeout: broker
                .millis_or("millrace.amqp.operation.timeout.ms", own.operation_timeout),
            waiting_bytes_max: broker
                .setting_or("millrace.amqp.waiting.bytes.max", own.waiting_bytes_max),
            replies_bytes_max: broker
                .setting_or("millrace.amqp.replies.bytes.max", own.replies_bytes_max),
            contents_bytes_max: broker
                .setting_or("millrace.amqp.contents.bytes", own.contents_bytes_max),
            contents_stall: broker.millis_or("millrace.amqp.contents.stall.ms", own.contents_stall),
            full_stall: broker.millis_or("millrace.amqp.full.stall.ms", own.full_stall),
            product: text("millrace.amqp.product", own.product),
            version: text("millrace.amqp.version", own.version),
        }
    }
}

/// Body that still fits one command of a shard, with properties of its largest frame and the history of
/// a message that has died often.
fn quorum_body_bytes_max(broker: &crate::Config) -> u64 {
    let command = broker.raft.command_bytes_max(broker.peer.frame_bytes_max);
    command.saturating_sub(256 << 10) as u64
}
