//! Is a declare equal to what is there? Differences get RabbitMQ's 406 text, which names the first one.

use std::fmt::Display;

use machine::metadata::image::{Exchange, ExchangeKind, Queue};
use machine::value::{Table, Value};

use super::Error;

/// Arguments of a queue that must be equal; unknown ones are ignored.
const QUEUE_ARGUMENTS: [&str; 18] = [
    "x-expires",
    "x-message-ttl",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-dead-letter-strategy",
    "x-max-length",
    "x-max-length-bytes",
    "x-max-priority",
    "x-overflow",
    "x-queue-type",
    "x-queue-mode",
    "x-single-active-consumer",
    "x-delivery-limit",
    "x-quorum-initial-group-size",
    "x-queue-leader-locator",
    "x-consumer-timeout",
    "x-delayed-retry-type",
    "x-message-deduplication",
];

/// Compares durable, auto-delete and arguments; whether it is exclusive was compared before.
pub(super) fn queue(vhost: &str, asked: &Queue, current: &Queue) -> Result<(), Error> {
    let what = format!("queue '{}' in vhost '{vhost}'", current.name);
    same(&what, "durable", asked.durable, current.durable)?;
    same(&what, "auto_delete", asked.auto_delete, current.auto_delete)?;
    for name in QUEUE_ARGUMENTS {
        let (mut asked, mut current) = (asked.arguments.get(name), current.arguments.get(name));
        if name == "x-queue-type" {
            // Not to ask for a type is to ask for a classic queue.
            let is_classic =
                |kind: &&Value| matches!(kind, Value::String(kind) if kind == "classic");
            asked = asked.filter(|kind| !is_classic(kind));
            current = current.filter(|kind| !is_classic(kind));
        }
        same_argument(&what, name, asked, current)?;
    }
    Ok(())
}

pub(super) fn exchange(vhost: &str, asked: &Exchange, current: &Exchange) -> Result<(), Error> {
    let what = format!("exchange '{}' in vhost '{vhost}'", current.name);
    same(&what, "type", kind(asked.kind), kind(current.kind))?;
    same(&what, "durable", asked.durable, current.durable)?;
    same(&what, "auto_delete", asked.auto_delete, current.auto_delete)?;
    same(&what, "internal", asked.internal, current.internal)?;
    let argument = |arguments: &'_ Table| arguments.get("alternate-exchange").cloned();
    same_argument(
        &what,
        "alternate-exchange",
        argument(&asked.arguments).as_ref(),
        argument(&current.arguments).as_ref(),
    )
}

fn kind(kind: ExchangeKind) -> &'static str {
    match kind {
        ExchangeKind::Direct => "direct",
        ExchangeKind::Fanout => "fanout",
        ExchangeKind::Topic => "topic",
        ExchangeKind::Headers => "headers",
    }
}

fn same<T: PartialEq + Display>(
    what: &str,
    property: &str,
    asked: T,
    current: T,
) -> Result<(), Error> {
    if asked == current {
        return Ok(());
    }
    Err(Error::Inequivalent(format!(
        "inequivalent arg '{property}' for {what}: received '{asked}' but current is '{current}'"
    )))
}

fn same_argument(
    what: &str,
    name: &str,
    asked: Option<&Value>,
    current: Option<&Value>,
) -> Result<(), Error> {
    if asked == current {
        return Ok(());
    }
    let (asked, current) = (described(asked), described(current));
    Err(Error::Inequivalent(format!(
        "inequivalent arg '{name}' for {what}: received {asked} but current is {current}"
    )))
}

/// As RabbitMQ prints an argument. The width of integers is not kept; the usual one is said.
fn described(value: Option<&Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => format!("the value '{text}' of type 'longstr'"),
        Some(Value::Int(number)) if i32::try_from(*number).is_ok() => {
            format!("the value '{number}' of type 'signedint'")
        }
        Some(Value::Int(number)) => format!("the value '{number}' of type 'long'"),
        Some(Value::Bool(flag)) => format!("the value '{flag}' of type 'bool'"),
        Some(other) => format!("the value '{other:?}'"),
    }
}
