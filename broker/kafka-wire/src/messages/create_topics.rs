//! `CreateTopics`, API key 19.
//!
//! Generated from `schema/019-create-topics.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::{TaggedFields, Writer};

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub topics: Vec<CreatableTopic>,
    pub timeout_ms: i32,
    pub validate_only: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            timeout_ms: 60000,
            validate_only: false,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(2, 7);
    const FLEXIBLE_FROM: i16 = 5;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: r.array(10, |r| CreatableTopic::decode(r, version))?,
            timeout_ms: r.int32()?,
            validate_only: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.int32(self.timeout_ms);
        w.bool(self.validate_only);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::CreateTopics;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreatableTopic {
    pub name: Str,
    pub num_partitions: i32,
    pub replication_factor: i16,
    pub assignments: Vec<CreatableReplicaAssignment>,
    pub configs: Vec<CreatableTopicConfig>,
}

impl CreatableTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            num_partitions: r.int32()?,
            replication_factor: r.int16()?,
            assignments: r.array(6, |r| CreatableReplicaAssignment::decode(r, version))?,
            configs: r.array(3, |r| CreatableTopicConfig::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.int32(self.num_partitions);
        w.int16(self.replication_factor);
        w.array(Some(&self.assignments), |w, x| x.encode(w, version));
        w.array(Some(&self.configs), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreatableReplicaAssignment {
    pub partition_index: i32,
    pub broker_ids: Vec<i32>,
}

impl CreatableReplicaAssignment {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            broker_ids: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.array(Some(&self.broker_ids), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreatableTopicConfig {
    pub name: Str,
    pub value: Option<Str>,
}

impl CreatableTopicConfig {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            value: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.string(self.value.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub topics: Vec<CreatableTopicResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(2, 7);
    const FLEXIBLE_FROM: i16 = 5;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            topics: r.array(6, |r| CreatableTopicResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreatableTopicResult {
    pub name: Str,
    /// Versions 7 and later.
    pub topic_id: Uuid,
    pub error_code: i16,
    pub error_message: Option<Str>,
    /// Versions 5 and later.
    pub topic_config_error_code: i16,
    /// Versions 5 and later.
    pub num_partitions: i32,
    /// Versions 5 and later.
    pub replication_factor: i16,
    /// Versions 5 and later.
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

impl Default for CreatableTopicResult {
    fn default() -> Self {
        Self {
            name: Str::default(),
            topic_id: Uuid::nil(),
            error_code: 0,
            error_message: None,
            topic_config_error_code: 0,
            num_partitions: -1,
            replication_factor: -1,
            configs: None,
        }
    }
}

impl CreatableTopicResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut message = Self {
            name: r.string()?,
            topic_id: if version >= 7 { r.uuid()? } else { Uuid::nil() },
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            topic_config_error_code: 0,
            num_partitions: if version >= 5 { r.int32()? } else { -1 },
            replication_factor: if version >= 5 { r.int16()? } else { -1 },
            configs: if version >= 5 {
                r.nullable_array(6, |r| CreatableTopicConfigs::decode(r, version))?
            } else {
                None
            },
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 => message.topic_config_error_code = r.int16()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        if version >= 7 {
            w.uuid(self.topic_id);
        }
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        if version >= 5 {
            w.int32(self.num_partitions);
        }
        if version >= 5 {
            w.int16(self.replication_factor);
        }
        if version >= 5 {
            w.array(self.configs.as_deref(), |w, x| x.encode(w, version));
        }
        let mut tagged = TaggedFields::default();
        if version >= 5 && self.topic_config_error_code != 0 {
            w.tagged_field(&mut tagged, 0, |w| {
                w.int16(self.topic_config_error_code);
            });
        }
        w.end_struct(&tagged);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreatableTopicConfigs {
    pub name: Str,
    pub value: Option<Str>,
    pub read_only: bool,
    pub config_source: i8,
    pub is_sensitive: bool,
}

impl Default for CreatableTopicConfigs {
    fn default() -> Self {
        Self {
            name: Str::default(),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
        }
    }
}

impl CreatableTopicConfigs {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            value: r.nullable_string()?,
            read_only: r.bool()?,
            config_source: r.int8()?,
            is_sensitive: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.string(self.value.as_deref());
        w.bool(self.read_only);
        w.int8(self.config_source);
        w.bool(self.is_sensitive);
        w.end_plain_struct();
    }
}
