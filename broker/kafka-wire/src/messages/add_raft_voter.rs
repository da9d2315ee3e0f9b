//! `AddRaftVoter`, API key 80.
//!
//! Generated from `schema/080-add-raft-voter.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub cluster_id: Option<Str>,
    pub timeout_ms: i32,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub listeners: Vec<Listener>,
    /// Versions 1 and later.
    pub ack_when_committed: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            cluster_id: None,
            timeout_ms: 0,
            voter_id: 0,
            voter_directory_id: Uuid::nil(),
            listeners: Vec::new(),
            ack_when_committed: true,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            cluster_id: r.nullable_string()?,
            timeout_ms: r.int32()?,
            voter_id: r.int32()?,
            voter_directory_id: r.uuid()?,
            listeners: r.array(5, |r| Listener::decode(r, version))?,
            ack_when_committed: if version >= 1 { r.bool()? } else { true },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(self.cluster_id.as_deref());
        w.int32(self.timeout_ms);
        w.int32(self.voter_id);
        w.uuid(self.voter_directory_id);
        w.array(Some(&self.listeners), |w, x| x.encode(w, version));
        if version >= 1 {
            w.bool(self.ack_when_committed);
        } else {
            w.refuse_set(!self.ack_when_committed, "ack_when_committed");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::AddRaftVoter;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

impl Listener {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            host: r.string()?,
            port: r.uint16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.string(Some(&self.host));
        w.uint16(self.port);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
