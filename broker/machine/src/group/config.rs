//! Limits and delays of groups, by Kafka's names.

/// One frozen copy per broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `group.initial.rebalance.delay.ms`: how long an empty group waits for company.
    pub initial_rebalance_delay_ms: i64,
    /// `group.min.session.timeout.ms`.
    pub session_timeout_min_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_max_ms: i32,
    /// `group.max.size`, in members.
    pub size_max: usize,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_max_bytes: usize,
    /// `offsets.retention.minutes`, as milliseconds.
    pub offsets_retention_ms: i64,
}

/// A member that joins for the first time can't heartbeat while it waits: it is dropped after this
/// long and expected to try again (Kafka's constant, no config there either).
pub(super) const NEW_MEMBER_JOIN_TIMEOUT_MS: i64 = 5 * 60 * 1000;

impl Default for Config {
    fn default() -> Self {
        Self {
            initial_rebalance_delay_ms: 3_000,
            session_timeout_min_ms: 6_000,
            session_timeout_max_ms: 1_800_000,
            size_max: i32::MAX as usize,
            offset_metadata_max_bytes: 4_096,
            offsets_retention_ms: 10_080 * 60 * 1000,
        }
    }
}
