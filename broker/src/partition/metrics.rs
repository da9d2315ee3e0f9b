//! What the partitions of a broker show.

mod waiting;

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use machine::metadata::image::Image;
use model::TopicPartition;
use parking_lot::Mutex;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{MetricType, counter::Counter, family::Family, gauge::ConstGauge},
};

use waiting::Waiting;

use super::{Role, Roster};
use crate::{metadata, telemetry::Telemetry};

/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    isr_shrinks: Counter,
    isr_expands: Counter,
    records: Family<TopicLabel, Counter>,
    scrubbed_bytes: Counter,
    damaged: Counter,
    repaired: Counter,
    failed: Mutex<HashSet<TopicPartition>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TopicLabel {
    topic: String,
}

/// Gauges counted at the time of a scrape: idle partitions cost nothing in between.
struct Counted {
    roster: Roster,
    metadata: metadata::Handle,
    metrics: Metrics,
}

/// Sizes of the logs here, by topic and partition.
struct Sizes {
    roster: Roster,
    metadata: metadata::Handle,
}

/// The file system that the logs are on.
#[derive(Debug)]
struct Disk(PathBuf);

impl Metrics {
    pub(super) fn register(
        &self,
        telemetry: &Telemetry,
        roster: &Roster,
        metadata: &metadata::Handle,
        directory: PathBuf,
    ) {
        telemetry.register("topic", |registry| {
            registry.register(
                "records",
                "Records appended to a topic, by its leaders here",
                self.0.records.clone(),
            );
            registry.register_collector(Box::new(Waiting {
                roster: roster.clone(),
                metadata: metadata.clone(),
            }));
        });
        telemetry.register("partitions", |registry| {
            registry.register(
                "isr_shrinks",
                "In-sync sets of partitions led here that lost a replica",
                self.0.isr_shrinks.clone(),
            );
            registry.register(
                "isr_expands",
                "In-sync sets of partitions led here that gained a replica",
                self.0.isr_expands.clone(),
            );
            registry.register_collector(Box::new(Counted {
                roster: roster.clone(),
                metadata: metadata.clone(),
                metrics: self.clone(),
            }));
        });
        telemetry.register("log", |registry| {
            registry.register(
                "scrubbed_bytes",
                "Bytes of logs that were read again to find what the disk has changed",
                self.0.scrubbed_bytes.clone(),
            );
            registry.register(
                "damaged_ranges",
                "Ranges of logs here that the disk has changed, found by readers or by reading again",
                self.0.damaged.clone(),
            );
            registry.register(
                "repaired_ranges",
                "Damaged ranges that were repaired in place from another replica",
                self.0.repaired.clone(),
            );
            registry.register_collector(Box::new(Sizes {
                roster: roster.clone(),
                metadata: metadata.clone(),
            }));
        });
        telemetry.register("disk", |registry| {
            registry.register_collector(Box::new(Disk(directory)));
        });
    }

    /// Records appended to `topic` by its leaders here.
    pub(super) fn records(&self, topic: &str) -> Counter {
        let label = TopicLabel {
            topic: topic.to_owned(),
        };
        self.0.records.get_or_create(&label).clone()
    }

    pub(super) fn scrubbed(&self, bytes: usize) {
        self.0.scrubbed_bytes.inc_by(bytes as u64);
    }

    /// A damaged range of a log was found.
    pub(super) fn damaged(&self) {
        self.0.damaged.inc();
    }

    pub(super) fn repaired(&self) {
        self.0.repaired.inc();
    }

    pub(super) fn in_sync_changed(&self, before: usize, after: usize) {
        if after < before {
            self.0.isr_shrinks.inc();
        } else if after > before {
            self.0.isr_expands.inc();
        }
    }

    /// A replica cannot be used, or can again.
    pub(super) fn failed(&self, partition: TopicPartition, failed: bool) {
        let mut set = self.0.failed.lock();
        if failed {
            set.insert(partition);
        } else {
            set.remove(&partition);
        }
    }
}

impl Collector for Counted {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let (mut led, mut under_replicated, mut under_min) = (0, 0, 0);
        let image = self.metadata.image();
        for (partition, handle) in self.roster.all() {
            let status = handle.status();
            if status.role == Role::Leader {
                led += 1;
                under_replicated += i64::from(lacks_a_replica(&image, partition));
                under_min += i64::from(status.isr.len() < status.min_isr);
            }
        }
        let failed = self.metrics.0.failed.lock().len();
        let gauges = [
            ("led", "Partitions led here", led),
            (
                "under_replicated",
                "Partitions led here whose in-sync set lacks a replica",
                under_replicated,
            ),
            (
                "under_min_isr",
                "Partitions led here whose in-sync set is below min.insync.replicas",
                under_min,
            ),
            (
                "offline",
                "Partitions of the cluster without a leader",
                offline(&image),
            ),
            (
                "failed_replicas",
                "Replicas here whose log cannot be used",
                i64::try_from(failed).unwrap_or(i64::MAX),
            ),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        Ok(())
    }
}

fn lacks_a_replica(image: &Image, partition: TopicPartition) -> bool {
    let number = usize::try_from(partition.partition).ok();
    image
        .topics
        .get(&partition.topic)
        .zip(number)
        .and_then(|(topic, number)| topic.partitions.get(number))
        .is_some_and(|agreed| agreed.is_under_replicated())
}

fn offline(image: &Image) -> i64 {
    let partitions = image.topics.values().flat_map(|t| t.partitions.iter());
    let count = partitions.filter(|p| p.leader.is_none()).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Collector for Sizes {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let image = self.metadata.image();
        let mut family = encoder.encode_descriptor(
            "size_bytes",
            "Bytes of a log here",
            None,
            MetricType::Gauge,
        )?;
        for (partition, handle) in self.roster.all() {
            let Some(topic) = image.topics.get(&partition.topic) else {
                continue;
            };
            let labels = [
                ("topic", topic.name.to_string()),
                ("partition", partition.partition.to_string()),
            ];
            let size = i64::try_from(handle.status().size_bytes).unwrap_or(i64::MAX);
            ConstGauge::new(size).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Collector for Disk {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let Ok(disk) = crate::disk::Disk::holding(&self.0) else {
            return Ok(());
        };
        let gauges = [
            (
                "total_bytes",
                "Size of the file system with the logs",
                disk.total_bytes,
            ),
            (
                "free_bytes",
                "What is left of it for this process",
                disk.free_bytes,
            ),
        ];
        for (name, help, bytes) in gauges {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            let gauge = ConstGauge::new(bytes);
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sizes").finish_non_exhaustive()
    }
}
