//! Protocol-neutral argument and header values: what an AMQP field table holds once it has left the
//! wire. Integer widths are gone on purpose: RabbitMQ compares arguments by value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Arguments of a queue, exchange, binding or consumer, and message headers, by name.
pub type Table = BTreeMap<String, Value>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Void,
    Bool(bool),
    Int(i64),
    /// An `l`-sized or smaller unsigned value above `i64::MAX` cannot occur on the wire.
    Float(f64),
    Decimal {
        scale: u8,
        unscaled: u32,
    },
    String(String),
    Bytes(Vec<u8>),
    /// Seconds since 1970, never range-checked (RabbitMQ does not either).
    Timestamp(u64),
    Array(Vec<Self>),
    Table(Table),
}
