//! AMQP arguments as JSON. A value that JSON has no word for (bytes, decimals, times) is shown as
//! text and is never read back: only scalars, lists and objects can be declared here.

use api::admin::Arguments;
use machine::value::{Table, Value};
use serde_json::Value as Json;

#[cfg(test)]
mod tests;

pub(super) fn to_json(table: &Table) -> Arguments {
    table.iter().map(|(k, v)| (k.clone(), json(v))).collect()
}

/// The first value that AMQP cannot carry is told by its name.
pub(super) fn from_json(arguments: &Arguments) -> Result<Table, String> {
    let mut table = Table::new();
    for (name, json) in arguments {
        let value = value(json).ok_or_else(|| name.clone())?;
        table.insert(name.clone(), value);
    }
    Ok(table)
}

fn json(value: &Value) -> Json {
    match value {
        Value::Void => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(n) => Json::from(*n),
        Value::Float(f) => Json::from(*f),
        Value::Decimal { scale, unscaled } => Json::from(format!("{unscaled}e-{scale}")),
        Value::String(text) => Json::from(text.as_str()),
        Value::Bytes(bytes) => Json::from(String::from_utf8_lossy(bytes)),
        Value::Timestamp(seconds) => Json::from(*seconds),
        Value::Array(values) => values.iter().map(json).collect(),
        Value::Table(table) => to_json(table).into_iter().collect(),
    }
}

fn value(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Void,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => match n.as_i64() {
            Some(n) => Value::Int(n),
            None if n.is_f64() => Value::Float(n.as_f64()?),
            None => return None,
        },
        Json::String(text) => Value::String(text.clone()),
        Json::Array(values) => Value::Array(values.iter().map(value).collect::<Option<_>>()?),
        Json::Object(map) => Value::Table(
            map.iter()
                .map(|(name, json)| Some((name.clone(), value(json)?)))
                .collect::<Option<_>>()?,
        ),
    })
}
