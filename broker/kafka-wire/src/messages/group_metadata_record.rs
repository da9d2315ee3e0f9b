//! `GroupMetadata` in `__consumer_offsets`; int16 2 goes in front of the key, an int16 version in front of the value.
//!
//! Generated from `schema/coordinator-group-02-group-metadata.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    pub group: Str,
}

impl Message for Key {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self { group: r.string()? };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.string(Some(&self.group));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub protocol_type: Str,
    pub generation: i32,
    pub protocol: Option<Str>,
    pub leader: Option<Str>,
    /// Versions 2 and later.
    pub current_state_timestamp: i64,
    pub members: Vec<MemberMetadata>,
}

impl Default for Value {
    fn default() -> Self {
        Self {
            protocol_type: Str::default(),
            generation: 0,
            protocol: None,
            leader: None,
            current_state_timestamp: -1,
            members: Vec::new(),
        }
    }
}

impl Message for Value {
    const VERSIONS: Versions = Versions::new(0, 4);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            protocol_type: r.string()?,
            generation: r.int32()?,
            protocol: r.nullable_string()?,
            leader: r.nullable_string()?,
            current_state_timestamp: if version >= 2 { r.int64()? } else { -1 },
            members: r.array(15, |r| MemberMetadata::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.protocol_type));
        w.int32(self.generation);
        w.string(self.protocol.as_deref());
        w.string(self.leader.as_deref());
        if version >= 2 {
            w.int64(self.current_state_timestamp);
        }
        w.array(Some(&self.members), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct MemberMetadata {
    pub member_id: Str,
    /// Versions 3 and later.
    pub group_instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    /// Versions 1 and later.
    pub rebalance_timeout: i32,
    pub session_timeout: i32,
    pub subscription: Bytes,
    pub assignment: Bytes,
}

impl Default for MemberMetadata {
    fn default() -> Self {
        Self {
            member_id: Str::default(),
            group_instance_id: None,
            client_id: Str::default(),
            client_host: Str::default(),
            rebalance_timeout: -1,
            session_timeout: 0,
            subscription: Bytes::new(),
            assignment: Bytes::new(),
        }
    }
}

impl MemberMetadata {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            group_instance_id: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
            client_id: r.string()?,
            client_host: r.string()?,
            rebalance_timeout: if version >= 1 { r.int32()? } else { -1 },
            session_timeout: r.int32()?,
            subscription: r.bytes()?,
            assignment: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.member_id));
        if version >= 3 {
            w.string(self.group_instance_id.as_deref());
        }
        w.string(Some(&self.client_id));
        w.string(Some(&self.client_host));
        if version >= 1 {
            w.int32(self.rebalance_timeout);
        }
        w.int32(self.session_timeout);
        w.bytes(Some(&self.subscription));
        w.bytes(Some(&self.assignment));
        w.end_plain_struct();
    }
}
