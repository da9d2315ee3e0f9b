//! `SaslHandshake`, API key 17.
//!
//! Generated from `schema/017-sasl-handshake.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub mechanism: Str,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            mechanism: r.string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.string(Some(&self.mechanism));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::SaslHandshake;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub error_code: i16,
    pub mechanisms: Vec<Str>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            error_code: r.int16()?,
            mechanisms: r.array(2, Reader::string)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.int16(self.error_code);
        w.array(Some(&self.mechanisms), |w, x| w.string(Some(x)));
        w.end_plain_struct();
    }
}
