//! Are the arguments of a queue, exchange or binding ones that it can have? (rabbitmq.md section 2)

use machine::value::{Table, Value};

use super::Error;

#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Both,
    Classic,
    Quorum,
}

type Check = fn(&Value) -> Result<(), String>;

const QUEUE_ARGUMENTS: [(&str, On, Check); 18] = [
    ("x-expires", On::Both, positive),
    ("x-message-ttl", On::Both, not_negative),
    ("x-max-length", On::Both, not_negative),
    ("x-max-length-bytes", On::Both, not_negative),
    ("x-overflow", On::Both, overflow),
    ("x-dead-letter-exchange", On::Both, text),
    ("x-dead-letter-routing-key", On::Both, text),
    ("x-dead-letter-strategy", On::Quorum, text),
    ("x-single-active-consumer", On::Both, flag),
    ("x-queue-type", On::Both, queue_type),
    ("x-queue-leader-locator", On::Both, locator),
    ("x-max-priority", On::Classic, priority),
    ("x-queue-mode", On::Classic, text),
    ("x-queue-version", On::Classic, not_negative),
    ("x-quorum-initial-group-size", On::Quorum, positive),
    ("x-quorum-target-group-size", On::Quorum, positive),
    ("x-delivery-limit", On::Quorum, integer),
    ("x-consumer-timeout", On::Quorum, not_negative),
];

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
    for (argument, on, check) in QUEUE_ARGUMENTS {
        let Some(value) = arguments.get(argument) else {
            continue;
        };
        check(value).map_err(|why| refuse(argument, &why))?;
        let foreign = match on {
            On::Both => false,
            On::Classic => quorum,
            On::Quorum => !quorum,
        };
        if foreign {
            let kind = if quorum { "quorum" } else { "classic" };
            return Err(refuse(argument, &format!("not for queues of type {kind}")));
        }
    }
    let has = |argument| arguments.contains_key(argument);
    if has("x-dead-letter-routing-key") && !has("x-dead-letter-exchange") {
        let why = "routing_key_but_no_dlx_defined";
        return Err(refuse("x-dead-letter-routing-key", why));
    }
    Ok(())
}

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

fn integer(value: &Value) -> Result<(), String> {
    match value {
        Value::Int(_) => Ok(()),
        other => Err(format!("expected integer, got {other:?}")),
    }
}

fn positive(value: &Value) -> Result<(), String> {
    integer(value)?;
    match value {
        Value::Int(0) => Err("{value_zero,0}".to_owned()),
        value => not_negative(value),
    }
}

fn not_negative(value: &Value) -> Result<(), String> {
    integer(value)?;
    match value {
        Value::Int(number) if *number < 0 => Err(format!("{{value_negative,{number}}}")),
        _ => Ok(()),
    }
}

fn text(value: &Value) -> Result<(), String> {
    match value {
        Value::String(_) => Ok(()),
        other => Err(format!("expected string, got {other:?}")),
    }
}

fn flag(value: &Value) -> Result<(), String> {
    match value {
        Value::Bool(_) => Ok(()),
        other => Err(format!("expected boolean, got {other:?}")),
    }
}

fn priority(value: &Value) -> Result<(), String> {
    match value {
        Value::Int(number) if (1..=255).contains(number) => Ok(()),
        Value::Int(number) => Err(format!("max priority must be from 1 to 255, got {number}")),
        other => integer(other),
    }
}

fn one_of(value: &Value, allowed: &[&str]) -> Result<(), String> {
    match value {
        Value::String(text) if allowed.contains(&text.as_str()) => Ok(()),
        Value::String(text) => Err(format!("'{text}' is none of {}", allowed.join(", "))),
        other => text(other),
    }
}

fn overflow(value: &Value) -> Result<(), String> {
    one_of(
        value,
        &["drop-head", "reject-publish", "reject-publish-dlx"],
    )
}

fn queue_type(value: &Value) -> Result<(), String> {
    one_of(value, &["classic", "quorum"])
}

fn locator(value: &Value) -> Result<(), String> {
    one_of(value, &["client-local", "balanced"])
}
