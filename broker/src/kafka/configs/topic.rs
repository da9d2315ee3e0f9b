//! What must hold of a topic's configs together.

use api::config::{Layers, Scope, catalogue};
use kafka_wire::ErrorCode;
use machine::metadata::image::ConfigResource;

use super::Change;
use crate::config::effective::with_layers;
use crate::kafka::Front;
use crate::kafka::topics::Failure;

/// Checks what would hold after `changes`.
pub(super) fn check(front: &Front, id: &ConfigResource, changes: &[Change]) -> Result<(), Failure> {
    let image = front.metadata.image();
    let (least, most) = ("min.compaction.lag.ms", "max.compaction.lag.ms");
    with_layers(&front.config, &image, id, |layers| {
        let own = |name: &str| match changes.iter().find(|(key, _)| key == name) {
            Some((_, value)) => value.clone(),
            None => (layers.resource)(name),
        };
        let after = Layers {
            resource: &own,
            ..layers
        };
        let number = |name| {
            let value = catalogue(Scope::Topic).value(name, after)?;
            value.parse::<i64>().ok()
        };
        match (number(least), number(most)) {
            (Some(min), Some(max)) if min > max => Err(Failure::new(
                ErrorCode::InvalidConfig,
                format!("conflict topic config setting {least} ({min}) > {most} ({max})"),
            )),
            _ => Ok(()),
        }
    })
}
