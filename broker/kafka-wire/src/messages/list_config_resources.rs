//! `ListConfigResources`, API key 74.
//!
//! Generated from `schema/074-list-config-resources.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 1 and later.
    pub resource_types: Vec<i8>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            resource_types: if version >= 1 {
                r.array(1, Reader::int8)?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 1 {
            w.array(Some(&self.resource_types), |w, x| w.int8(*x));
        } else {
            w.refuse_set(!self.resource_types.is_empty(), "resource_types");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ListConfigResources;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub config_resources: Vec<ConfigResource>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            config_resources: r.array(2, |r| ConfigResource::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.array(Some(&self.config_resources), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConfigResource {
    pub resource_name: Str,
    /// Versions 1 and later.
    pub resource_type: i8,
}

impl Default for ConfigResource {
    fn default() -> Self {
        Self {
            resource_name: Str::default(),
            resource_type: 16,
        }
    }
}

impl ConfigResource {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            resource_name: r.string()?,
            resource_type: if version >= 1 { r.int8()? } else { 16 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.resource_name));
        if version >= 1 {
            w.int8(self.resource_type);
        }
        w.end_plain_struct();
    }
}
