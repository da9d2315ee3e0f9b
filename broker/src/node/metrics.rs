//! What this broker knows of its place in the cluster.

use api::metric;
use machine::metadata::image::Image;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::metadata;
use crate::telemetry::Telemetry;

pub(super) fn register(telemetry: &Telemetry, metadata: &metadata::Handle) {
    let place = Place(metadata.clone());
    telemetry.register_named(|registry| registry.register_collector(Box::new(place)));
}

struct Place(metadata::Handle);

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

impl Collector for Place {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let leads = self.0.controller() == Some(self.0.this_broker());
        let active = ConstGauge::new(i64::from(leads));
        let help = "1 on the broker that leads the metadata group";
        let descriptor =
            encoder.encode_descriptor(metric::CONTROLLER_ACTIVE, help, None, MetricType::Gauge)?;
        active.encode(descriptor)?;
        encode_brokers(&self.0.image(), &mut encoder)
    }
}

fn encode_brokers(image: &Image, encoder: &mut DescriptorEncoder<'_>) -> std::fmt::Result {
    let help = "1 while the broker is registered and not fenced";
    let mut family =
        encoder.encode_descriptor(metric::BROKER_UNFENCED, help, None, MetricType::Gauge)?;
    for broker in image.brokers.values() {
        let labels = [("broker", broker.id.to_string())];
        let unfenced = ConstGauge::new(i64::from(!broker.fenced));
        unfenced.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
