//! `DescribeConfigs`, `AlterConfigs`, `IncrementalAlterConfigs` and `ListConfigResources`, over the
//! catalogue of `api::config`.

mod alter;
mod describe;
mod list;

use api::config::{Refused, Scope, UpdateMode, catalogue};
use kafka_wire::ErrorCode;
use machine::metadata::image::ConfigResource;
use model::BrokerId;

use super::topics::Failure;
use super::{Front, directory};

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

/// The resource that a request names, if there is one.
fn resource(front: &Front, kind: i8, name: &str) -> Result<Resource, Failure> {
    match kind {
        resource_type::TOPIC => {
            super::topics::check_name(name)?;
            if directory::topic_named(&front.metadata.image(), name).is_none() {
                return Err(Failure::new(
                    ErrorCode::UnknownTopicOrPartition,
                    format!("The topic '{name}' does not exist."),
                ));
            }
            Ok(Resource {
                id: ConfigResource::Topic(name.into()),
                scope: Scope::Topic,
            })
        }
        resource_type::BROKER if name.is_empty() => Ok(Resource {
            id: ConfigResource::BrokerDefault,
            scope: Scope::Broker,
        }),
        resource_type::BROKER => match name.parse() {
            Ok(id) => Ok(Resource {
                id: ConfigResource::Broker(BrokerId(id)),
                scope: Scope::Broker,
            }),
            Err(_) => Err(Failure::new(
                ErrorCode::InvalidRequest,
                format!("Node id must be an integer, but it is: {name}"),
            )),
        },
        resource_type::GROUP if name.is_empty() => Err(Failure::new(
            ErrorCode::InvalidRequest,
            "Default group resources are not allowed.",
        )),
        resource_type::GROUP => Ok(Resource {
            id: ConfigResource::Group(name.into()),
            scope: Scope::Group,
        }),
        _ => Err(Failure::new(
            ErrorCode::InvalidRequest,
            format!("Unsupported resource type: {kind}"),
        )),
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

/// Refuses a change at run time of a broker key that is read at start, or that differs by nature
/// from broker to broker.
fn check_dynamic(resource: &ConfigResource, name: &str) -> Result<(), Failure> {
    let Some(definition) = catalogue(Scope::Broker).get(name) else {
        return Ok(());
    };
    let name = name.to_owned();
    match (resource, definition.update_mode) {
        (ConfigResource::Broker(_) | ConfigResource::BrokerDefault, UpdateMode::ReadOnly) => {
            Err(Refused::ReadOnly { name }.into())
        }
        (ConfigResource::BrokerDefault, UpdateMode::PerBroker) => {
            Err(Refused::PerBrokerOnly { name }.into())
        }
        _ => Ok(()),
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let code = match refused {
            Refused::Unknown { .. } | Refused::Misnamed { .. } | Refused::Value { .. } => {
                ErrorCode::InvalidConfig
            }
            Refused::ReadOnly { .. } | Refused::PerBrokerOnly { .. } => ErrorCode::InvalidRequest,
        };
        Self::new(code, refused.to_string())
    }
}
