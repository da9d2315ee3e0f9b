//! Messages of [`crate::peer::Service::Reply`].

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use uuid::Uuid;

const REPLY: u8 = 1;
const EXISTS: u8 = 2;

/// As it is sent.
pub(super) enum Frame<'a> {
    /// One way.
    Reply {
        vhost: &'a str,
        key: Uuid,
        routing_key: &'a str,
        properties: Bytes,
        body: Bytes,
    },
    /// A call; answered by [`yes`].
    Exists { vhost: &'a str, key: Uuid },
}

/// As it is received.
#[derive(Debug, PartialEq)]
pub(super) enum Received {
    Reply {
        vhost: String,
        key: Uuid,
        routing_key: String,
        properties: Bytes,
        body: Bytes,
    },
    Exists {
        vhost: String,
        key: Uuid,
    },
}

impl Frame<'_> {
    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Reply {
                vhost,
                key,
                routing_key,
                properties,
                body,
            } => {
                out.reserve(properties.len() + body.len() + vhost.len() + 32);
                out.put_u8(REPLY);
                put_address(&mut out, vhost, *key);
                put_bytes(&mut out, routing_key.as_bytes());
                put_bytes(&mut out, properties);
                out.put_slice(body);
            }
            Self::Exists { vhost, key } => {
                out.put_u8(EXISTS);
                put_address(&mut out, vhost, *key);
            }
        }
        out.freeze()
    }
}

/// `None` when it is malformed.
pub(super) fn decode(input: &mut Bytes) -> Option<Received> {
    let kind = input.try_get_u8().ok()?;
    let key = Uuid::from_u128(input.try_get_u128().ok()?);
    let vhost = take_text(input)?;
    Some(match kind {
        REPLY => Received::Reply {
            vhost,
            key,
            routing_key: take_text(input)?,
            properties: take_bytes(input)?,
            body: std::mem::take(input),
        },
        EXISTS => Received::Exists { vhost, key },
        _ => return None,
    })
}

pub(super) fn yes(yes: bool) -> Bytes {
    Bytes::from_static(if yes { &[1] } else { &[0] })
}

pub(super) fn is_yes(answer: &[u8]) -> bool {
    answer == [1]
}

fn put_address(out: &mut BytesMut, vhost: &str, key: Uuid) {
    out.put_u128(key.as_u128());
    put_bytes(out, vhost.as_bytes());
}

/// Names and properties are far below 4 GiB: frames of clients bound them.
fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(bytes);
}

fn take_text(input: &mut Bytes) -> Option<String> {
    String::from_utf8(take_bytes(input)?.to_vec()).ok()
}

fn take_bytes(input: &mut Bytes) -> Option<Bytes> {
    let len = usize::try_from(input.try_get_u32().ok()?).ok()?;
    (len <= input.len()).then(|| input.split_to(len))
}
