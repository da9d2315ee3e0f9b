//! Records that wait for the delivery delay of their topic, or for the time that they name.

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};

use crate::{
    metadata,
    partition::{Role, Roster},
};

/// By topic and partition led here, of those where something waits, or may.
pub(super) struct Waiting {
    pub(super) roster: Roster,
    pub(super) metadata: metadata::Handle,
}

impl Collector for Waiting {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let image = self.metadata.image();
        let mut family = encoder.encode_descriptor(
            "waiting_records",
            "Records that wait for the delivery delay of their topic, or for the time that they name",
            None,
            MetricType::Gauge,
        )?;
        for (partition, handle) in self.roster.all() {
            let status = handle.status();
            let Some(topic) = image.topics.get(&partition.topic) else {
                continue;
            };
            let delays = handle.delivery_delay_ms() > 0;
            if status.role != Role::Leader || (!delays && status.held == 0) {
                continue;
            }
            let labels = [
                ("topic", topic.name.to_string()),
                ("partition", partition.partition.to_string()),
            ];
            let delayed = status.high_watermark.0 - status.readable_end.0;
            let waiting = delayed.saturating_add_unsigned(status.held);
            ConstGauge::new(waiting).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}
