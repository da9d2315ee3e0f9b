//! A message as queues keep it: properties and body as the publisher sent them, and its death history.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
pub use machine::queue::Reason;
use machine::value::{Table, Value};

/// What a message takes in memory beside its bytes and names: itself, its places in the queue and among
/// the bodies, and what the allocator adds.
const OVERHEAD_BYTES: usize = 384;

/// What an entry of a death history takes beside its routing keys, and each of those.
const DEATH_BYTES: usize = 256;
const DEATH_KEY_BYTES: usize = 48;

/// One published message. Shared by every queue that it was routed to.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Message {
    /// Exchange it was last published to; on a dead letter, the dead-letter exchange.
    pub exchange: Arc<str>,
    pub routing_key: Arc<str>,
    /// Encoded property flags and property list of an AMQP content header, as received.
    pub properties: Bytes,
    pub body: Bytes,
    /// Delivery mode 2.
    pub persistent: bool,
    /// Milliseconds, from the `expiration` property.
    pub expiration: Option<u64>,
    pub priority: Option<u8>,
    /// Where it died before; empty for a fresh message.
    pub deaths: Option<Arc<Deaths>>,
}

/// Death history of one message (RabbitMQ 4 keeps it beside the message, not in its headers: an
/// `x-death` header that a client republishes means nothing).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Deaths {
    /// Newest first, one per (queue, reason).
    pub entries: Vec<Death>,
    /// (queue, reason, exchange) of the very first death; never changes.
    pub first: (Arc<str>, Option<Reason>, Arc<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Death {
    pub queue: Arc<str>,
    pub reason: Reason,
    pub count: u64,
    /// Milliseconds since 1970 of the first death of this (queue, reason).
    pub time_ms: i64,
    /// Before this death.
    pub exchange: Arc<str>,
    pub routing_keys: Vec<Arc<str>>,
    /// The `expiration` that the message lost when it died.
    pub original_expiration: Option<u64>,
}

impl Message {
    /// What the message weighs in length limits.
    pub fn size(&self) -> usize {
        self.properties.len() + self.body.len()
    }

    /// What it takes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let names = self.exchange.len() + self.routing_key.len();
        let deaths = self.deaths.as_ref().map_or(0, |deaths| {
            let entries = deaths.entries.iter();
            entries
                .map(|death| DEATH_BYTES + death.routing_keys.len() * DEATH_KEY_BYTES)
                .sum()
        });
        OVERHEAD_BYTES + names + self.size() + deaths
    }

    /// Gives the message bytes of its own, unless it has most of the `whole` bytes that came together:
    /// slices of those would keep all of them in memory for as long as the message waits.
    pub(crate) fn detach(&mut self, whole: usize) {
        if self.size() > whole / 2 {
            return;
        }
        let mut own = BytesMut::with_capacity(self.size());
        own.put_slice(&self.properties);
        own.put_slice(&self.body);
        let mut own = own.freeze();
        self.properties = own.split_to(self.properties.len());
        self.body = own;
    }

    /// The headers among the properties, decoded anew at each call. None when they cannot be read.
    pub fn headers(&self) -> Table {
        let properties = amqp_wire::Properties::parse(self.properties.clone()).ok();
        let headers = properties.and_then(|properties| properties.headers);
        headers
            .map(|headers| crate::amqp::values::from_wire(&headers))
            .unwrap_or_default()
    }
}

impl Deaths {
    /// Headers to set on delivery: `x-death`, `x-first-death-*`, `x-last-death-*` (RabbitMQ's guide
    /// "Dead Letter Exchanges", effects on messages).
    /// A front that finds deaths also leaves out the `expiration` property when it delivers.
    pub fn headers(&self) -> Table {
        let text = |text: &Arc<str>| Value::String(text.to_string());
        let mut table = BTreeMap::new();
        let entries = self.entries.iter().map(|death| {
            let mut entry = BTreeMap::new();
            let count = i64::try_from(death.count).unwrap_or(i64::MAX);
            let seconds = u64::try_from(death.time_ms / 1_000).unwrap_or(0);
            entry.insert("count".to_owned(), Value::Int(count));
            let reason = death.reason.as_str().to_owned();
            entry.insert("reason".to_owned(), Value::String(reason));
            entry.insert("queue".to_owned(), text(&death.queue));
            entry.insert("time".to_owned(), Value::Timestamp(seconds));
            entry.insert("exchange".to_owned(), text(&death.exchange));
            let keys = death.routing_keys.iter().map(text).collect();
            entry.insert("routing-keys".to_owned(), Value::Array(keys));
            if let Some(expiration) = death.original_expiration {
                let expiration = Value::String(expiration.to_string());
                entry.insert("original-expiration".to_owned(), expiration);
            }
            Value::Table(entry)
        });
        table.insert("x-death".to_owned(), Value::Array(entries.collect()));
        if let (queue, Some(reason), exchange) = &self.first {
            let reason = Value::String(reason.as_str().to_owned());
            table.insert("x-first-death-queue".to_owned(), text(queue));
            table.insert("x-first-death-reason".to_owned(), reason);
            table.insert("x-first-death-exchange".to_owned(), text(exchange));
        }
        if let Some(last) = self.entries.first() {
            let reason = Value::String(last.reason.as_str().to_owned());
            table.insert("x-last-death-queue".to_owned(), text(&last.queue));
            table.insert("x-last-death-reason".to_owned(), reason);
            table.insert("x-last-death-exchange".to_owned(), text(&last.exchange));
        }
        table
    }
}

#[cfg(test)]
mod tests;
