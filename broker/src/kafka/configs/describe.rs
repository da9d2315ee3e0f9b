//! `DescribeConfigs`.

use std::collections::BTreeSet;

use api::config::{Definition, Effective, Layers, Scope, Source, catalogue};
use kafka_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult,
    DescribeConfigsSynonym, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::{ConfigResource, Image};
use model::BrokerId;

use super::resource_type::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use super::{Resource, loggers};
use crate::config::effective::with_layers;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::{Failure, check_name};
use crate::kafka::{Front, directory};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 4);

    async fn serve(self, call: Call) -> Answer<Response> {
        let with = With {
            synonyms: self.include_synonyms,
            documentation: self.include_documentation,
        };
        let results = self
            .resources
            .iter()
            .map(|wanted| {
                let described = describe(&call.front, wanted, with);
                result(wanted, described)
            })
            .collect();
        Response {
            results,
            ..Response::default()
        }
        .into()
    }
}

/// What is asked for beside the values.
#[derive(Clone, Copy)]
struct With {
    synonyms: bool,
    documentation: bool,
}

type Described = Vec<DescribeConfigsResourceResult>;

fn result(
    wanted: &DescribeConfigsResource,
    described: Result<Described, Failure>,
) -> DescribeConfigsResult {
    let (code, message, configs) = match described {
        Ok(configs) => (ErrorCode::None, String::new(), configs),
        Err(failure) => (failure.code, failure.message, Vec::new()),
    };
    DescribeConfigsResult {
        error_code: code.code(),
        error_message: Some(message.into()),
        resource_type: wanted.resource_type,
        resource_name: wanted.resource_name.clone(),
        configs,
    }
}

fn describe(
    front: &Front,
    wanted: &DescribeConfigsResource,
    with: With,
) -> Result<Described, Failure> {
    // No keys named are all keys.
    let keys = wanted.configuration_keys.as_ref();
    let keys = keys.filter(|keys| !keys.is_empty());
    let asked = |name: &str| keys.is_none_or(|keys| keys.iter().any(|key| **key == *name));
    let image = front.metadata.image();
    let name = &*wanted.resource_name;
    let resource = match wanted.resource_type {
        TOPIC => described_topic(&image, name)?,
        BROKER => described_broker(front.config.node_id, name)?,
        GROUP if name.is_empty() => return Err(refused("Group name must not be empty")),
        GROUP => Resource::group(name),
        BROKER_LOGGER => {
            check_logger_node(front.config.node_id, name)?;
            return Ok(loggers::describe(asked));
        }
        CLIENT_METRICS if name.is_empty() => {
            return Err(refused(
                "Client metrics subscription name must not be empty",
            ));
        }
        // There are no subscriptions, so none has a key.
        CLIENT_METRICS => return Ok(Vec::new()),
        kind => return Err(refused(format!("Unknown resource type {kind}"))),
    };
    let Resource { id, scope } = resource;
    Ok(with_layers(&front.config, &image, &id, |layers| {
        let mut lines = match id {
            ConfigResource::BrokerDefault => {
                let layers = Layers {
                    cluster: layers.cluster,
                    ..Layers::NONE
                };
                cluster_wide(layers, with)
            }
            ConfigResource::Broker(_) => {
                let mut lines = of(scope, layers, with);
                lines.extend(when_set(layers, with));
                lines
            }
            _ => of(scope, layers, with),
        };
        lines.extend(unknown(&image, &id, with));
        lines.retain(|line| asked(&line.name));
        lines
    }))
}

fn refused(text: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, text)
}

fn described_topic(image: &Image, name: &str) -> Result<Resource, Failure> {
    check_name(name)?;
    match directory::topic_named(image, name) {
        Some(_) => Ok(Resource::topic(name)),
        None => Err(Failure::new(ErrorCode::UnknownTopicOrPartition, "")),
    }
}

fn described_broker(this: BrokerId, name: &str) -> Result<Resource, Failure> {
    if name.is_empty() {
        return Ok(Resource::broker(ConfigResource::BrokerDefault));
    }
    match name.parse().map(BrokerId) {
        Ok(id) if id == this => Ok(Resource::broker(ConfigResource::Broker(id))),
        Ok(id) => Err(refused(format!(
            "Unexpected broker id, expected {this} or empty string, but received {id}"
        ))),
        Err(_) => Err(refused(format!(
            "Broker id must be an integer, but it is: {name}"
        ))),
    }
}

fn check_logger_node(this: BrokerId, name: &str) -> Result<(), Failure> {
    match name.parse().map(BrokerId) {
        Ok(id) if id == this => Ok(()),
        Ok(id) => Err(refused(format!(
            "Unexpected broker id, expected {this} but received {id}"
        ))),
        Err(_) if name.is_empty() => Err(refused("Broker id must not be empty")),
        Err(_) => Err(refused(format!(
            "Broker id must be an integer, but it is: {name}"
        ))),
    }
}

/// Every key of `scope` that is always shown.
fn of(scope: Scope, layers: Layers<'_>, with: With) -> Described {
    catalogue(scope)
        .public()
        .map(|definition| {
            let effective = catalogue(scope).effective(definition, layers);
            line(definition, effective, with)
        })
        .collect()
}

/// Broker keys that are shown only where somebody set them.
fn when_set(layers: Layers<'_>, with: With) -> Described {
    catalogue(Scope::Broker)
        .iter()
        .filter(|definition| definition.shown_when_set)
        .map(|definition| {
            let effective = catalogue(Scope::Broker).effective(definition, layers);
            line(definition, effective, with)
        })
        .filter(|line| line.value.is_some())
        .collect()
}

/// Of the default broker only what was set for all brokers is told.
fn cluster_wide(layers: Layers<'_>, with: With) -> Described {
    catalogue(Scope::Broker)
        .iter()
        .filter(|definition| !definition.internal)
        .filter(|definition| (layers.cluster)(definition.name).is_some())
        .map(|definition| {
            let mut effective = catalogue(Scope::Broker).effective(definition, layers);
            effective
                .synonyms
                .retain(|synonym| synonym.source == Source::Cluster);
            line(definition, effective, with)
        })
        .collect()
}

/// Keys of brokers that the catalogue does not know. What they hold may be a secret.
fn unknown(image: &Image, id: &ConfigResource, with: With) -> Described {
    let set_in = |resource: &ConfigResource, source: Source| {
        let configs = image.configs.get(resource).cloned().unwrap_or_default();
        let names: Vec<(String, Source)> = configs
            .keys()
            .filter(|name| catalogue(Scope::Broker).get(name).is_none())
            .map(|name| (name.to_string(), source))
            .collect();
        names
    };
    let set: Vec<(String, Source)> = match id {
        ConfigResource::Broker(_) => {
            let mut set = set_in(id, Source::Broker);
            set.extend(set_in(&ConfigResource::BrokerDefault, Source::Cluster));
            set
        }
        ConfigResource::BrokerDefault => set_in(id, Source::Cluster),
        ConfigResource::Topic(_) | ConfigResource::Group(_) => Vec::new(),
    };
    let mut told = BTreeSet::new();
    let first = set.iter().filter(|(name, _)| told.insert(name.clone()));
    first
        .map(|(name, source)| DescribeConfigsResourceResult {
            name: Str::from(name.as_str()),
            value: None,
            read_only: true,
            config_source: *source as i8,
            is_sensitive: true,
            synonyms: set
                .iter()
                .filter(|(other, _)| with.synonyms && other == name)
                .map(|(name, source)| DescribeConfigsSynonym {
                    name: Str::from(name.as_str()),
                    value: None,
                    source: *source as i8,
                })
                .collect(),
            ..DescribeConfigsResourceResult::default()
        })
        .collect()
}

fn line(
    definition: &Definition,
    effective: Effective,
    with: With,
) -> DescribeConfigsResourceResult {
    let sensitive = definition.is_sensitive();
    let shown = |value: Option<String>| value.filter(|_| !sensitive).map(Str::from);
    let synonyms = if with.synonyms {
        effective.synonyms
    } else {
        Vec::new()
    };
    DescribeConfigsResourceResult {
        name: Str::from_static(definition.name),
        value: shown(effective.value),
        read_only: definition.scope == Scope::Broker && definition.needs_restart(),
        config_source: effective.source as i8,
        is_sensitive: sensitive,
        synonyms: synonyms
            .into_iter()
            .filter(|synonym| synonym.value.is_some() || synonym.source != Source::Default)
            .map(|synonym| DescribeConfigsSynonym {
                name: Str::from_static(synonym.name),
                value: shown(synonym.value),
                source: synonym.source as i8,
            })
            .collect(),
        config_type: definition.kind.code(),
        documentation: with
            .documentation
            .then(|| definition.documentation())
            .flatten()
            .map(|text| Str::from(text.into_owned())),
    }
}
