//! A topic's keys in the words of the log and of the replica machine.

use api::config::topic;
use commitlog::{Policy, Resources};
use machine::replica::Rules;
use model::{BrokerId, TopicPartition};

use super::Config;

/// Settings of one topic.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings(topic::Settings);

/// The least the catalogue allows is 1 MiB; a segment never has to hold less than a batch.
const SEGMENT_BYTES_MIN: u64 = 1 << 14;

impl Settings {
    pub(super) fn new(topic: topic::Settings) -> Self {
        Self(topic)
    }

    pub(super) fn topic(&self) -> &topic::Settings {
        &self.0
    }

    /// The broker's time replaces the producer's: the topic says so, or has a delivery delay, which counts
    /// from a time that the log itself has to tell.
    pub(super) fn stamps_appends(&self) -> bool {
        self.0.log_append_time || self.0.delivery_delay_ms > 0
    }

    /// Every append is synced before it is acknowledged. Larger intervals are covered by the
    /// background sync, which is more eager than any of them.
    pub(super) fn synced_only(&self) -> bool {
        self.0.flush_messages <= 1
    }

    /// Whether the rate of what its leader on `this` broker sends holds for a replica.
    pub(super) fn throttles_leader(&self, partition: TopicPartition, this: BrokerId) -> bool {
        let named = &self.0.leader_throttled_replicas;
        named.names(partition.partition, this.0)
    }

    /// Whether the rate of what `this` broker takes as a follower holds for a replica.
    pub(super) fn throttles_follower(&self, partition: TopicPartition, this: BrokerId) -> bool {
        let named = &self.0.follower_throttled_replicas;
        named.names(partition.partition, this.0)
    }

    pub(super) fn rules(&self, config: &Config) -> Rules {
        Rules {
            in_sync_min: self.0.min_insync_replicas,
            lag_max_ms: config.lag_max_ms,
            synced_only: self.synced_only(),
        }
    }

    pub(super) fn log(&self, resources: &Resources) -> commitlog::Config {
        let t = &self.0;
        commitlog::Config {
            segment_bytes: t.segment_bytes.max(SEGMENT_BYTES_MIN),
            // A record in the active segment is never compacted.
            segment_ms: if t.compact {
                t.segment_ms.min(t.max_compaction_lag_ms)
            } else {
                t.segment_ms
            },
            segment_jitter_ms: t.segment_jitter_ms,
            index_bytes_max: t.segment_index_bytes,
            index_interval_bytes: t.index_interval_bytes,
            // Without `delete` among the policies nothing goes by age or size.
            // Kept for as long as consumers of a topic without a delay could read it.
            retention_ms: t
                .retention_ms
                .filter(|_| t.delete)
                .map(|ms| ms.saturating_add(t.delivery_delay_ms)),
            retention_bytes: t.retention_bytes.filter(|_| t.delete),
            compaction: t.compact.then_some(Policy {
                dirty_ratio_min: t.min_cleanable_dirty_ratio,
                lag_min_ms: t.min_compaction_lag_ms,
                lag_max_ms: t.max_compaction_lag_ms,
                tombstones_ms: t.delete_retention_ms,
            }),
            delete_delay_ms: t.file_delete_delay_ms,
            resources: resources.clone(),
            ..commitlog::Config::default()
        }
    }
}
