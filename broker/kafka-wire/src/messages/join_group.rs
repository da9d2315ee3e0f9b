//! `JoinGroup`, API key 11.
//!
//! Generated from `schema/011-join-group.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub session_timeout_ms: i32,
    /// Versions 1 and later.
    pub rebalance_timeout_ms: i32,
    pub member_id: Str,
    /// Versions 5 and later.
    pub group_instance_id: Option<Str>,
    pub protocol_type: Str,
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Versions 8 and later.
    pub reason: Option<Str>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            group_id: Str::default(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: Str::default(),
            group_instance_id: None,
            protocol_type: Str::default(),
            protocols: Vec::new(),
            reason: None,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 9);
    const FLEXIBLE_FROM: i16 = 6;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            session_timeout_ms: r.int32()?,
            rebalance_timeout_ms: if version >= 1 { r.int32()? } else { -1 },
            member_id: r.string()?,
            group_instance_id: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            protocol_type: r.string()?,
            protocols: r.array(3, |r| JoinGroupRequestProtocol::decode(r, version))?,
            reason: if version >= 8 {
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
        w.int32(self.session_timeout_ms);
        if version >= 1 {
            w.int32(self.rebalance_timeout_ms);
        }
        w.string(Some(&self.member_id));
        if version >= 5 {
            w.string(self.group_instance_id.as_deref());
        } else {
            w.refuse_set(self.group_instance_id.is_some(), "group_instance_id");
        }
        w.string(Some(&self.protocol_type));
        w.array(Some(&self.protocols), |w, x| x.encode(w, version));
        if version >= 8 {
            w.string(self.reason.as_deref());
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::JoinGroup;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinGroupRequestProtocol {
    pub name: Str,
    pub metadata: Bytes,
}

impl JoinGroupRequestProtocol {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            metadata: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.bytes(Some(&self.metadata));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Versions 2 and later.
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub generation_id: i32,
    /// Versions 7 and later.
    pub protocol_type: Option<Str>,
    pub protocol_name: Option<Str>,
    pub leader: Str,
    /// Versions 9 and later.
    pub skip_assignment: bool,
    pub member_id: Str,
    pub members: Vec<JoinGroupResponseMember>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            generation_id: -1,
            protocol_type: None,
            protocol_name: None,
            leader: Str::default(),
            skip_assignment: false,
            member_id: Str::default(),
            members: Vec::new(),
        }
    }
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 9);
    const FLEXIBLE_FROM: i16 = 6;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 2 { r.int32()? } else { 0 },
            error_code: r.int16()?,
            generation_id: r.int32()?,
            protocol_type: if version >= 7 {
                r.nullable_string()?
            } else {
                None
            },
            protocol_name: if version >= 7 {
                r.nullable_string()?
            } else {
                Some(r.string()?)
            },
            leader: r.string()?,
            skip_assignment: if version >= 9 { r.bool()? } else { false },
            member_id: r.string()?,
            members: r.array(4, |r| JoinGroupResponseMember::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 2 {
            w.int32(self.throttle_time_ms);
        }
        w.int16(self.error_code);
        w.int32(self.generation_id);
        if version >= 7 {
            w.string(self.protocol_type.as_deref());
        }
        if self.protocol_name.is_none() && version < 7 {
            w.refuse_null("protocol_name");
        }
        w.string(self.protocol_name.as_deref());
        w.string(Some(&self.leader));
        if version >= 9 {
            w.bool(self.skip_assignment);
        } else {
            w.refuse_set(self.skip_assignment, "skip_assignment");
        }
        w.string(Some(&self.member_id));
        w.array(Some(&self.members), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinGroupResponseMember {
    pub member_id: Str,
    /// Versions 5 and later.
    pub group_instance_id: Option<Str>,
    pub metadata: Bytes,
}

impl JoinGroupResponseMember {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            group_instance_id: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            metadata: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.member_id));
        if version >= 5 {
            w.string(self.group_instance_id.as_deref());
        }
        w.bytes(Some(&self.metadata));
        w.end_plain_struct();
    }
}
