//! What every generated message can do.

use bytes::Bytes;

use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::writer::Writer;

/// Inclusive range of versions; `min > max` holds no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    pub min: i16,
    pub max: i16,
}

impl Versions {
    pub const fn new(min: i16, max: i16) -> Self {
        Self { min, max }
    }

    pub const fn contains(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }
}

/// A request, a response, or another versioned structure. `version` outside [`Message::VERSIONS`]
/// is the caller's mistake: the fields of the nearest known version are read or written.
pub trait Message: Sized + Default + PartialEq + std::fmt::Debug {
    /// Versions that Kafka 4.4 knows.
    const VERSIONS: Versions;
    /// First version with compact lengths and tagged fields (KIP-482); `i16::MAX` when there is none.
    const FLEXIBLE_FROM: i16;

    /// Reads the message from `r` and leaves what follows it.
    ///
    /// # Errors
    /// When the bytes are not such a message; `r` is then of no further use.
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError>;

    /// Appends the message to `w`, which remembers the first value this version has no room for.
    fn encode(&self, w: &mut Writer, version: i16);

    /// Sets for how many milliseconds the client was or will be throttled, in a response that can say so.
    fn set_throttle_time_ms(&mut self, _ms: i32) {}

    /// Decodes a whole buffer.
    ///
    /// # Errors
    /// As [`Message::decode`], and when bytes are left over.
    fn from_bytes(bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let message = Self::decode(&mut r, version)?;
        r.finish()?;
        Ok(message)
    }
}

/// A request and the response that answers it.
pub trait Request: Message {
    const KEY: ApiKey;
    type Response: Message;
}
