//! `ListGroups`, API key 16.
//!
//! Generated from `schema/016-list-groups.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 4 and later.
    pub states_filter: Vec<Str>,
    /// Versions 5 and later.
    pub types_filter: Vec<Str>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            states_filter: if version >= 4 {
                r.array(1, Reader::string)?
            } else {
                Vec::new()
            },
            types_filter: if version >= 5 {
                r.array(1, Reader::string)?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 4 {
            w.array(Some(&self.states_filter), |w, x| w.string(Some(x)));
        } else {
            w.refuse_set(!self.states_filter.is_empty(), "states_filter");
        }
        if version >= 5 {
            w.array(Some(&self.types_filter), |w, x| w.string(Some(x)));
        } else {
            w.refuse_set(!self.types_filter.is_empty(), "types_filter");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ListGroups;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub groups: Vec<ListedGroup>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            error_code: r.int16()?,
            groups: r.array(3, |r| ListedGroup::decode(r, version))?,
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
        w.array(Some(&self.groups), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedGroup {
    pub group_id: Str,
    pub protocol_type: Str,
    /// Versions 4 and later.
    pub group_state: Str,
    /// Versions 5 and later.
    pub group_type: Str,
}

impl ListedGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            group_id: r.string()?,
            protocol_type: r.string()?,
            group_state: if version >= 4 {
                r.string()?
            } else {
                Str::default()
            },
            group_type: if version >= 5 {
                r.string()?
            } else {
                Str::default()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.group_id));
        w.string(Some(&self.protocol_type));
        if version >= 4 {
            w.string(Some(&self.group_state));
        }
        if version >= 5 {
            w.string(Some(&self.group_type));
        }
        w.end_plain_struct();
    }
}
