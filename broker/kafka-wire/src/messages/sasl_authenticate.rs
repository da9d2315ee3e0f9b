//! `SaslAuthenticate`, API key 36.
//!
//! Generated from `schema/036-sasl-authenticate.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub auth_bytes: Bytes,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            auth_bytes: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.bytes(Some(&self.auth_bytes));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::SaslAuthenticate;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub auth_bytes: Bytes,
    /// Versions 1 and later.
    pub session_lifetime_ms: i64,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            auth_bytes: r.bytes()?,
            session_lifetime_ms: if version >= 1 { r.int64()? } else { 0 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.bytes(Some(&self.auth_bytes));
        if version >= 1 {
            w.int64(self.session_lifetime_ms);
        }
        w.end_plain_struct();
    }
}
