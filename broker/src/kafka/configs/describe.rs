//! `DescribeConfigs`.

use api::config::{Definition, Effective, Layers, Scope, Source, catalogue};
use kafka_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult,
    DescribeConfigsSynonym, Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::ConfigResource;

use super::{Resource, resource, resource_type};
use crate::config::effective::with_layers;
use crate::kafka::Front;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::Failure;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 4);

    async fn serve(self, call: Call) -> Answer<Response> {
        let results = self
            .resources
            .iter()
            .map(|wanted| {
                let described = describe(&call.front, wanted, self.include_synonyms);
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

type Described = Vec<DescribeConfigsResourceResult>;

fn result(
    wanted: &DescribeConfigsResource,
    described: Result<Described, Failure>,
) -> DescribeConfigsResult {
    let (code, message, configs) = match described {
        Ok(configs) => (ErrorCode::None, None, configs),
        Err(failure) => (failure.code, Some(failure.message.into()), Vec::new()),
    };
    DescribeConfigsResult {
        error_code: code.code(),
        error_message: message,
        resource_type: wanted.resource_type,
        resource_name: wanted.resource_name.clone(),
        configs,
    }
}

fn describe(
    front: &Front,
    wanted: &DescribeConfigsResource,
    with_synonyms: bool,
) -> Result<Described, Failure> {
    // Kafka's loggers and client metrics subscriptions have no counterpart: they have no keys.
    if let resource_type::BROKER_LOGGER | resource_type::CLIENT_METRICS = wanted.resource_type {
        return Ok(Vec::new());
    }
    let Resource { id, scope } = resource(front, wanted.resource_type, &wanted.resource_name)?;
    if let ConfigResource::Broker(broker) = id
        && broker != front.config.node_id
    {
        return Err(Failure::new(
            ErrorCode::InvalidRequest,
            format!(
                "Unexpected broker id, expected {} or empty string, but received {broker}",
                front.config.node_id
            ),
        ));
    }
    let asked = |definition: &&Definition| {
        wanted
            .configuration_keys
            .as_ref()
            .is_none_or(|keys| keys.iter().any(|key| *key == definition.name))
    };
    let image = front.metadata.image();
    Ok(with_layers(&front.config, &image, &id, |layers| {
        let lines = catalogue(scope).public().filter(asked);
        match id {
            ConfigResource::BrokerDefault => cluster_wide(lines, layers, with_synonyms),
            _ => lines
                .map(|definition| {
                    let effective = catalogue(scope).effective(definition, layers);
                    line(definition, effective, with_synonyms)
                })
                .collect(),
        }
    }))
}

/// Of the default broker only what was set for all brokers is told.
fn cluster_wide<'a>(
    definitions: impl Iterator<Item = &'a Definition>,
    layers: Layers<'_>,
    with_synonyms: bool,
) -> Described {
    definitions
        .filter(|definition| (layers.cluster)(definition.name).is_some())
        .map(|definition| {
            let only_cluster = Layers {
                cluster: layers.cluster,
                ..Layers::NONE
            };
            let effective = catalogue(Scope::Broker).effective(definition, only_cluster);
            line(definition, effective, with_synonyms)
        })
        .collect()
}

fn line(
    definition: &Definition,
    effective: Effective,
    with_synonyms: bool,
) -> DescribeConfigsResourceResult {
    let sensitive = definition.is_sensitive();
    let shown = |value: Option<String>| value.filter(|_| !sensitive).map(Str::from);
    let synonyms = if with_synonyms {
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
        documentation: None,
    }
}
