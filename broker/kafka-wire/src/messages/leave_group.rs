//! `LeaveGroup`, API key 13.
//!
//! Generated from `schema/013-leave-group.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_id: Str,
    /// Versions 0 to 2.
    pub member_id: Str,
    /// Versions 3 and later.
    pub members: Vec<MemberIdentity>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            member_id: if version <= 2 {
                r.string()?
            } else {
                Str::default()
            },
            members: if version >= 3 {
                r.array(3, |r| MemberIdentity::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        if version <= 2 {
            w.string(Some(&self.member_id));
        } else {
            w.refuse_set(!self.member_id.is_empty(), "member_id");
        }
        if version >= 3 {
            w.array(Some(&self.members), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.members.is_empty(), "members");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::LeaveGroup;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberIdentity {
    pub member_id: Str,
    pub group_instance_id: Option<Str>,
    /// Versions 5 and later.
    pub reason: Option<Str>,
}

impl MemberIdentity {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            group_instance_id: r.nullable_string()?,
            reason: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.member_id));
        w.string(self.group_instance_id.as_deref());
        if version >= 5 {
            w.string(self.reason.as_deref());
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    pub error_code: i16,
    /// Versions 3 and later.
    pub members: Vec<MemberResponse>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            error_code: r.int16()?,
            members: if version >= 3 {
                r.array(5, |r| MemberResponse::decode(r, version))?
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
            w.int32(self.throttle_time_ms);
        }
        w.int16(self.error_code);
        if version >= 3 {
            w.array(Some(&self.members), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.members.is_empty(), "members");
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberResponse {
    pub member_id: Str,
    pub group_instance_id: Option<Str>,
    pub error_code: i16,
}

impl MemberResponse {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            group_instance_id: r.nullable_string()?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.member_id));
        w.string(self.group_instance_id.as_deref());
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}
