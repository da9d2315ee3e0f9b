//! What sessions ask.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::message::{message, put_message};
use super::{Malformed, byte, count, positions, put_positions, put_uint, uint, uint32};
use crate::queue::protocol::{Op, Outcome, Request, Resume};

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

// === reading ===

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
