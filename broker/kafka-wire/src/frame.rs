//! What stands between the length of a frame and its message: the request and response headers.

use bytes::Bytes;

use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

/// Largest frame Kafka accepts by default (`socket.request.max.bytes`), in bytes without the length.
pub const FRAME_BYTES_MAX: usize = 104_857_600;

/// Header of a request whose API key is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    pub key: ApiKey,
    /// As sent; may be a version that nobody knows.
    pub version: i16,
    pub correlation_id: i32,
    pub client_id: Option<Str>,
}

/// Why a frame does not begin with a header that can be served. Kafka closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("unknown API key {0}")]
    UnknownKey(i16),
    #[error("malformed request header")]
    Malformed(#[from] DecodeError),
}

impl RequestHeader {
    /// Splits a frame into its header and a reader over the message.
    ///
    /// A version above the ones known is read with the newest header, so that `ApiVersions` can be
    /// answered with the versions that are (KIP-511).
    ///
    /// # Errors
    /// [`HeaderError`]; nothing can be answered then.
    pub fn parse(frame: Bytes) -> Result<(Self, Reader), HeaderError> {
        let mut r = Reader::new(frame);
        let code = r.int16()?;
        let version = r.int16()?;
        let correlation_id = r.int32()?;
        let key = ApiKey::from_code(code).ok_or(HeaderError::UnknownKey(code))?;
        // The client id kept its two-byte length when headers became flexible.
        let client_id = r.fixed_nullable_string()?;
        if key.request_header_version(version) >= 2 {
            r.set_flexible(true);
            r.skip_tagged_fields()?;
        }
        let header = Self {
            key,
            version,
            correlation_id,
            client_id,
        };
        Ok((header, r))
    }

    /// Appends the header, for clients of a broker.
    pub fn encode(&self, w: &mut Writer) {
        w.int16(self.key.code());
        w.int16(self.version);
        w.int32(self.correlation_id);
        w.fixed_string(self.client_id.as_deref());
        if self.key.request_header_version(self.version) >= 2 {
            w.uvarint(0);
        }
    }
}

/// Appends the header of the response to a request of `key` and `version`.
pub fn encode_response_header(w: &mut Writer, key: ApiKey, version: i16, correlation_id: i32) {
    w.int32(correlation_id);
    if key.response_header_version(version) >= 1 {
        w.uvarint(0);
    }
}

/// Splits a response into its correlation id and a reader over the message, for clients of a broker.
///
/// # Errors
/// When the header is cut short.
pub fn parse_response_header(
    frame: Bytes,
    key: ApiKey,
    version: i16,
) -> Result<(i32, Reader), DecodeError> {
    let mut r = Reader::new(frame);
    let correlation_id = r.int32()?;
    if key.response_header_version(version) >= 1 {
        r.set_flexible(true);
        r.skip_tagged_fields()?;
    }
    Ok((correlation_id, r))
}

#[cfg(test)]
mod tests;
