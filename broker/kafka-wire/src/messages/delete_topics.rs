//! `DeleteTopics`, API key 20.
//!
//! Generated from `schema/020-delete-topics.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 6 and later.
    pub topics: Vec<DeleteTopicState>,
    /// Versions 1 to 5.
    pub topic_names: Vec<Str>,
    pub timeout_ms: i32,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 6);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: if version >= 6 {
                r.array(18, |r| DeleteTopicState::decode(r, version))?
            } else {
                Vec::new()
            },
            topic_names: if version <= 5 {
                r.array(1, Reader::string)?
            } else {
                Vec::new()
            },
            timeout_ms: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 6 {
            w.array(Some(&self.topics), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.topics.is_empty(), "topics");
        }
        if version <= 5 {
            w.array(Some(&self.topic_names), |w, x| w.string(Some(x)));
        }
        w.int32(self.timeout_ms);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DeleteTopics;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteTopicState {
    pub name: Option<Str>,
    pub topic_id: Uuid,
}

impl DeleteTopicState {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.nullable_string()?,
            topic_id: r.uuid()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(self.name.as_deref());
        w.uuid(self.topic_id);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub responses: Vec<DeletableTopicResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 6);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            responses: r.array(4, |r| DeletableTopicResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.responses), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeletableTopicResult {
    pub name: Option<Str>,
    /// Versions 6 and later.
    pub topic_id: Uuid,
    pub error_code: i16,
    /// Versions 5 and later.
    pub error_message: Option<Str>,
}

impl DeletableTopicResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version >= 6 {
                r.nullable_string()?
            } else {
                Some(r.string()?)
            },
            topic_id: if version >= 6 { r.uuid()? } else { Uuid::nil() },
            error_code: r.int16()?,
            error_message: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if self.name.is_none() && version < 6 {
            w.refuse_null("name");
        }
        w.string(self.name.as_deref());
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.int16(self.error_code);
        if version >= 5 {
            w.string(self.error_message.as_deref());
        }
        w.end_plain_struct();
    }
}
