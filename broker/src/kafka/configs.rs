//! `DescribeConfigs`, `AlterConfigs`, `IncrementalAlterConfigs` and `ListConfigResources`, over the
//! catalogue of `api::config`.
//!
//! Changes go into the metadata image; who obeys a key follows the image. Decides here only what may be
//! stored: [`broker`] for brokers (KIP-226), [`topic`] for topics, [`group`] for groups. The levels of
//! [`loggers`] belong to the process and are stored nowhere.

mod alter;
mod broker;
mod describe;
mod group;
mod in_sync;
mod list;
mod loggers;
mod topic;

use api::config::{Refused, Scope, catalogue};
use kafka_wire::ErrorCode;
use machine::metadata::image::ConfigResource;

use super::Front;
use super::topics::Failure;

/// `resource_type` on the wire.
mod resource_type {
    pub(super) const TOPIC: i8 = 2;
    pub(super) const BROKER: i8 = 4;
    pub(super) const BROKER_LOGGER: i8 = 8;
    pub(super) const CLIENT_METRICS: i8 = 16;
    pub(super) const GROUP: i8 = 32;
}

/// A resource with configs of its own, and the catalogue that holds its keys.
struct Resource {
    id: ConfigResource,
    scope: Scope,
}

/// A key with its new value; `None` removes the key.
type Change = (String, Option<String>);

impl Resource {
    fn topic(name: &str) -> Self {
        Self {
            id: ConfigResource::Topic(name.into()),
            scope: Scope::Topic,
        }
    }

    fn broker(id: ConfigResource) -> Self {
        Self {
            id,
            scope: Scope::Broker,
        }
    }

    fn group(name: &str) -> Self {
        Self {
            id: ConfigResource::Group(name.into()),
            scope: Scope::Group,
        }
    }
}

/// Checks one value for a key of `scope`, beyond the catalogue also what this broker cannot do.
pub(super) fn check(scope: Scope, name: &str, value: &str) -> Result<(), Failure> {
    catalogue(scope).check(name, value)?;
    if name == "remote.storage.enable" && value.trim().eq_ignore_ascii_case("true") {
        return Err(Failure::new(
            ErrorCode::InvalidConfig,
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
        ));
    }
    Ok(())
}

/// Checks what a new topic would have.
pub(super) fn check_together(
    front: &Front,
    topic: &str,
    given: &[(String, String)],
) -> Result<(), Failure> {
    let set: Vec<Change> = given
        .iter()
        .map(|(key, value)| (key.clone(), Some(value.clone())))
        .collect();
    topic::check(front, &ConfigResource::Topic(topic.into()), &set)
}

/// The elements of a list value.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::new(ErrorCode::InvalidConfig, refused.to_string())
    }
}

#[cfg(test)]
mod tests;
