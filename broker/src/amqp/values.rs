//! Field tables to and from the values that machines keep.

use amqp_wire::{ShortStr, Table, Value};
use bytes::Bytes;
use machine::value;

/// Of a repeated name the first one counts, as RabbitMQ has it.
pub(crate) fn from_wire(table: &Table) -> value::Table {
    let mut out = value::Table::new();
    for (name, value) in &table.0 {
        out.entry(name.as_str().to_owned())
            .or_insert_with(|| value_from_wire(value));
    }
    out
}

fn value_from_wire(value: &Value) -> value::Value {
    use value::Value as V;
    match value {
        Value::Bool(v) => V::Bool(*v),
        Value::F32(v) => V::Float(f64::from(*v)),
        Value::F64(v) => V::Float(*v),
        Value::Decimal { scale, unscaled } => V::Decimal {
            scale: *scale,
            unscaled: *unscaled,
        },
        Value::Timestamp(v) => V::Timestamp(*v),
        Value::LongStr(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => V::String(text.to_owned()),
            Err(_) => V::Bytes(bytes.to_vec()),
        },
        Value::Binary(bytes) => V::Bytes(bytes.to_vec()),
        Value::Array(values) => V::Array(values.iter().map(value_from_wire).collect()),
        Value::Table(table) => V::Table(from_wire(table)),
        Value::Void => V::Void,
        integer => integer.as_int().map_or(V::Void, V::Int),
    }
}

pub(super) fn value_to_wire(value: &value::Value) -> Value {
    use value::Value as V;
    match value {
        V::Void => Value::Void,
        V::Bool(v) => Value::Bool(*v),
        V::Int(v) => Value::I64(*v),
        V::Float(v) => Value::F64(*v),
        V::Decimal { scale, unscaled } => Value::Decimal {
            scale: *scale,
            unscaled: *unscaled,
        },
        V::String(text) => Value::from(text.clone()),
        V::Bytes(bytes) => Value::Binary(Bytes::copy_from_slice(bytes)),
        V::Timestamp(v) => Value::Timestamp(*v),
        V::Array(values) => Value::Array(values.iter().map(value_to_wire).collect()),
        V::Table(table) => Value::Table(to_wire(table)),
    }
}

fn to_wire(table: &value::Table) -> Table {
    let entries = table.iter();
    Table(
        entries
            .map(|(name, value)| (ShortStr::from(name.as_str()), value_to_wire(value)))
            .collect(),
    )
}
