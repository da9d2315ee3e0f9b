//! `AlterConfigs`, which states all of a resource's values, and `IncrementalAlterConfigs`, which
//! states changes.

use std::collections::HashSet;

use api::config::{Kind, catalogue};
use kafka_wire::messages::{alter_configs, incremental_alter_configs};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::command::Command;

use super::{Resource, check, check_dynamic, resource};
use crate::config::effective::with_layers;
use crate::kafka::Front;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::{Failure, submit};

/// Neither request carries a timeout; this is Kafka's default for admin calls.
const TIMEOUT_MS: i32 = 60_000;

/// What to do with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Set,
    Delete,
    Append,
    Subtract,
}

/// `None` removes the key.
type Change = (String, Option<String>);

impl Serve for alter_configs::Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<alter_configs::Response> {
        let mut seen = HashSet::new();
        let mut responses = Vec::with_capacity(self.resources.len());
        for wanted in self.resources {
            let first = seen.insert((wanted.resource_type, wanted.resource_name.clone()));
            let altered = async {
                once(first)?;
                let target = resource(&call.front, wanted.resource_type, &wanted.resource_name)?;
                let changes = replacement(&call.front, &target, &wanted.configs)?;
                apply(&call.front, target, changes, self.validate_only).await
            };
            let (code, error_message) = outcome(altered.await);
            responses.push(alter_configs::AlterConfigsResourceResponse {
                error_code: code.code(),
                error_message,
                resource_type: wanted.resource_type,
                resource_name: wanted.resource_name,
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
        let mut seen = HashSet::new();
        let mut responses = Vec::with_capacity(self.resources.len());
        for wanted in self.resources {
            let first = seen.insert((wanted.resource_type, wanted.resource_name.clone()));
            let altered = async {
                once(first)?;
                let target = resource(&call.front, wanted.resource_type, &wanted.resource_name)?;
                let changes = changes(&call.front, &target, &wanted.configs)?;
                apply(&call.front, target, changes, self.validate_only).await
            };
            let (code, error_message) = outcome(altered.await);
            responses.push(incremental_alter_configs::AlterConfigsResourceResponse {
                error_code: code.code(),
                error_message,
                resource_type: wanted.resource_type,
                resource_name: wanted.resource_name,
            });
        }
        incremental_alter_configs::Response {
            responses,
            ..incremental_alter_configs::Response::default()
        }
        .into()
    }
}

fn once(first: bool) -> Result<(), Failure> {
    if first {
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

async fn apply(
    front: &Front,
    target: Resource,
    changes: Vec<Change>,
    validate_only: bool,
) -> Result<(), Failure> {
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

/// Every key that is stated is set, every other one removed.
fn replacement(
    front: &Front,
    target: &Resource,
    stated: &[alter_configs::AlterableConfig],
) -> Result<Vec<Change>, Failure> {
    let image = front.metadata.image();
    let present = image.configs.get(&target.id);
    let mut changes: Vec<Change> = present
        .into_iter()
        .flat_map(|configs| configs.keys())
        .filter(|key| !stated.iter().any(|config| *config.name == ***key))
        .map(|key| (key.to_string(), None))
        .collect();
    for config in stated {
        let value = config.value.as_ref().ok_or_else(|| null(&config.name))?;
        check_dynamic(&target.id, &config.name)?;
        check(target.scope, &config.name, value)?;
        changes.push((config.name.to_string(), Some(value.to_string())));
    }
    Ok(changes)
}

fn changes(
    front: &Front,
    target: &Resource,
    stated: &[incremental_alter_configs::AlterableConfig],
) -> Result<Vec<Change>, Failure> {
    let mut seen = HashSet::new();
    stated
        .iter()
        .map(|config| {
            if !seen.insert(config.name.clone()) {
                return Err(Failure::new(
                    ErrorCode::InvalidRequest,
                    format!("Error due to duplicate config keys: {}", config.name),
                ));
            }
            let operation = operation(config.config_operation)?;
            check_dynamic(&target.id, &config.name)?;
            if operation == Operation::Delete {
                return Ok((config.name.to_string(), None));
            }
            let value = config.value.as_ref().ok_or_else(|| null(&config.name))?;
            let value = match operation {
                Operation::Set | Operation::Delete => value.to_string(),
                _ => edited(front, target, &config.name, value, operation)?,
            };
            check(target.scope, &config.name, &value)?;
            Ok((config.name.to_string(), Some(value)))
        })
        .collect()
}

fn operation(code: i8) -> Result<Operation, Failure> {
    match code {
        0 => Ok(Operation::Set),
        1 => Ok(Operation::Delete),
        2 => Ok(Operation::Append),
        3 => Ok(Operation::Subtract),
        _ => Err(Failure::new(
            ErrorCode::InvalidRequest,
            format!("Unknown operation type {code}"),
        )),
    }
}

fn null(name: &str) -> Failure {
    Failure::new(
        ErrorCode::InvalidRequest,
        format!("Null value not supported for : {name}"),
    )
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
        let verb = match operation {
            Operation::Append => "APPEND to",
            _ => "SUBTRACT from",
        };
        return Err(Failure::new(
            ErrorCode::InvalidConfig,
            format!("Can't {verb} key {name} because its type is not LIST."),
        ));
    }
    let now = current(front, target, name);
    let mut items: Vec<&str> = items(&now).collect();
    for item in self::items(value) {
        let present = items.contains(&item);
        match operation {
            Operation::Append if !present => items.push(item),
            Operation::Subtract => items.retain(|known| *known != item),
            _ => {}
        }
    }
    Ok(items.join(","))
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn current(front: &Front, target: &Resource, name: &str) -> String {
    let image = front.metadata.image();
    let value = with_layers(&front.config, &image, &target.id, |layers| {
        catalogue(target.scope).value(name, layers)
    });
    value.unwrap_or_default()
}
