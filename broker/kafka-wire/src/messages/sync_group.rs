//! `SyncGroup`, API key 14.
//!
//! Generated from `schema/014-sync-group.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

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
    /// Versions 5 and later.
    pub protocol_type: Option<Str>,
    /// Versions 5 and later.
    pub protocol_name: Option<Str>,
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 5);
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
            protocol_type: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            protocol_name: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            assignments: r.array(3, |r| SyncGroupRequestAssignment::decode(r, version))?,
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
        if version >= 5 {
            w.string(self.protocol_type.as_deref());
        }
        if version >= 5 {
            w.string(self.protocol_name.as_deref());
        }
        w.array(Some(&self.assignments), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::SyncGroup;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncGroupRequestAssignment {
    pub member_id: Str,
    pub assignment: Bytes,
}

impl SyncGroupRequestAssignment {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            assignment: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.member_id));
        w.bytes(Some(&self.assignment));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    pub error_code: i16,
    /// Versions 5 and later.
    pub protocol_type: Option<Str>,
    /// Versions 5 and later.
    pub protocol_name: Option<Str>,
    pub assignment: Bytes,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            error_code: r.int16()?,
            protocol_type: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            protocol_name: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            assignment: r.bytes()?,
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
        if version >= 5 {
            w.string(self.protocol_type.as_deref());
        }
        if version >= 5 {
            w.string(self.protocol_name.as_deref());
        }
        w.bytes(Some(&self.assignment));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
