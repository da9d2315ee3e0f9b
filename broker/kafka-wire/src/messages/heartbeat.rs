//! `Heartbeat`, API key 12.
//!
//! Generated from `schema/012-heartbeat.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub generation_id: i32,
    pub member_id: Str,
    /// Versions 3 and later.
    pub group_instance_id: Option<Str>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 4);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            generation_id: r.int32()?,
            member_id: r.string()?,
            group_instance_id: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        w.int32(self.generation_id);
        w.string(Some(&self.member_id));
        if version >= 3 {
            w.string(self.group_instance_id.as_deref());
        } else {
            w.refuse_set(self.group_instance_id.is_some(), "group_instance_id");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::Heartbeat;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    pub error_code: i16,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 4);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 1 {
            w.int32(self.throttle_time_ms);
        }
        w.int16(self.error_code);
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
