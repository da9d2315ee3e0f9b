//! Requests, responses and messages as bytes: on the mesh, in the shards' Raft log, and (messages
//! without their bodies) as the key of a stored record.
//!
//! LEB128 varints, length-prefixed strings and bytes. A decoder allocates no more than what is there:
//! strings and bodies are slices of the input, and a count is bounded by the bytes that follow it.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::BrokerId;

use super::{Delivered, Op, Outcome, Reply, Request, Response, Resume, SessionKey, Stats};
use crate::queue::message::{Death, Deaths, Message, Reason};

/// The bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes of the queue protocol are malformed")]
pub(crate) struct Malformed;

/// Deepest death history that is read back; a message that died in more queues than this is odd.
const DEATHS_MAX: u64 = 4_096;

// === writing ===

pub(crate) fn put_uint(out: &mut BytesMut, mut number: u64) {
    while number >= 0x80 {
        out.put_u8((number as u8) | 0x80);
        number >>= 7;
    }
    out.put_u8(number as u8);
}

pub(crate) fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    put_uint(out, bytes.len() as u64);
    out.put_slice(bytes);
}

fn put_optional(out: &mut BytesMut, number: Option<u64>) {
    put_uint(out, number.map_or(0, |number| number.saturating_add(1)));
}

pub(crate) fn put_session(out: &mut BytesMut, session: SessionKey) {
    out.put_i32(session.broker.0);
    out.put_u64(session.number);
}

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

pub(crate) fn put_positions(out: &mut BytesMut, positions: &[u64]) {
    put_uint(out, positions.len() as u64);
    for position in positions {
        put_uint(out, *position);
    }
}

pub(crate) fn put_requests(out: &mut BytesMut, requests: &[Request]) {
    put_uint(out, requests.len() as u64);
    for request in requests {
        put_uint(out, request.queue);
        put_op(out, &request.op);
    }
}

fn put_op(out: &mut BytesMut, op: &Op) {
    match op {
        Op::Publish { publish, message } => {
            out.put_u8(1);
            put_uint(out, *publish);
            put_message(out, message);
        }
        Op::Consume(attach, call) => {
            out.put_u8(2);
            put_resume(out, attach);
            put_uint(out, *call);
        }
        Op::Resume(attach, held) => {
            out.put_u8(3);
            put_resume(out, attach);
            put_positions(out, held);
        }
        Op::Cancel { consumer } => {
            out.put_u8(4);
            put_uint(out, u64::from(*consumer));
        }
        Op::Leave { consumer } => {
            out.put_u8(5);
            put_uint(out, u64::from(*consumer));
        }
        Op::Settle {
            consumer,
            positions,
            outcome,
        } => {
            out.put_u8(6);
            put_uint(out, u64::from(*consumer));
            out.put_u8(match outcome {
                Outcome::Ack => 0,
                Outcome::Requeue => 1,
                Outcome::Reject => 2,
            });
            put_positions(out, positions);
        }
        Op::Written { consumer, count } => {
            out.put_u8(7);
            put_uint(out, u64::from(*consumer));
            put_uint(out, u64::from(*count));
        }
        Op::Get {
            consumer,
            call,
            no_ack,
        } => {
            out.put_u8(8);
            put_uint(out, u64::from(*consumer));
            put_uint(out, *call);
            out.put_u8(u8::from(*no_ack));
        }
        Op::Purge { call } => {
            out.put_u8(9);
            put_uint(out, *call);
        }
        Op::Stats { call } => {
            out.put_u8(10);
            put_uint(out, *call);
        }
    }
}

fn put_resume(out: &mut BytesMut, attach: &Resume) {
    put_uint(out, u64::from(attach.consumer));
    out.put_u8(
        u8::from(attach.no_ack)
            | (u8::from(attach.exclusive) << 1)
            | (u8::from(attach.holding) << 2),
    );
    put_uint(out, u64::from(attach.prefetch));
    out.put_i32(attach.priority);
}

pub(crate) fn put_responses(out: &mut BytesMut, responses: &[Response]) {
    put_uint(out, responses.len() as u64);
    for response in responses {
        match response {
            Response::Confirmed { publishes } => {
                out.put_u8(1);
                put_positions(out, publishes);
            }
            Response::Refused { publishes } => {
                out.put_u8(2);
                put_positions(out, publishes);
            }
            Response::Deliver {
                consumer,
                deliveries,
            } => {
                out.put_u8(3);
                put_uint(out, u64::from(*consumer));
                put_uint(out, deliveries.len() as u64);
                for delivered in deliveries {
                    put_delivered(out, delivered);
                }
            }
            Response::Cancelled {
                consumer,
                by_client,
            } => {
                out.put_u8(4);
                put_uint(out, u64::from(*consumer));
                out.put_u8(u8::from(*by_client));
            }
            Response::Called { call, reply } => {
                out.put_u8(5);
                put_uint(out, *call);
                put_reply(out, reply);
            }
        }
    }
}

fn put_delivered(out: &mut BytesMut, delivered: &Delivered) {
    put_uint(out, delivered.position);
    out.put_u8(u8::from(delivered.redelivered));
    put_uint(out, u64::from(delivered.delivery_count));
    put_message(out, &delivered.message);
}

fn put_reply(out: &mut BytesMut, reply: &Reply) {
    match reply {
        Reply::Consuming => out.put_u8(1),
        Reply::ExclusiveInUse => out.put_u8(2),
        Reply::SingleActiveConsumer => out.put_u8(3),
        Reply::Got(None) => out.put_u8(4),
        Reply::Got(Some((delivered, left))) => {
            out.put_u8(5);
            put_delivered(out, delivered);
            put_uint(out, *left);
        }
        Reply::Purged(count) => {
            out.put_u8(6);
            put_uint(out, *count);
        }
        Reply::Stats(stats) => {
            out.put_u8(7);
            put_uint(out, stats.ready);
            put_uint(out, stats.unacked);
            put_uint(out, u64::from(stats.consumers));
            put_uint(out, stats.ready_bytes);
            put_uint(out, stats.oldest_ready_age_ms);
        }
        Reply::NotFound => out.put_u8(8),
        Reply::Unavailable => out.put_u8(9),
        Reply::Crashed => out.put_u8(10),
    }
}

// === reading ===

pub(crate) fn uint(input: &mut Bytes) -> Result<u64, Malformed> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let next = byte(input)?;
        number |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

pub(crate) fn byte(input: &mut Bytes) -> Result<u8, Malformed> {
    input.try_get_u8().map_err(|_| Malformed)
}

fn uint32(input: &mut Bytes) -> Result<u32, Malformed> {
    u32::try_from(uint(input)?).map_err(|_| Malformed)
}

/// A count of things that take at least one byte each.
pub(crate) fn count(input: &mut Bytes) -> Result<usize, Malformed> {
    let count = usize::try_from(uint(input)?).map_err(|_| Malformed)?;
    if count > input.len() {
        return Err(Malformed);
    }
    Ok(count)
}

pub(crate) fn bytes(input: &mut Bytes) -> Result<Bytes, Malformed> {
    let len = count(input)?;
    Ok(input.split_to(len))
}

fn text(input: &mut Bytes) -> Result<Arc<str>, Malformed> {
    let bytes = bytes(input)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Malformed)?;
    Ok(text.into())
}

fn optional(input: &mut Bytes) -> Result<Option<u64>, Malformed> {
    Ok(uint(input)?.checked_sub(1))
}

pub(crate) fn session(input: &mut Bytes) -> Result<SessionKey, Malformed> {
    Ok(SessionKey {
        broker: BrokerId(input.try_get_i32().map_err(|_| Malformed)?),
        number: input.try_get_u64().map_err(|_| Malformed)?,
    })
}

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

pub(crate) fn positions(input: &mut Bytes) -> Result<Vec<u64>, Malformed> {
    let len = count(input)?;
    (0..len).map(|_| uint(input)).collect()
}

pub(crate) fn requests(input: &mut Bytes) -> Result<Vec<Request>, Malformed> {
    let mut requests = Vec::new();
    for _ in 0..count(input)? {
        requests.push(Request {
            queue: uint(input)?,
            op: op(input)?,
        });
    }
    Ok(requests)
}

fn op(input: &mut Bytes) -> Result<Op, Malformed> {
    Ok(match byte(input)? {
        1 => Op::Publish {
            publish: uint(input)?,
            message: Arc::new(message(input)?),
        },
        2 => Op::Consume(resume(input)?, uint(input)?),
        3 => Op::Resume(resume(input)?, positions(input)?),
        4 => Op::Cancel {
            consumer: uint32(input)?,
        },
        5 => Op::Leave {
            consumer: uint32(input)?,
        },
        6 => Op::Settle {
            consumer: uint32(input)?,
            outcome: match byte(input)? {
                0 => Outcome::Ack,
                1 => Outcome::Requeue,
                2 => Outcome::Reject,
                _ => return Err(Malformed),
            },
            positions: positions(input)?,
        },
        7 => Op::Written {
            consumer: uint32(input)?,
            count: uint32(input)?,
        },
        8 => Op::Get {
            consumer: uint32(input)?,
            call: uint(input)?,
            no_ack: byte(input)? != 0,
        },
        9 => Op::Purge { call: uint(input)? },
        10 => Op::Stats { call: uint(input)? },
        _ => return Err(Malformed),
    })
}

fn resume(input: &mut Bytes) -> Result<Resume, Malformed> {
    let consumer = uint32(input)?;
    let flags = byte(input)?;
    Ok(Resume {
        consumer,
        no_ack: flags & 1 != 0,
        exclusive: flags & 2 != 0,
        holding: flags & 4 != 0,
        prefetch: uint32(input)?,
        priority: input.try_get_i32().map_err(|_| Malformed)?,
    })
}

pub(crate) fn responses(input: &mut Bytes) -> Result<Vec<Response>, Malformed> {
    let mut responses = Vec::new();
    for _ in 0..count(input)? {
        responses.push(match byte(input)? {
            1 => Response::Confirmed {
                publishes: positions(input)?,
            },
            2 => Response::Refused {
                publishes: positions(input)?,
            },
            3 => {
                let consumer = uint32(input)?;
                let mut deliveries = Vec::new();
                for _ in 0..count(input)? {
                    deliveries.push(delivered(input)?);
                }
                Response::Deliver {
                    consumer,
                    deliveries,
                }
            }
            4 => Response::Cancelled {
                consumer: uint32(input)?,
                by_client: byte(input)? != 0,
            },
            5 => Response::Called {
                call: uint(input)?,
                reply: reply(input)?,
            },
            _ => return Err(Malformed),
        });
    }
    Ok(responses)
}

fn delivered(input: &mut Bytes) -> Result<Delivered, Malformed> {
    Ok(Delivered {
        position: uint(input)?,
        redelivered: byte(input)? != 0,
        delivery_count: uint32(input)?,
        message: Arc::new(message(input)?),
    })
}

fn reply(input: &mut Bytes) -> Result<Reply, Malformed> {
    Ok(match byte(input)? {
        1 => Reply::Consuming,
        2 => Reply::ExclusiveInUse,
        3 => Reply::SingleActiveConsumer,
        4 => Reply::Got(None),
        5 => {
            let delivered = delivered(input)?;
            Reply::Got(Some((delivered, uint(input)?)))
        }
        6 => Reply::Purged(uint(input)?),
        7 => Reply::Stats(Stats {
            ready: uint(input)?,
            unacked: uint(input)?,
            consumers: uint32(input)?,
            ready_bytes: uint(input)?,
            oldest_ready_age_ms: uint(input)?,
        }),
        8 => Reply::NotFound,
        9 => Reply::Unavailable,
        10 => Reply::Crashed,
        _ => return Err(Malformed),
    })
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
