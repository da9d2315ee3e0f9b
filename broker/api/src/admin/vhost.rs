//! Queues, exchanges and bindings of a virtual host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// AMQP arguments: booleans, numbers, strings, lists and objects of them.
pub type Arguments = BTreeMap<String, serde_json::Value>;

/// What a queue is declared with. Declaring it again with other properties is refused (`conflict`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// Takes the place of the argument `x-queue-type`, which may be left out of `arguments`.
    pub kind: QueueKind,
    /// A quorum queue is always durable.
    #[serde(default = "yes")]
    pub durable: bool,
    #[serde(default)]
    pub auto_delete: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: Arguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    Classic,
    Quorum,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    pub vhost: String,
    pub name: String,
    pub kind: QueueKind,
    pub durable: bool,
    pub auto_delete: bool,
    pub exclusive: bool,
    /// As declared, `x-queue-type` left out.
    pub arguments: Arguments,
    /// Broker that serves it: home of a classic queue, leader of a quorum queue's shard. Absent while
    /// the broker asked does not know.
    pub leader: Option<i32>,
    /// Brokers that keep it.
    pub members: Vec<i32>,
    /// Messages to deliver; this and the two below are absent while its broker cannot be asked.
    pub ready: Option<u64>,
    /// Delivered, not settled.
    pub unacked: Option<u64>,
    pub consumers: Option<u32>,
}

/// What an exchange is declared with. Declaring it again with other properties is refused
/// (`conflict`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeSpec {
    pub kind: ExchangeKind,
    #[serde(default = "yes")]
    pub durable: bool,
    #[serde(default)]
    pub auto_delete: bool,
    #[serde(default)]
    pub internal: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: Arguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeKind {
    Direct,
    Fanout,
    Topic,
    Headers,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub vhost: String,
    pub name: String,
    pub kind: ExchangeKind,
    pub durable: bool,
    pub auto_delete: bool,
    pub internal: bool,
    pub arguments: Arguments,
    /// Bindings that start at this exchange.
    pub bindings: Vec<Binding>,
}

/// One binding of the exchange in the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    pub destination: Destination,
    #[serde(default)]
    pub routing_key: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: Arguments,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    Queue(String),
    Exchange(String),
}

fn yes() -> bool {
    true
}
