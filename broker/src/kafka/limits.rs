//! Every bound of the front, by the configuration key that sets it. Those that may change while the broker
//! runs hold for connections from their next request on, or, of times, for new connections.

use std::time::Duration;

use crate::Config;
use crate::net::Bounds;

#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// `socket.request.max.bytes`: bytes of one request.
    pub frame_bytes_max: usize,
    /// `millrace.kafka.inflight.bytes`: bytes of requests in memory, all connections together, counted as
    /// they come. When it is used up, one request at a time still comes in, and fetches wait for no more
    /// records.
    pub inflight_bytes_max: usize,
    /// `millrace.kafka.reply.bytes`: bytes of replies that their clients have not taken yet, all connections
    /// together. When it is used up fetches wait; one at a time is still served.
    pub reply_bytes_max: usize,
    /// `millrace.kafka.group.bytes`: bytes of what members of groups say of themselves and of what is assigned
    /// to them, all groups that this broker coordinates together. When it is used up nobody joins.
    pub group_bytes_max: usize,
    /// `millrace.kafka.connection.inflight.bytes`: after so many unanswered bytes a connection is not
    /// read; a single larger request still is.
    pub connection_inflight_bytes_max: usize,
    /// `millrace.kafka.connection.requests`: produce requests of one connection served at once.
    pub connection_requests_max: usize,
    /// `connections.max.idle.ms`.
    pub idle: Duration,
    /// `millrace.kafka.frame.stall.ms`: longest time in which a client sends less than 64 KiB of a request
    /// that it has begun. Its connection is closed then.
    pub stall: Duration,
    /// `millrace.kafka.full.stall.ms`: the same while `inflight_bytes_max` is used up, and the longest time
    /// in which a client takes less than 64 KiB of its replies while `reply_bytes_max` is.
    pub full_stall: Duration,
    /// `max.connections`, Kafka's default of two thousand million being no limit, so that ours is 10000;
    /// `max.connections.per.ip`, `max.connections.per.ip.overrides`.
    pub connections: Bounds,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_sessions_max: usize,
    /// `fetch.max.bytes`: bytes of records in one fetch response.
    pub fetch_bytes_max: usize,
}

impl Limits {
    pub fn from_config(config: &Config) -> Self {
        let frame_bytes_max = config.setting_or("socket.request.max.bytes", 100 << 20);
        Self {
            frame_bytes_max,
            inflight_bytes_max: config.setting_or("millrace.kafka.inflight.bytes", 256 << 20),
            reply_bytes_max: config.setting_or("millrace.kafka.reply.bytes", 256 << 20),
            group_bytes_max: config.setting_or("millrace.kafka.group.bytes", 128 << 20),
            connection_inflight_bytes_max: config
                .setting_or("millrace.kafka.connection.inflight.bytes", 32 << 20),
            connection_requests_max: config.setting_or("millrace.kafka.connection.requests", 64),
            idle: config.millis_or("connections.max.idle.ms", Duration::from_secs(600)),
            stall: config.millis_or("millrace.kafka.frame.stall.ms", Duration::from_secs(30)),
            full_stall: config.millis_or("millrace.kafka.full.stall.ms", Duration::from_secs(5)),
            connections: Bounds {
                total_max: config.setting_or("max.connections", 10_000),
                per_address_max: config.setting_or("max.connections.per.ip", usize::MAX),
                overrides: Bounds::overrides(
                    config
                        .setting("max.connections.per.ip.overrides")
                        .unwrap_or_default(),
                )
                .unwrap_or_default(),
            },
            fetch_sessions_max: config
                .setting_or("max.incremental.fetch.session.cache.slots", 1_000),
            fetch_bytes_max: config.setting_or("fetch.max.bytes", 57_671_680),
        }
    }
}
