//! The ranges that the brokers' configs set for those of groups (KIP-848).

use api::config::{Scope, catalogue};
use kafka_wire::ErrorCode;

use super::Change;
use crate::config::effective::broker_value;
use crate::kafka::Front;
use crate::kafka::topics::Failure;

/// Refuses a value outside `group.KIND.min.REST` to `group.KIND.max.REST`, for a key `KIND.REST` that has
/// such bounds.
pub(super) fn check(front: &Front, changes: &[Change]) -> Result<(), Failure> {
    let image = front.metadata.image();
    for (name, value) in changes {
        let value = value.as_ref().and_then(|text| text.trim().parse().ok());
        let (Some((kind, rest)), Some(value)) = (name.split_once('.'), value) else {
            continue;
        };
        let bound = |side: &str| {
            let key = format!("group.{kind}.{side}.{rest}");
            catalogue(Scope::Broker).get(&key)?;
            broker_value::<i64>(&front.config, &image, &key)
        };
        let (Some(min), Some(max)) = (bound("min"), bound("max")) else {
            continue;
        };
        if !(min..=max).contains(&value) {
            return Err(Failure::new(
                ErrorCode::InvalidConfig,
                format!("{name} must be in the range {min} to {max} inclusive."),
            ));
        }
    }
    Ok(())
}
