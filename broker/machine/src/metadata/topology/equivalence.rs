//! Whether a declaration agrees with what is there: RabbitMQ's 406, to the letter.

use super::super::command::Refusal;
use super::super::image::{Exchange, ExchangeKind, Queue, QueueKind};
use crate::value::{Table, Value};

/// Arguments that are compared; unknown ones never matter.
const QUEUE_ARGUMENTS: [&str; 9] = [
    "x-expires",
    "x-message-ttl",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-max-length",
    "x-max-length-bytes",
    "x-overflow",
    "x-single-active-consumer",
    "x-queue-type",
];
const CLASSIC_ARGUMENTS: [&str; 1] = ["x-max-priority"];
const QUORUM_ARGUMENTS: [&str; 3] = [
    "x-delivery-limit",
    "x-quorum-initial-group-size",
    "x-dead-letter-strategy",
];

pub fn exchanges(vhost: &str, present: &Exchange, asked: &Exchange) -> Result<(), Refusal> {
    let subject = format!("exchange '{}' in vhost '{vhost}'", present.name);
    let kinds = (kind_name(asked.kind), kind_name(present.kind));
    same(&subject, "type", kinds.0, kinds.1)?;
    same(&subject, "durable", asked.durable, present.durable)?;
    same(
        &subject,
        "auto_delete",
        asked.auto_delete,
        present.auto_delete,
    )?;
    same(&subject, "internal", asked.internal, present.internal)?;
    same_argument(
        &subject,
        "alternate-exchange",
        &asked.arguments,
        &present.arguments,
    )
}

pub fn queues(present: &Queue, asked: &Queue, quorum: bool) -> Result<(), Refusal> {
    let subject = format!("queue '{}' in vhost '{}'", present.name, present.vhost);
    same(&subject, "durable", asked.durable, present.durable)?;
    same(
        &subject,
        "auto_delete",
        asked.auto_delete,
        present.auto_delete,
    )?;
    let (kind, of_kind): (_, &[&str]) = match present.kind {
        QueueKind::Classic { .. } => ("classic", &CLASSIC_ARGUMENTS),
        QueueKind::Quorum { .. } => ("quorum", &QUORUM_ARGUMENTS),
    };
    let asked_kind = if quorum { "quorum" } else { "classic" };
    same(&subject, "x-queue-type", asked_kind, kind)?;
    for name in QUEUE_ARGUMENTS.iter().chain(of_kind) {
        if *name != "x-queue-type" {
            same_argument(&subject, name, &asked.arguments, &present.arguments)?;
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Display>(
    subject: &str,
    name: &str,
    asked: T,
    present: T,
) -> Result<(), Refusal> {
    if asked == present {
        return Ok(());
    }
    Err(Refusal::Inequivalent(format!(
        "inequivalent arg '{name}' for {subject}: received '{asked}' but current is '{present}'"
    )))
}

fn same_argument(subject: &str, name: &str, asked: &Table, present: &Table) -> Result<(), Refusal> {
    let (asked, present) = (asked.get(name), present.get(name));
    if asked == present {
        return Ok(());
    }
    if let (Some(Value::Int(asked)), Some(Value::Int(present))) = (asked, present) {
        return same(subject, name, *asked, *present);
    }
    if let (Some(Value::String(asked)), Some(Value::String(present))) = (asked, present) {
        return same(subject, name, asked, present);
    }
    // Only where one is missing, or the types differ, is the type said.
    Err(Refusal::Inequivalent(format!(
        "inequivalent arg '{name}' for {subject}: received {} but current is {}",
        described(asked),
        described(present)
    )))
}

fn described(value: Option<&Value>) -> String {
    let (text, kind) = match value {
        None => return "none".to_owned(),
        Some(Value::String(text)) => (text.clone(), "longstr"),
        Some(Value::Int(n)) if i32::try_from(*n).is_ok() => (n.to_string(), "signedint"),
        Some(Value::Int(n)) => (n.to_string(), "long"),
        Some(Value::Bool(b)) => (b.to_string(), "bool"),
        Some(Value::Float(f)) => (f.to_string(), "double"),
        Some(Value::Timestamp(t)) => (t.to_string(), "timestamp"),
        Some(Value::Void) => ("undefined".to_owned(), "void"),
        Some(Value::Decimal { scale, unscaled }) => (format!("{scale},{unscaled}"), "decimal"),
        Some(Value::Bytes(bytes)) => (format!("{} bytes", bytes.len()), "binary"),
        Some(Value::Array(items)) => (format!("{} items", items.len()), "array"),
        Some(Value::Table(table)) => (format!("{} fields", table.len()), "table"),
    };
    format!("the value '{text}' of type '{kind}'")
}

fn kind_name(kind: ExchangeKind) -> &'static str {
    match kind {
        ExchangeKind::Direct => "direct",
        ExchangeKind::Fanout => "fanout",
        ExchangeKind::Topic => "topic",
        ExchangeKind::Headers => "headers",
    }
}
