//! A message, and all of it but the body.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{
    Malformed, byte, bytes, count, optional, put_bytes, put_optional, put_uint, text, uint,
};
use crate::queue::message::{Death, Deaths, Message, Reason};

/// Deepest death history that is read back; a message that died in more queues than this is odd.
const DEATHS_MAX: u64 = 4_096;

/// Everything but the body.
pub(crate) fn put_envelope(out: &mut BytesMut, message: &Message) {
    out.put_u8(u8::from(message.persistent) | (u8::from(message.deaths.is_some()) << 1));
    put_bytes(out, message.exchange.as_bytes());
    put_bytes(out, message.routing_key.as_bytes());
    put_bytes(out, &message.properties);
    put_optional(out, message.expiration);
    put_optional(out, message.priority.map(u64::from));
    if let Some(deaths) = &message.deaths {
        put_deaths(out, deaths);
    }
}

fn put_deaths(out: &mut BytesMut, deaths: &Deaths) {
    let (queue, reason, exchange) = &deaths.first;
    put_bytes(out, queue.as_bytes());
    out.put_u8(reason.map_or(0, reason_code));
    put_bytes(out, exchange.as_bytes());
    put_uint(out, deaths.entries.len() as u64);
    for death in &deaths.entries {
        put_bytes(out, death.queue.as_bytes());
        out.put_u8(reason_code(death.reason));
        put_uint(out, death.count);
        out.put_i64(death.time_ms);
        put_bytes(out, death.exchange.as_bytes());
        put_uint(out, death.routing_keys.len() as u64);
        for key in &death.routing_keys {
            put_bytes(out, key.as_bytes());
        }
        put_optional(out, death.original_expiration);
    }
}

pub(crate) fn put_message(out: &mut BytesMut, message: &Message) {
    put_envelope(out, message);
    put_bytes(out, &message.body);
}

// === reading ===

pub(crate) fn envelope(input: &mut Bytes) -> Result<Message, Malformed> {
    let flags = byte(input)?;
    Ok(Message {
        exchange: text(input)?,
        routing_key: text(input)?,
        properties: bytes(input)?,
        expiration: optional(input)?,
        priority: match optional(input)? {
            None => None,
            Some(priority) => Some(u8::try_from(priority).map_err(|_| Malformed)?),
        },
        deaths: match flags & 2 {
            0 => None,
            _ => Some(Arc::new(deaths(input)?)),
        },
        persistent: flags & 1 != 0,
        body: Bytes::new(),
    })
}

fn deaths(input: &mut Bytes) -> Result<Deaths, Malformed> {
    let queue = text(input)?;
    let reason = match byte(input)? {
        0 => None,
        code => Some(reason_of(code)?),
    };
    let first = (queue, reason, text(input)?);
    let len = count(input)?;
    if len as u64 > DEATHS_MAX {
        return Err(Malformed);
    }
    let mut entries = Vec::with_capacity(len);
    for _ in 0..len {
        let queue = text(input)?;
        let reason = reason_of(byte(input)?)?;
        let times = uint(input)?;
        let time_ms = input.try_get_i64().map_err(|_| Malformed)?;
        let exchange = text(input)?;
        let mut routing_keys = Vec::new();
        for _ in 0..count(input)? {
            routing_keys.push(text(input)?);
        }
        entries.push(Death {
            queue,
            reason,
            count: times,
            time_ms,
            exchange,
            routing_keys,
            original_expiration: optional(input)?,
        });
    }
    Ok(Deaths { entries, first })
}

pub(crate) fn message(input: &mut Bytes) -> Result<Message, Malformed> {
    let mut message = envelope(input)?;
    message.body = bytes(input)?;
    Ok(message)
}

fn reason_code(reason: Reason) -> u8 {
    match reason {
        Reason::Rejected => 1,
        Reason::Expired => 2,
        Reason::MaxLen => 3,
        Reason::DeliveryLimit => 4,
    }
}

fn reason_of(code: u8) -> Result<Reason, Malformed> {
    Ok(match code {
        1 => Reason::Rejected,
        2 => Reason::Expired,
        3 => Reason::MaxLen,
        4 => Reason::DeliveryLimit,
        _ => return Err(Malformed),
    })
}
