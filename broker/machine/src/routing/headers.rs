//! Headers exchange: the binding's arguments against the message's headers (RabbitMQ:
//! `rabbit_exchange_type_headers`).

use crate::value::{Table, Value};

const MATCH: &str = "x-match";

pub(super) fn matches(arguments: &Table, headers: &Table) -> bool {
    let mode = match arguments.get(MATCH) {
        Some(Value::String(mode)) => mode.as_str(),
        _ => "all",
    };
    let with_x = matches!(mode, "all-with-x" | "any-with-x");
    let mut asked = arguments
        .iter()
        .filter(|(name, _)| name.as_str() != MATCH && (with_x || !name.starts_with("x-")));
    let found = |(name, wanted): (&String, &Value)| match headers.get(name) {
        // A void argument asks for presence only.
        Some(value) => *wanted == Value::Void || value == wanted,
        None => false,
    };
    if matches!(mode, "any" | "any-with-x") {
        asked.any(found)
    } else {
        asked.all(found)
    }
}
