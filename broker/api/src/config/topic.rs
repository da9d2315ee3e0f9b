//! The topic keys that the broker itself obeys, resolved and typed.

use std::str::FromStr;

use super::{Catalogue, Layers, Scope, ThrottledReplicas, catalogue, rule};

/// Settings of one topic. Values that do not parse, which the admin calls never store, count as
/// the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `cleanup.policy` names `delete`.
    pub delete: bool,
    /// `cleanup.policy` names `compact`.
    pub compact: bool,
    /// `producer` keeps batches as sent.
    pub compression_type: String,
    pub compression_gzip_level: i32,
    pub compression_lz4_level: i32,
    pub compression_zstd_level: i32,
    pub delete_retention_ms: i64,
    /// Milliseconds from append until consumers can read a record; 0 is at once. Records then carry the
    /// time of their append whatever `message.timestamp.type` says: what waits is judged by it.
    pub delivery_delay_ms: i64,
    /// Milliseconds from now that a record may name at most as its time of delivery.
    pub delivery_at_max_ms: i64,
    /// Bytes of records that may wait in a partition for the time that they name.
    pub delivery_held_bytes: u64,
    pub file_delete_delay_ms: i64,
    /// Records between two syncs.
    pub flush_messages: i64,
    pub flush_ms: i64,
    pub follower_throttled_replicas: ThrottledReplicas,
    pub index_interval_bytes: u64,
    pub leader_throttled_replicas: ThrottledReplicas,
    /// Bytes of one record of a compressed batch.
    pub max_decompressed_message_bytes: usize,
    pub max_message_bytes: usize,
    pub max_compaction_lag_ms: i64,
    pub min_cleanable_dirty_ratio: f64,
    pub min_compaction_lag_ms: i64,
    pub message_timestamp_after_max_ms: i64,
    pub message_timestamp_before_max_ms: i64,
    /// `message.timestamp.type` is `LogAppendTime`.
    pub log_append_time: bool,
    pub min_insync_replicas: usize,
    /// `None` = for ever.
    pub retention_bytes: Option<u64>,
    /// `None` = for ever.
    pub retention_ms: Option<i64>,
    pub segment_bytes: u64,
    pub segment_index_bytes: usize,
    pub segment_jitter_ms: i64,
    pub segment_ms: i64,
    pub unclean_leader_election: bool,
}

impl Settings {
    pub fn resolve(layers: Layers<'_>) -> Self {
        let keys = Keys {
            catalogue: catalogue(Scope::Topic),
            layers,
        };
        let policies = keys.text("cleanup.policy");
        let has = |policy: &str| rule::items(&policies).any(|item| item == policy);
        Self {
            delete: has("delete"),
            compact: has("compact"),
            compression_type: keys.text("compression.type"),
            compression_gzip_level: keys.number("compression.gzip.level"),
            compression_lz4_level: keys.number("compression.lz4.level"),
            compression_zstd_level: keys.number("compression.zstd.level"),
            delete_retention_ms: keys.number("delete.retention.ms"),
            delivery_delay_ms: keys.number("millrace.delivery.delay.ms"),
            delivery_at_max_ms: keys.number("millrace.delivery.at.max.ms"),
            delivery_held_bytes: keys.unsigned("millrace.delivery.held.bytes"),
            file_delete_delay_ms: keys.number("file.delete.delay.ms"),
            flush_messages: keys.number("flush.messages"),
            flush_ms: keys.number("flush.ms"),
            follower_throttled_replicas: keys.throttled("follower.replication.throttled.replicas"),
            leader_throttled_replicas: keys.throttled("leader.replication.throttled.replicas"),
            index_interval_bytes: keys.unsigned("index.interval.bytes"),
            max_decompressed_message_bytes: keys.unsigned("max.decompressed.message.bytes")
                as usize,
            max_message_bytes: keys.unsigned("max.message.bytes") as usize,
            max_compaction_lag_ms: keys.number("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio: keys.number("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms: keys.number("min.compaction.lag.ms"),
            message_timestamp_after_max_ms: keys.number("message.timestamp.after.max.ms"),
            message_timestamp_before_max_ms: keys.number("message.timestamp.before.max.ms"),
            log_append_time: keys.text("message.timestamp.type") == "LogAppendTime",
            min_insync_replicas: keys.unsigned("min.insync.replicas") as usize,
            retention_bytes: u64::try_from(keys.number::<i64>("retention.bytes")).ok(),
            retention_ms: Some(keys.number("retention.ms")).filter(|ms| *ms >= 0),
            segment_bytes: keys.unsigned("segment.bytes"),
            segment_index_bytes: keys.unsigned("segment.index.bytes") as usize,
            segment_jitter_ms: keys.number("segment.jitter.ms"),
            segment_ms: keys.number("segment.ms"),
            unclean_leader_election: keys.text("unclean.leader.election.enable") == "true",
        }
    }
}

struct Keys<'a> {
    catalogue: &'static Catalogue,
    layers: Layers<'a>,
}

impl Keys<'_> {
    fn text(&self, name: &str) -> String {
        self.catalogue
            .value(name, self.layers)
            .map(|value| value.trim().to_owned())
            .unwrap_or_default()
    }

    fn throttled(&self, name: &str) -> ThrottledReplicas {
        ThrottledReplicas::parse(&self.text(name))
    }

    fn number<T: FromStr + Default>(&self, name: &str) -> T {
        let default = || {
            self.catalogue
                .value(name, Layers::NONE)
                .and_then(|value| value.parse().ok())
                .unwrap_or_default()
        };
        self.text(name).parse().unwrap_or_else(|_| default())
    }

    /// For keys whose valid range starts at 0 or above.
    fn unsigned(&self, name: &str) -> u64 {
        u64::try_from(self.number::<i64>(name)).unwrap_or_default()
    }
}
