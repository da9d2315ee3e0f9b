//! `CreateAcls`, API key 30.
//!
//! Generated from `schema/030-create-acls.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub creations: Vec<AclCreation>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            creations: r.array(8, |r| AclCreation::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.creations), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::CreateAcls;
    type Response = Response;
}

#[derive(Clone, Debug, PartialEq)]
pub struct AclCreation {
    pub resource_type: i8,
    pub resource_name: Str,
    pub resource_pattern_type: i8,
    pub principal: Str,
    pub host: Str,
    pub operation: i8,
    pub permission_type: i8,
}

impl Default for AclCreation {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: Str::default(),
            resource_pattern_type: 3,
            principal: Str::default(),
            host: Str::default(),
            operation: 0,
            permission_type: 0,
        }
    }
}

impl AclCreation {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            resource_type: r.int8()?,
            resource_name: r.string()?,
            resource_pattern_type: r.int8()?,
            principal: r.string()?,
            host: r.string()?,
            operation: r.int8()?,
            permission_type: r.int8()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int8(self.resource_type);
        w.string(Some(&self.resource_name));
        w.int8(self.resource_pattern_type);
        w.string(Some(&self.principal));
        w.string(Some(&self.host));
        w.int8(self.operation);
        w.int8(self.permission_type);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub results: Vec<AclCreationResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            results: r.array(4, |r| AclCreationResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.results), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AclCreationResult {
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl AclCreationResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
