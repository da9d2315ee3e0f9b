//! Broker loggers as a resource: names and levels of this process (KIP-412).

use kafka_wire::messages::describe_configs::DescribeConfigsResourceResult;
use kafka_wire::{ErrorCode, Str};

use super::alter::{Edit, Operation};
use crate::kafka::Front;
use crate::kafka::topics::Failure;
use crate::telemetry::levels::{self, Level, Refused};

/// `config_source` of a level.
const DYNAMIC_BROKER_LOGGER: i8 = 6;

/// Changes levels, all or, when one cannot be changed, none.
pub(super) fn alter(
    front: &Front,
    name: &str,
    edits: &[Edit],
    validate_only: bool,
) -> Result<(), Failure> {
    check_node(front, name)?;
    let changes = edits.iter().map(change).collect::<Result<Vec<_>, _>>()?;
    for (logger, level) in changes {
        if !validate_only {
            levels::change(logger, level)?;
        }
    }
    Ok(())
}

fn check_node(front: &Front, name: &str) -> Result<(), Failure> {
    let this = front.config.node_id.0;
    let text = match name.parse::<i32>() {
        Ok(id) if id == this => return Ok(()),
        Ok(id) => format!("Unexpected node id. Expected {this}, but received {id}"),
        Err(_) => format!("Node id must be an integer, but it is: {name}"),
    };
    Err(Failure::new(ErrorCode::InvalidRequest, text))
}

fn change(edit: &Edit) -> Result<(&str, Option<Level>), Failure> {
    let logger = &*edit.name;
    let word = match edit.operation {
        Operation::Delete => {
            levels::check(logger, None)?;
            return Ok((logger, None));
        }
        Operation::Append => "APPEND",
        Operation::Subtract => "SUBTRACT",
        Operation::Set => {
            let level = level(logger, edit.value.as_deref().unwrap_or_default())?;
            return Ok((logger, Some(level)));
        }
    };
    Err(Failure::new(
        ErrorCode::InvalidRequest,
        format!("{word} operation is not allowed for the BROKER_LOGGER resource"),
    ))
}

/// Kafka takes levels in capitals only.
fn level(logger: &str, text: &str) -> Result<Level, Failure> {
    levels::check(logger, Some(Level::Info))?;
    let level = text.parse::<Level>();
    level
        .ok()
        .filter(|level| level.to_string() == text)
        .ok_or_else(|| {
            Failure::new(
                ErrorCode::InvalidConfig,
                format!("Cannot set the log level of {logger} to {text} as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
            )
        })
}

/// Every logger that `asked` says yes to.
pub(super) fn describe(asked: impl Fn(&str) -> bool) -> Vec<DescribeConfigsResourceResult> {
    levels::all()
        .into_iter()
        .filter(|(logger, _)| asked(logger))
        .map(|(logger, level)| DescribeConfigsResourceResult {
            name: Str::from(logger),
            value: Some(Str::from(level.to_string())),
            read_only: false,
            config_source: DYNAMIC_BROKER_LOGGER,
            is_sensitive: false,
            ..DescribeConfigsResourceResult::default()
        })
        .collect()
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let code = match refused {
            Refused::Root => ErrorCode::InvalidRequest,
            Refused::Unknown(_) | Refused::TooMany | Refused::Output(_) => ErrorCode::InvalidConfig,
        };
        Self::new(code, refused.to_string())
    }
}
