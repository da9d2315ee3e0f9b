//! Bytes between brokers: the greeting that opens a connection and the frames after it.
//! All numbers are big-endian.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::BrokerId;
use uuid::Uuid;

use super::Service;

/// `MLRP`.
const MAGIC: u32 = 0x4d4c_5250;
/// Raised when a broker of an older build could not make sense of the frames.
pub(super) const VERSION: u16 = 1;
/// Longest greeting: fixed part and a cluster id of Kafka's greatest length, with room.
pub(super) const GREETING_BYTES_MAX: usize = 512;
pub(super) const HEADER_BYTES: usize = 16;

/// What a frame is; the correlation id ties a reply to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Call,
    Reply,
    /// Answer to a call that no handler answered.
    Refused,
    Message,
    Ping,
    Pong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) payload_len: u32,
    pub(super) kind: Kind,
    pub(super) service: u8,
    pub(super) correlation: u64,
}

/// First bytes in each direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: u16,
    pub(super) from: BrokerId,
    pub(super) to: BrokerId,
    pub(super) incarnation: Uuid,
    pub(super) cluster_id: String,
}

/// Bytes that are not a frame or a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("not a broker: the greeting is not one")]
    Greeting,
    #[error("unknown frame kind {0}")]
    Kind(u8),
    #[error("a frame of {len} bytes exceeds the limit of {max}")]
    TooLong { len: usize, max: usize },
}

impl Service {
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Raft,
            2 => Self::Metadata,
            3 => Self::Replica,
            4 => Self::Queue,
            5 => Self::Coordinator,
            6 => Self::Reply,
            7 => Self::Refetch,
            8 => Self::Quorum,
            _ => return None,
        })
    }
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Call => 1,
            Self::Reply => 2,
            Self::Refused => 3,
            Self::Message => 4,
            Self::Ping => 5,
            Self::Pong => 6,
        }
    }

    fn from_byte(byte: u8) -> Result<Self, Malformed> {
        Ok(match byte {
            1 => Self::Call,
            2 => Self::Reply,
            3 => Self::Refused,
            4 => Self::Message,
            5 => Self::Ping,
            6 => Self::Pong,
            other => return Err(Malformed::Kind(other)),
        })
    }
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut out = bytes.as_mut_slice();
        out.put_u32(self.payload_len);
        out.put_u8(self.kind.byte());
        out.put_u8(self.service);
        out.put_u16(0);
        out.put_u64(self.correlation);
        bytes
    }

    /// `Ok(None)` = more bytes are needed.
    fn decode(mut bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        if bytes.len() < HEADER_BYTES {
            return Ok(None);
        }
        let payload_len = bytes.get_u32();
        let kind = Kind::from_byte(bytes.get_u8())?;
        let service = bytes.get_u8();
        bytes.advance(2);
        Ok(Some(Self {
            payload_len,
            kind,
            service,
            correlation: bytes.get_u64(),
        }))
    }
}

/// Takes the first whole frame off `buffer`, its payload uncopied. `Ok(Err(n))`: at least `n` more
/// bytes are needed.
pub(super) fn take(
    buffer: &mut BytesMut,
    frame_bytes_max: usize,
) -> Result<Result<(Header, Bytes), usize>, Malformed> {
    let Some(header) = Header::decode(buffer)? else {
        return Ok(Err(HEADER_BYTES.saturating_sub(buffer.len())));
    };
    let len = usize::try_from(header.payload_len).unwrap_or(usize::MAX);
    if len > frame_bytes_max {
        return Err(Malformed::TooLong {
            len,
            max: frame_bytes_max,
        });
    }
    let whole = HEADER_BYTES + len;
    if buffer.len() < whole {
        return Ok(Err(whole - buffer.len()));
    }
    buffer.advance(HEADER_BYTES);
    Ok(Ok((header, buffer.split_to(len).freeze())))
}

impl Greeting {
    /// Length-prefixed, so that both sides read exactly one.
    pub(super) fn encode(&self) -> Bytes {
        let mut body = BytesMut::new();
        body.put_u32(MAGIC);
        body.put_u16(self.version);
        body.put_i32(self.from.0);
        body.put_i32(self.to.0);
        body.put_slice(self.incarnation.as_bytes());
        body.put_slice(self.cluster_id.as_bytes());
        let mut bytes = BytesMut::with_capacity(2 + body.len());
        bytes.put_u16(u16::try_from(body.len()).unwrap_or(u16::MAX));
        bytes.extend_from_slice(&body);
        bytes.freeze()
    }

    /// Reads what follows the length.
    pub(super) fn decode(mut body: &[u8]) -> Result<Self, Malformed> {
        if body.try_get_u32().ok() != Some(MAGIC) {
            return Err(Malformed::Greeting);
        }
        let version = body.try_get_u16().map_err(|_| Malformed::Greeting)?;
        let from = body.try_get_i32().map_err(|_| Malformed::Greeting)?;
        let to = body.try_get_i32().map_err(|_| Malformed::Greeting)?;
        let mut incarnation = [0; 16];
        body.try_copy_to_slice(&mut incarnation)
            .map_err(|_| Malformed::Greeting)?;
        let cluster_id = std::str::from_utf8(body)
            .map_err(|_| Malformed::Greeting)?
            .to_owned();
        Ok(Self {
            version,
            from: BrokerId(from),
            to: BrokerId(to),
            incarnation: Uuid::from_bytes(incarnation),
            cluster_id,
        })
    }
}
