//! `IncrementalAlterConfigs`, API key 44.
//!
//! Generated from `schema/044-incremental-alter-configs.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub resources: Vec<AlterConfigsResource>,
    pub validate_only: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 1;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            resources: r.array(4, |r| AlterConfigsResource::decode(r, version))?,
            validate_only: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.resources), |w, x| x.encode(w, version));
        w.bool(self.validate_only);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::IncrementalAlterConfigs;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterConfigsResource {
    pub resource_type: i8,
    pub resource_name: Str,
    pub configs: Vec<AlterableConfig>,
}

impl AlterConfigsResource {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            resource_type: r.int8()?,
            resource_name: r.string()?,
            configs: r.array(4, |r| AlterableConfig::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int8(self.resource_type);
        w.string(Some(&self.resource_name));
        w.array(Some(&self.configs), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterableConfig {
    pub name: Str,
    pub config_operation: i8,
    pub value: Option<Str>,
}

impl AlterableConfig {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            config_operation: r.int8()?,
            value: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.int8(self.config_operation);
        w.string(self.value.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub responses: Vec<AlterConfigsResourceResponse>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 1;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            responses: r.array(6, |r| AlterConfigsResourceResponse::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.responses), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterConfigsResourceResponse {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub resource_type: i8,
    pub resource_name: Str,
}

impl AlterConfigsResourceResponse {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            resource_type: r.int8()?,
            resource_name: r.string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.int8(self.resource_type);
        w.string(Some(&self.resource_name));
        w.end_plain_struct();
    }
}
