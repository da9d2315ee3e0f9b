//! What hosts answer.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::message::{message, put_message};
use super::{Malformed, byte, count, positions, put_positions, put_uint, uint, uint32};
use crate::queue::protocol::{Delivered, Reply, Response, Stats};

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
