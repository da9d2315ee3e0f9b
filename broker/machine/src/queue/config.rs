//! What a queue's arguments ask for, checked as RabbitMQ checks them (`rabbit_amqqueue`:
//! `declare_args`, and what `rabbit_classic_queue` and `rabbit_quorum_queue` support).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::{Table, Value};

/// Returns before a quorum queue gives a message up, unless `x-delivery-limit` says else.
pub const DELIVERY_LIMIT_DEFAULT: u32 = 20;

/// Highest priority of a quorum queue, and what a message without priority gets there.
const QUORUM_PRIORITY_MAX: u8 = 31;
const QUORUM_PRIORITY_DEFAULT: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Classic,
    Quorum,
}

/// `x-overflow`: what gives way when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overflow {
    #[default]
    DropHead,
    RejectPublish,
    RejectPublishDlx,
}

/// Unset limits are `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    pub kind: Kind,
    pub auto_delete: bool,
    /// `x-expires`, milliseconds.
    pub expires_ms: Option<u64>,
    /// `x-message-ttl`, milliseconds.
    pub message_ttl_ms: Option<u64>,
    /// `x-max-length`, ready messages.
    pub length_max: Option<u64>,
    /// `x-max-length-bytes`, bytes of ready messages with their properties.
    pub length_bytes_max: Option<u64>,
    pub overflow: Overflow,
    pub dead_letter_exchange: Option<Arc<str>>,
    pub dead_letter_routing_key: Option<Arc<str>>,
    pub single_active_consumer: bool,
    /// Highest priority served apart; above it clamps. 0 on a classic queue without `x-max-priority`.
    pub priorities: u8,
    /// Quorum only; `None` = a negative limit, i.e. none.
    pub delivery_limit: Option<u32>,
}

/// RabbitMQ's 406 `invalid arg 'x-…' for queue …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid arg '{name}': {reason}")]
pub struct InvalidArgument {
    pub name: &'static str,
    pub reason: &'static str,
}

impl Config {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            auto_delete: false,
            expires_ms: None,
            message_ttl_ms: None,
            length_max: None,
            length_bytes_max: None,
            overflow: Overflow::DropHead,
            dead_letter_exchange: None,
            dead_letter_routing_key: None,
            single_active_consumer: false,
            priorities: match kind {
                Kind::Classic => 0,
                Kind::Quorum => QUORUM_PRIORITY_MAX,
            },
            delivery_limit: match kind {
                Kind::Classic => None,
                Kind::Quorum => Some(DELIVERY_LIMIT_DEFAULT),
            },
        }
    }

    /// Unknown `x-` arguments are ignored, as RabbitMQ does; known ones of the other kind are refused.
    pub fn from_arguments(kind: Kind, arguments: &Table) -> Result<Self, InvalidArgument> {
        let mut config = Self::new(kind);
        config.expires_ms = number(arguments, "x-expires", 1)?;
        config.message_ttl_ms = number(arguments, "x-message-ttl", 0)?;
        config.length_max = number(arguments, "x-max-length", 0)?;
        config.length_bytes_max = number(arguments, "x-max-length-bytes", 0)?;
        config.overflow = overflow(kind, arguments)?;
        config.dead_letter_exchange = text(arguments, "x-dead-letter-exchange")?;
        config.dead_letter_routing_key = text(arguments, "x-dead-letter-routing-key")?;
        if config.dead_letter_routing_key.is_some() && config.dead_letter_exchange.is_none() {
            return refuse(
                "x-dead-letter-routing-key",
                "'x-dead-letter-exchange' is not set",
            );
        }
        config.single_active_consumer = match arguments.get("x-single-active-consumer") {
            None => false,
            Some(Value::Bool(on)) => *on,
            Some(_) => return refuse("x-single-active-consumer", "not a boolean"),
        };
        match (kind, arguments.get("x-max-priority")) {
            (_, None) => {}
            (Kind::Classic, Some(Value::Int(max))) => match u8::try_from(*max) {
                Ok(max) if max > 0 => config.priorities = max,
                _ => return refuse("x-max-priority", "not in 1..255"),
            },
            (Kind::Classic, Some(_)) => return refuse("x-max-priority", "not an integer"),
            (Kind::Quorum, Some(_)) => return refuse("x-max-priority", "not for quorum queues"),
        }
        match (kind, arguments.get("x-delivery-limit")) {
            (_, None) => {}
            (Kind::Quorum, Some(Value::Int(limit))) => {
                config.delivery_limit = u32::try_from(*limit).ok();
            }
            (Kind::Quorum, Some(_)) => return refuse("x-delivery-limit", "not an integer"),
            (Kind::Classic, Some(_)) => {
                return refuse("x-delivery-limit", "for quorum queues only");
            }
        }
        Ok(config)
    }

    /// The lane that a message's own priority leads to.
    pub(super) fn priority_of(&self, own: Option<u8>) -> u8 {
        let missing = match self.kind {
            Kind::Classic => 0,
            Kind::Quorum => QUORUM_PRIORITY_DEFAULT,
        };
        own.unwrap_or(missing).min(self.priorities)
    }
}

fn overflow(kind: Kind, arguments: &Table) -> Result<Overflow, InvalidArgument> {
    let overflow = match arguments.get("x-overflow") {
        None => return Ok(Overflow::default()),
        Some(Value::String(overflow)) => overflow.as_str(),
        Some(_) => return refuse("x-overflow", "not a string"),
    };
    match (overflow, kind) {
        ("drop-head", _) => Ok(Overflow::DropHead),
        ("reject-publish", _) => Ok(Overflow::RejectPublish),
        ("reject-publish-dlx", Kind::Classic) => Ok(Overflow::RejectPublishDlx),
        _ => refuse("x-overflow", "not one of the queue type's behaviours"),
    }
}

fn number(arguments: &Table, name: &'static str, min: u64) -> Result<Option<u64>, InvalidArgument> {
    match arguments.get(name) {
        None => Ok(None),
        Some(Value::Int(number)) => match u64::try_from(*number) {
            Ok(number) if number >= min => Ok(Some(number)),
            _ => refuse(name, "out of range"),
        },
        Some(_) => refuse(name, "not an integer"),
    }
}

fn text(arguments: &Table, name: &'static str) -> Result<Option<Arc<str>>, InvalidArgument> {
    match arguments.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str().into())),
        Some(_) => refuse(name, "not a string"),
    }
}

fn refuse<T>(name: &'static str, reason: &'static str) -> Result<T, InvalidArgument> {
    Err(InvalidArgument { name, reason })
}
