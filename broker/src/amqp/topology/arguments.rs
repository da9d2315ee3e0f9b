//! Are the arguments of a queue, exchange or binding ones that it can have? (as RabbitMQ's
//! `rabbit_amqqueue:check_arguments_type_and_value`)

use machine::queue::{Config, Kind};
use machine::value::{Table, Value};

use super::Error;

/// Arguments that only say where and how a queue is placed are checked here, the rest where they are
/// read ([`Config::from_arguments`]).
pub(super) fn check_queue(
    vhost: &str,
    name: &str,
    quorum: bool,
    arguments: &Table,
) -> Result<(), Error> {
    let refuse = |argument: &str, why: &str| {
        Error::InvalidArgument(format!(
            "invalid arg '{argument}' for queue '{name}' in vhost '{vhost}': {why}"
        ))
    };
    let kind = if quorum { Kind::Quorum } else { Kind::Classic };
    Config::from_arguments(kind, arguments)
        .map_err(|invalid| refuse(invalid.name, invalid.reason))?;
    for (argument, allowed) in CHOICES {
        match arguments.get(*argument) {
            None => {}
            Some(Value::String(choice)) if allowed.contains(&choice.as_str()) => {}
            Some(Value::String(choice)) => {
                let why = format!("'{choice}' is none of {}", allowed.join(", "));
                return Err(refuse(argument, &why));
            }
            Some(_) => return Err(refuse(argument, "not a string")),
        }
    }
    for argument in QUORUM_ONLY {
        if !quorum && arguments.contains_key(*argument) {
            return Err(refuse(argument, "for quorum queues only"));
        }
    }
    Ok(())
}

const CHOICES: &[(&str, &[&str])] = &[
    ("x-queue-type", &["classic", "quorum"]),
    ("x-queue-leader-locator", &["client-local", "balanced"]),
];

const QUORUM_ONLY: &[&str] = &[
    "x-quorum-initial-group-size",
    "x-quorum-target-group-size",
    "x-dead-letter-strategy",
    "x-consumer-timeout",
];

pub(super) fn check_exchange(vhost: &str, name: &str, arguments: &Table) -> Result<(), Error> {
    match arguments.get("alternate-exchange") {
        None | Some(Value::String(_)) => Ok(()),
        Some(_) => Err(Error::InvalidArgument(format!(
            "invalid arg 'alternate-exchange' for exchange '{name}' in vhost '{vhost}': expected a string"
        ))),
    }
}

pub(super) fn check_binding(arguments: &Table) -> Result<(), Error> {
    let why = match arguments.get("x-match") {
        None => return Ok(()),
        Some(Value::String(mode)) => {
            if matches!(mode.as_str(), "all" | "any" | "all-with-x" | "any-with-x") {
                return Ok(());
            }
            format!(
                "Invalid x-match field value \"{mode}\"; expected all, any, all-with-x, or any-with-x"
            )
        }
        Some(_) => "Invalid x-match field type; expected longstr".to_owned(),
    };
    Err(Error::InvalidArgument(why))
}
