//! `FindCoordinator`, API key 10.
//!
//! Generated from `schema/010-find-coordinator.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 0 to 3.
    pub key: Str,
    /// Versions 1 and later.
    pub key_type: i8,
    /// Versions 4 and later.
    pub coordinator_keys: Vec<Str>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            key: if version <= 3 {
                r.string()?
            } else {
                Str::default()
            },
            key_type: if version >= 1 { r.int8()? } else { 0 },
            coordinator_keys: if version >= 4 {
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
        if version <= 3 {
            w.string(Some(&self.key));
        } else {
            w.refuse_set(!self.key.is_empty(), "key");
        }
        if version >= 1 {
            w.int8(self.key_type);
        } else {
            w.refuse_set(self.key_type != 0, "key_type");
        }
        if version >= 4 {
            w.array(Some(&self.coordinator_keys), |w, x| w.string(Some(x)));
        } else {
            w.refuse_set(!self.coordinator_keys.is_empty(), "coordinator_keys");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::FindCoordinator;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    /// Versions 0 to 3.
    pub error_code: i16,
    /// Versions 1 to 3.
    pub error_message: Option<Str>,
    /// Versions 0 to 3.
    pub node_id: i32,
    /// Versions 0 to 3.
    pub host: Str,
    /// Versions 0 to 3.
    pub port: i32,
    /// Versions 4 and later.
    pub coordinators: Vec<Coordinator>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            error_code: if version <= 3 { r.int16()? } else { 0 },
            error_message: if (1..=3).contains(&version) {
                r.nullable_string()?
            } else {
                None
            },
            node_id: if version <= 3 { r.int32()? } else { 0 },
            host: if version <= 3 {
                r.string()?
            } else {
                Str::default()
            },
            port: if version <= 3 { r.int32()? } else { 0 },
            coordinators: if version >= 4 {
                r.array(14, |r| Coordinator::decode(r, version))?
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
        if version <= 3 {
            w.int16(self.error_code);
        } else {
            w.refuse_set(self.error_code != 0, "error_code");
        }
        if (1..=3).contains(&version) {
            w.string(self.error_message.as_deref());
        }
        if version <= 3 {
            w.int32(self.node_id);
        } else {
            w.refuse_set(self.node_id != 0, "node_id");
        }
        if version <= 3 {
            w.string(Some(&self.host));
        } else {
            w.refuse_set(!self.host.is_empty(), "host");
        }
        if version <= 3 {
            w.int32(self.port);
        } else {
            w.refuse_set(self.port != 0, "port");
        }
        if version >= 4 {
            w.array(Some(&self.coordinators), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.coordinators.is_empty(), "coordinators");
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinator {
    pub key: Str,
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl Coordinator {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            key: r.string()?,
            node_id: r.int32()?,
            host: r.string()?,
            port: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.key));
        w.int32(self.node_id);
        w.string(Some(&self.host));
        w.int32(self.port);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
