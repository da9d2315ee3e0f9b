//! Frames: type, channel, length, payload, end byte (section 4.2.3).

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Last byte of every frame.
pub const END: u8 = 0xCE;
/// Bytes before the payload.
pub const HEADER_LEN: usize = 7;
/// Bytes that a frame is longer than its payload.
pub const OVERHEAD: usize = HEADER_LEN + 1;
/// First bytes of a connection: name and version of the protocol.
pub const PROTOCOL_HEADER: [u8; 8] = *b"AMQP\x00\x00\x09\x01";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Method = 1,
    Header = 2,
    Body = 3,
    Heartbeat = 8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    pub channel: u16,
    /// A slice of the buffer it was read into.
    pub payload: Bytes,
}

/// Why bytes are not a frame. All of them cost the connection (501).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("unknown frame type {kind}")]
    Type { kind: u8 },
    #[error("frame payload of {size} bytes is larger than {max}")]
    TooLarge { size: usize, max: usize },
    #[error("frame ends with {byte:#04x} instead of 0xce")]
    End { byte: u8 },
}

impl Kind {
    fn from_wire(kind: u8) -> Result<Self, Invalid> {
        Ok(match kind {
            1 => Self::Method,
            2 => Self::Header,
            3 => Self::Body,
            8 => Self::Heartbeat,
            kind => return Err(Invalid::Type { kind }),
        })
    }
}

/// Takes the first frame off `input`; `None` when it is not complete yet. Type and length are judged
/// as soon as their bytes are there, so nobody waits for the rest of a frame that will be refused.
///
/// # Errors
/// [`Invalid`]; the stream cannot be followed any further.
pub fn split(input: &mut BytesMut, payload_max: usize) -> Result<Option<Frame>, Invalid> {
    let Some(&[kind, c1, c0, l3, l2, l1, l0]) = input.first_chunk::<HEADER_LEN>() else {
        if let Some(&kind) = input.first() {
            Kind::from_wire(kind)?;
        }
        return Ok(None);
    };
    let kind = Kind::from_wire(kind)?;
    let size = usize::try_from(u32::from_be_bytes([l3, l2, l1, l0])).unwrap_or(usize::MAX);
    if size > payload_max {
        return Err(Invalid::TooLarge {
            size,
            max: payload_max,
        });
    }
    let Some(&end) = input.get(HEADER_LEN + size) else {
        return Ok(None);
    };
    if end != END {
        return Err(Invalid::End { byte: end });
    }
    let mut payload = input.split_to(HEADER_LEN + size + 1);
    payload.advance(HEADER_LEN);
    payload.truncate(size);
    Ok(Some(Frame {
        kind,
        channel: u16::from_be_bytes([c1, c0]),
        payload: payload.freeze(),
    }))
}

/// Appends one frame whose payload `fill` writes.
pub fn write(out: &mut BytesMut, kind: Kind, channel: u16, fill: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind as u8);
    out.put_u16(channel);
    let at = out.len();
    out.put_u32(0);
    fill(out);
    let size = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    if let Some(length) = out.get_mut(at..at + 4) {
        length.copy_from_slice(&size.to_be_bytes());
    }
    out.put_u8(END);
}

/// Appends a heartbeat.
pub fn write_heartbeat(out: &mut BytesMut) {
    write(out, Kind::Heartbeat, 0, |_| {});
}

#[cfg(test)]
mod tests;
