//! Requests, responses and messages as bytes: on the mesh, in the shards' Raft log, and (messages
//! without their bodies) as the key of a stored record.
//!
//! LEB128 varints, length-prefixed strings and bytes. A decoder allocates no more than what is there:
//! strings and bodies are slices of the input, and a count is bounded by the bytes that follow it.

pub(crate) mod message;
pub(crate) mod request;
pub(crate) mod response;

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::BrokerId;

use super::SessionKey;

/// The bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes of the queue protocol are malformed")]
pub(crate) struct Malformed;

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

pub(crate) fn put_positions(out: &mut BytesMut, positions: &[u64]) {
    put_uint(out, positions.len() as u64);
    for position in positions {
        put_uint(out, *position);
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

pub(crate) fn positions(input: &mut Bytes) -> Result<Vec<u64>, Malformed> {
    let len = count(input)?;
    (0..len).map(|_| uint(input)).collect()
}
