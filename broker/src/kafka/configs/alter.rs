//! `AlterConfigs`, which states all of a resource's values, and `IncrementalAlterConfigs`, which
//! states changes.

use std::collections::{HashMap, HashSet};

use api::config::{Kind, Scope, catalogue};
use kafka_wire::messages::{alter_configs, incremental_alter_configs};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::Command;
use machine::metadata::image::ConfigResource;
use model::BrokerId;

use super::resource_type::{BROKER, BROKER_LOGGER, GROUP, TOPIC};
use super::{Change, Resource, broker, check, group, in_sync, items, loggers, topic};
use crate::config::effective::with_layers;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::{Failure, check_name, submit};
use crate::kafka::{Front, directory};

/// Neither request carries a timeout; this is Kafka's default for admin calls.
const TIMEOUT_MS: i32 = 60_000;

/// What to do with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Set,
    Delete,
    Append,
    Subtract,
}

/// One key as a request names it.
pub(super) struct Edit {
    pub(super) name: Str,
    pub(super) operation: Operation,
    pub(super) value: Option<Str>,
}

impl Serve for alter_configs::Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<alter_configs::Response> {
        let named = self.resources.iter();
        let twice = twice(named.map(|wanted| (wanted.resource_type, &wanted.resource_name)));
        let mut responses = Vec::with_capacity(self.resources.len());
        for wanted in &self.resources {
            let front = &call.front;
            let name = &wanted.resource_name;
            let altered = async {
                once(&twice, wanted.resource_type, name)?;
                let edits = stated(&wanted.configs)?;
                let target = target(front, wanted.resource_type, name)?;
                let edits = replacing(front, &target, edits);
                apply(front, target, edits, self.validate_only).await
            };
            let (code, error_message) = outcome(altered.await);
            responses.push(alter_configs::AlterConfigsResourceResponse {
                error_code: code.code(),
                error_message,
                resource_type: wanted.resource_type,
                resource_name: name.clone(),
            });
        }
        alter_configs::Response {
            responses,
            ..alter_configs::Response::default()
        }
        .into()
    }
}

impl Serve for incremental_alter_configs::Request {
    const OFFERED: Versions = Versions::new(0, 1);

    async fn serve(self, call: Call) -> Answer<incremental_alter_configs::Response> {
        let named = self.resources.iter();
        let twice = twice(named.map(|wanted| (wanted.resource_type, &wanted.resource_name)));
        let mut responses = Vec::with_capacity(self.resources.len());
        for wanted in &self.resources {
            let front = &call.front;
            let name = &wanted.resource_name;
            let altered = async {
                once(&twice, wanted.resource_type, name)?;
                let edits = edits(&wanted.configs)?;
                if wanted.resource_type == BROKER_LOGGER {
                    return loggers::alter(front, name, &edits, self.validate_only);
                }
                let target = target(front, wanted.resource_type, name)?;
                apply(front, target, edits, self.validate_only).await
            };
            let (code, error_message) = outcome(altered.await);
            responses.push(incremental_alter_configs::AlterConfigsResourceResponse {
                error_code: code.code(),
                error_message,
                resource_type: wanted.resource_type,
                resource_name: name.clone(),
            });
        }
        incremental_alter_configs::Response {
            responses,
            ..incremental_alter_configs::Response::default()
        }
        .into()
    }
}

/// Resources that a request names more than once: none of them is altered.
fn twice<'a>(named: impl Iterator<Item = (i8, &'a Str)>) -> HashSet<(i8, Str)> {
    let mut counts: HashMap<(i8, Str), usize> = HashMap::new();
    for (kind, name) in named {
        *counts.entry((kind, name.clone())).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    counts.into_keys().collect()
}

fn once(twice: &HashSet<(i8, Str)>, kind: i8, name: &Str) -> Result<(), Failure> {
    if !twice.contains(&(kind, name.clone())) {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::InvalidRequest,
        "Each resource must appear at most once.",
    ))
}

fn outcome(altered: Result<(), Failure>) -> (ErrorCode, Option<Str>) {
    match altered {
        Ok(()) => (ErrorCode::None, None),
        Err(failure) => (failure.code, Some(failure.message.into())),
    }
}

/// The resource that a request alters, if it may be altered here.
fn target(front: &Front, kind: i8, name: &str) -> Result<Resource, Failure> {
    let refused = |text: String| Err(Failure::new(ErrorCode::InvalidRequest, text));
    match kind {
        TOPIC if name.is_empty() => refused("Default topic resources are not allowed.".into()),
        TOPIC => {
            check_name(name)?;
            if directory::topic_named(&front.metadata.image(), name).is_none() {
                return Err(Failure::new(
                    ErrorCode::UnknownTopicOrPartition,
                    format!("The topic '{name}' does not exist."),
                ));
            }
            Ok(Resource::topic(name))
        }
        BROKER if name.is_empty() => Ok(Resource::broker(ConfigResource::BrokerDefault)),
        // What a broker can do is known there only.
        BROKER => match name.parse() {
            Ok(id) if BrokerId(id) == front.config.node_id => {
                Ok(Resource::broker(ConfigResource::Broker(BrokerId(id))))
            }
            Ok(id) => refused(format!(
                "Unexpected broker id, expected {}, but received {id}",
                front.config.node_id
            )),
            Err(_) => refused(format!("Node id must be an integer, but it is: {name}")),
        },
        GROUP if name.is_empty() => refused("Default group resources are not allowed.".into()),
        GROUP => Ok(Resource::group(name)),
        _ => refused(format!("Unknown resource type {kind}")),
    }
}

async fn apply(
    front: &Front,
    target: Resource,
    edits: Vec<Edit>,
    validate_only: bool,
) -> Result<(), Failure> {
    let changes = edits
        .into_iter()
        .map(|edit| change(front, &target, edit))
        .collect::<Result<Vec<_>, _>>()?;
    match target.scope {
        Scope::Broker => {
            broker::check(front, &target.id, &changes)?;
            in_sync::check(&front.metadata.image(), &target.id, &changes)?;
        }
        Scope::Topic => topic::check(front, &target.id, &changes)?,
        Scope::Group => group::check(front, &changes)?,
    }
    if changes.is_empty() {
        return Ok(());
    }
    let command = Command::AlterConfigs {
        resource: target.id,
        changes,
    };
    submit(front, command, TIMEOUT_MS, validate_only)
        .await
        .map(drop)
}

fn stated(configs: &[alter_configs::AlterableConfig]) -> Result<Vec<Edit>, Failure> {
    let edits = configs.iter().map(|config| Edit {
        name: config.name.clone(),
        operation: Operation::Set,
        value: config.value.clone(),
    });
    whole(edits.collect())
}

fn edits(configs: &[incremental_alter_configs::AlterableConfig]) -> Result<Vec<Edit>, Failure> {
    let edits = configs.iter().map(|config| {
        Ok(Edit {
            name: config.name.clone(),
            operation: operation(config.config_operation)?,
            value: config.value.clone(),
        })
    });
    whole(edits.collect::<Result<_, Failure>>()?)
}

/// Every key is named once, and has a value if it is to have one.
fn whole(edits: Vec<Edit>) -> Result<Vec<Edit>, Failure> {
    let refused = |text: String| Err(Failure::new(ErrorCode::InvalidRequest, text));
    let mut seen = HashSet::new();
    if !edits.iter().all(|edit| seen.insert(&edit.name)) {
        return refused("Error due to duplicate config keys".to_owned());
    }
    let lacking = |edit: &&Edit| edit.value.is_none() && edit.operation != Operation::Delete;
    let lacking: Vec<&str> = edits
        .iter()
        .filter(lacking)
        .map(|edit| &*edit.name)
        .collect();
    if !lacking.is_empty() {
        return refused(format!(
            "Null value not supported for : {}",
            lacking.join(",")
        ));
    }
    Ok(edits)
}

fn operation(code: i8) -> Result<Operation, Failure> {
    match code {
        0 => Ok(Operation::Set),
        1 => Ok(Operation::Delete),
        2 => Ok(Operation::Append),
        3 => Ok(Operation::Subtract),
        _ => Err(Failure::new(
            ErrorCode::InvalidRequest,
            format!("Unknown operations type {code}"),
        )),
    }
}

/// Every key that is set and not stated is removed.
fn replacing(front: &Front, target: &Resource, mut edits: Vec<Edit>) -> Vec<Edit> {
    let image = front.metadata.image();
    let present = image.configs.get(&target.id);
    let stated: HashSet<&str> = edits.iter().map(|edit| &*edit.name).collect();
    let removed: Vec<Edit> = present
        .into_iter()
        .flat_map(|configs| configs.keys())
        .filter(|key| !stated.contains(&***key))
        .map(|key| Edit {
            name: Str::from(&**key),
            operation: Operation::Delete,
            value: None,
        })
        .collect();
    edits.extend(removed);
    edits
}

fn change(front: &Front, target: &Resource, edit: Edit) -> Result<Change, Failure> {
    let name = edit.name.to_string();
    let value = edit.value.unwrap_or_default();
    let value = match edit.operation {
        Operation::Delete => return Ok((name, None)),
        Operation::Set => value.to_string(),
        operation => edited(front, target, &name, &value, operation)?,
    };
    if target.scope != Scope::Broker {
        check(target.scope, &name, &value)?;
    }
    Ok((name, Some(value)))
}

/// The list that holds now, with the items of `value` added or taken out.
fn edited(
    front: &Front,
    target: &Resource,
    name: &str,
    value: &str,
    operation: Operation,
) -> Result<String, Failure> {
    let is_list = catalogue(target.scope)
        .get(name)
        .is_some_and(|definition| definition.kind == Kind::List);
    if !is_list {
        let word = match operation {
            Operation::Append => "append",
            _ => "subtract",
        };
        let text = match target.scope {
            Scope::Broker => {
                format!("Config value {word} is not allowed for config key: {name}")
            }
            _ => format!(
                "Can't {} to key {name} because its type is not LIST.",
                word.to_uppercase()
            ),
        };
        return Err(Failure::new(ErrorCode::InvalidConfig, text));
    }
    let image = front.metadata.image();
    let now = with_layers(&front.config, &image, &target.id, |layers| {
        catalogue(target.scope).value(name, layers)
    });
    let now = now.unwrap_or_default();
    let mut list: Vec<&str> = items(&now).collect();
    for item in items(value) {
        let present = list.contains(&item);
        match operation {
            Operation::Append if !present => list.push(item),
            Operation::Subtract => list.retain(|known| *known != item),
            _ => {}
        }
    }
    Ok(list.join(","))
}
