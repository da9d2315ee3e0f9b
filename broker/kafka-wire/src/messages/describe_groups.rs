//! `DescribeGroups`, API key 15.
//!
//! Generated from `schema/015-describe-groups.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub groups: Vec<Str>,
    /// Versions 3 and later.
    pub include_authorized_operations: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 5;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            groups: r.array(1, Reader::string)?,
            include_authorized_operations: if version >= 3 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.groups), |w, x| w.string(Some(x)));
        if version >= 3 {
            w.bool(self.include_authorized_operations);
        } else {
            w.refuse_set(
                self.include_authorized_operations,
                "include_authorized_operations",
            );
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeGroups;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 5;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            groups: r.array(12, |r| DescribedGroup::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 1 {
            w.int32(self.throttle_time_ms);
        }
        w.array(Some(&self.groups), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    pub error_code: i16,
    /// Versions 6 and later.
    pub error_message: Option<Str>,
    pub group_id: Str,
    pub group_state: Str,
    pub protocol_type: Str,
    pub protocol_data: Str,
    pub members: Vec<DescribedGroupMember>,
    /// Versions 3 and later.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: Str::default(),
            group_state: Str::default(),
            protocol_type: Str::default(),
            protocol_data: Str::default(),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

impl DescribedGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            error_message: if version >= 6 {
                r.nullable_string()?
            } else {
                None
            },
            group_id: r.string()?,
            group_state: r.string()?,
            protocol_type: r.string()?,
            protocol_data: r.string()?,
            members: r.array(7, |r| DescribedGroupMember::decode(r, version))?,
            authorized_operations: if version >= 3 { r.int32()? } else { i32::MIN },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        if version >= 6 {
            w.string(self.error_message.as_deref());
        } else {
            w.refuse_set(self.error_message.is_some(), "error_message");
        }
        w.string(Some(&self.group_id));
        w.string(Some(&self.group_state));
        w.string(Some(&self.protocol_type));
        w.string(Some(&self.protocol_data));
        w.array(Some(&self.members), |w, x| x.encode(w, version));
        if version >= 3 {
            w.int32(self.authorized_operations);
        } else {
            w.refuse_set(
                self.authorized_operations != i32::MIN,
                "authorized_operations",
            );
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribedGroupMember {
    pub member_id: Str,
    /// Versions 4 and later.
    pub group_instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub member_metadata: Bytes,
    pub member_assignment: Bytes,
}

impl DescribedGroupMember {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            group_instance_id: if version >= 4 {
                r.nullable_string()?
            } else {
                None
            },
            client_id: r.string()?,
            client_host: r.string()?,
            member_metadata: r.bytes()?,
            member_assignment: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.member_id));
        if version >= 4 {
            w.string(self.group_instance_id.as_deref());
        }
        w.string(Some(&self.client_id));
        w.string(Some(&self.client_host));
        w.bytes(Some(&self.member_metadata));
        w.bytes(Some(&self.member_assignment));
        w.end_plain_struct();
    }
}
