//! What follows a method that carries a message: one header frame, then body frames.

use bytes::{BufMut, Bytes, BytesMut};

use crate::field::{Invalid, Reader, Writer};
use crate::frame;
use crate::method::{Encode, basic};

/// A message as it came or is to be sent: its properties still encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Property flags and properties; [`crate::Properties::parse`] opens them.
    pub properties: Bytes,
    pub body: Bytes,
}

/// A content header frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub class_id: u16,
    pub body_size: u64,
    pub properties: Bytes,
}

/// Property flags that say "none".
pub const NO_PROPERTIES: Bytes = Bytes::from_static(&[0, 0]);

impl Header {
    /// Reads the payload of a header frame. The properties are only sliced off, not judged.
    ///
    /// # Errors
    /// [`Invalid`] when it ends early.
    pub fn parse(payload: Bytes) -> Result<Self, Invalid> {
        let mut from = Reader::new(payload);
        let class_id = from.read()?;
        let _weight: u16 = from.read()?;
        let body_size = from.read()?;
        let properties = from.take("properties", from.remaining())?;
        Ok(Self {
            class_id,
            body_size,
            properties,
        })
    }
}

/// `basic.deliver` over borrowed names, so that a delivery allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Deliver<'a> {
    pub consumer_tag: &'a str,
    pub delivery_tag: u64,
    pub redelivered: bool,
    pub exchange: &'a str,
    pub routing_key: &'a str,
}

impl Encode for Deliver<'_> {
    const CLASS_ID: u16 = basic::Deliver::CLASS_ID;
    const METHOD_ID: u16 = basic::Deliver::METHOD_ID;

    fn encode_fields(&self, to: &mut Writer<'_>) {
        to.write_text(self.consumer_tag);
        to.write(&self.delivery_tag);
        to.write(&self.redelivered);
        to.write_text(self.exchange);
        to.write_text(self.routing_key);
    }
}

/// Appends a method and its content: one method frame, one header frame and as many body frames of
/// at most `frame_max` bytes as the body needs. The bytes are copied once, into `out`.
pub fn write<M: Encode>(
    out: &mut BytesMut,
    channel: u16,
    frame_max: usize,
    method: &M,
    properties: &[u8],
    body: &[u8],
) {
    out.reserve(body.len() + properties.len() + 256);
    crate::method::write(out, channel, method);
    frame::write(out, frame::Kind::Header, channel, |out| {
        out.put_u16(basic::CLASS_ID);
        out.put_u16(0);
        out.put_u64(body.len() as u64);
        out.put_slice(properties);
    });
    let payload_max = frame_max.saturating_sub(frame::OVERHEAD).max(1);
    for part in body.chunks(payload_max) {
        frame::write(out, frame::Kind::Body, channel, |out| out.put_slice(part));
    }
}

#[cfg(test)]
mod tests;
