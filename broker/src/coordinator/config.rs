//! What a coordinator is told at start, by Kafka's names.

use std::time::Duration;

use machine::group;

/// Frozen at start.
#[derive(Clone, Debug)]
pub struct Config {
    pub group: group::Config,
    /// `offsets.retention.check.interval.ms`.
    pub sweep_every: Duration,
    /// `offsets.commit.timeout.ms`: how long the in-sync replicas may take for a batch of records.
    pub append_timeout: Duration,
    /// `offsets.topic.num.partitions`.
    pub partitions: i32,
    /// `offsets.topic.replication.factor`; a smaller cluster gets one replica a broker.
    pub replication_factor: i16,
    /// `offsets.topic.segment.bytes`.
    pub segment_bytes: u64,
    /// `millrace.lag.interval.ms`: how often the lag of groups is measured.
    pub lag_every: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group: group::Config::default(),
            sweep_every: Duration::from_secs(600),
            append_timeout: Duration::from_secs(5),
            partitions: 50,
            replication_factor: 3,
            segment_bytes: 100 << 20,
            lag_every: Duration::from_secs(2),
        }
    }
}

impl Config {
    pub fn of(config: &crate::Config) -> Self {
        let d = Self::default();
        let minutes_ms = 60_000;
        let retention_min = d.group.offsets_retention_ms / minutes_ms;
        Self {
            group: group::Config {
                initial_rebalance_delay_ms: config.setting_or(
                    "group.initial.rebalance.delay.ms",
                    d.group.initial_rebalance_delay_ms,
                ),
                session_timeout_min_ms: config.setting_or(
                    "group.min.session.timeout.ms",
                    d.group.session_timeout_min_ms,
                ),
                session_timeout_max_ms: config.setting_or(
                    "group.max.session.timeout.ms",
                    d.group.session_timeout_max_ms,
                ),
                size_max: config.setting_or("group.max.size", d.group.size_max),
                offset_metadata_max_bytes: config.setting_or(
                    "offset.metadata.max.bytes",
                    d.group.offset_metadata_max_bytes,
                ),
                offsets_retention_ms: config
                    .setting_or("offsets.retention.minutes", retention_min)
                    .saturating_mul(minutes_ms),
            },
            sweep_every: config
                .millis_or("offsets.retention.check.interval.ms", d.sweep_every)
                .max(Duration::from_millis(1)),
            append_timeout: config.millis_or("offsets.commit.timeout.ms", d.append_timeout),
            partitions: config.setting_or("offsets.topic.num.partitions", d.partitions),
            replication_factor: config
                .setting_or("offsets.topic.replication.factor", d.replication_factor),
            segment_bytes: config.setting_or("offsets.topic.segment.bytes", d.segment_bytes),
            lag_every: config
                .millis_or("millrace.lag.interval.ms", d.lag_every)
                .max(Duration::from_millis(10)),
        }
    }
}
