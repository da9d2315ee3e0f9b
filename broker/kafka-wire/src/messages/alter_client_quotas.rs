//! `AlterClientQuotas`, API key 49.
//!
//! Generated from `schema/049-alter-client-quotas.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub entries: Vec<RequestEntryData>,
    pub validate_only: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 1;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            entries: r.array(3, |r| RequestEntryData::decode(r, version))?,
            validate_only: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.entries), |w, x| x.encode(w, version));
        w.bool(self.validate_only);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::AlterClientQuotas;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestEntryData {
    pub entity: Vec<RequestEntityData>,
    pub ops: Vec<OpData>,
}

impl RequestEntryData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            entity: r.array(3, |r| RequestEntityData::decode(r, version))?,
            ops: r.array(11, |r| OpData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(Some(&self.entity), |w, x| x.encode(w, version));
        w.array(Some(&self.ops), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestEntityData {
    pub entity_type: Str,
    pub entity_name: Option<Str>,
}

impl RequestEntityData {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            entity_type: r.string()?,
            entity_name: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.entity_type));
        w.string(self.entity_name.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpData {
    pub key: Str,
    pub value: f64,
    pub remove: bool,
}

impl OpData {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            key: r.string()?,
            value: r.float64()?,
            remove: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.key));
        w.float64(self.value);
        w.bool(self.remove);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub entries: Vec<ResponseEntryData>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 1;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            entries: r.array(5, |r| ResponseEntryData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.entries), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseEntryData {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub entity: Vec<ResponseEntityData>,
}

impl ResponseEntryData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            entity: r.array(3, |r| ResponseEntityData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.array(Some(&self.entity), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseEntityData {
    pub entity_type: Str,
    pub entity_name: Option<Str>,
}

impl ResponseEntityData {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            entity_type: r.string()?,
            entity_name: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.entity_type));
        w.string(self.entity_name.as_deref());
        w.end_plain_struct();
    }
}
