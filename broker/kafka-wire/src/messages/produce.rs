//! `Produce`, API key 0.
//!
//! Generated from `schema/000-produce.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::records::Records;
use crate::string::Str;
use crate::writer::{TaggedFields, Writer};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub transactional_id: Option<Str>,
    pub acks: i16,
    pub timeout_ms: i32,
    pub topic_data: Vec<TopicProduceData>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(3, 13);
    const FLEXIBLE_FROM: i16 = 9;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            transactional_id: r.nullable_string()?,
            acks: r.int16()?,
            timeout_ms: r.int32()?,
            topic_data: r.array(3, |r| TopicProduceData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(self.transactional_id.as_deref());
        w.int16(self.acks);
        w.int32(self.timeout_ms);
        w.array(Some(&self.topic_data), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::Produce;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicProduceData {
    /// Versions 3 to 12.
    pub name: Str,
    /// Versions 13 and later.
    pub topic_id: Uuid,
    pub partition_data: Vec<PartitionProduceData>,
}

impl TopicProduceData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version <= 12 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 13 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partition_data: r.array(6, |r| PartitionProduceData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 12 {
            w.string(Some(&self.name));
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partition_data), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionProduceData {
    pub index: i32,
    pub records: Option<Records>,
}

impl PartitionProduceData {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            index: r.int32()?,
            records: r.nullable_records()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.index);
        w.records(self.records.as_ref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub responses: Vec<TopicProduceResponse>,
    pub throttle_time_ms: i32,
    /// Versions 10 and later.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(3, 13);
    const FLEXIBLE_FROM: i16 = 9;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let mut message = Self {
            responses: r.array(3, |r| TopicProduceResponse::decode(r, version))?,
            throttle_time_ms: r.int32()?,
            node_endpoints: Vec::new(),
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 if version >= 10 => {
                    message.node_endpoints = r.array(11, |r| NodeEndpoint::decode(r, version))?
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.responses), |w, x| x.encode(w, version));
        w.int32(self.throttle_time_ms);
        let mut tagged = TaggedFields::default();
        if !self.node_endpoints.is_empty() {
            if version >= 10 {
                w.tagged_field(&mut tagged, 0, |w| {
                    w.array(Some(&self.node_endpoints), |w, x| x.encode(w, version));
                });
            } else {
                w.refuse_set(true, "node_endpoints");
            }
        }
        w.end_struct(&tagged);
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicProduceResponse {
    /// Versions 3 to 12.
    pub name: Str,
    /// Versions 13 and later.
    pub topic_id: Uuid,
    pub partition_responses: Vec<PartitionProduceResponse>,
}

impl TopicProduceResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version <= 12 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 13 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partition_responses: r.array(22, |r| PartitionProduceResponse::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 12 {
            w.string(Some(&self.name));
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partition_responses), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionProduceResponse {
    pub index: i32,
    pub error_code: i16,
    pub base_offset: i64,
    pub log_append_time_ms: i64,
    /// Versions 5 and later.
    pub log_start_offset: i64,
    /// Versions 8 and later.
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// Versions 8 and later.
    pub error_message: Option<Str>,
    /// Versions 10 and later.
    pub current_leader: LeaderIdAndEpoch,
}

impl Default for PartitionProduceResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: 0,
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: Default::default(),
        }
    }
}

impl PartitionProduceResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut message = Self {
            index: r.int32()?,
            error_code: r.int16()?,
            base_offset: r.int64()?,
            log_append_time_ms: r.int64()?,
            log_start_offset: if version >= 5 { r.int64()? } else { -1 },
            record_errors: if version >= 8 {
                r.array(6, |r| BatchIndexAndErrorMessage::decode(r, version))?
            } else {
                Vec::new()
            },
            error_message: if version >= 8 {
                r.nullable_string()?
            } else {
                None
            },
            current_leader: Default::default(),
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 if version >= 10 => {
                    message.current_leader = LeaderIdAndEpoch::decode(r, version)?
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.index);
        w.int16(self.error_code);
        w.int64(self.base_offset);
        w.int64(self.log_append_time_ms);
        if version >= 5 {
            w.int64(self.log_start_offset);
        }
        if version >= 8 {
            w.array(Some(&self.record_errors), |w, x| x.encode(w, version));
        }
        if version >= 8 {
            w.string(self.error_message.as_deref());
        }
        let mut tagged = TaggedFields::default();
        if self.current_leader != LeaderIdAndEpoch::default() {
            if version >= 10 {
                w.tagged_field(&mut tagged, 0, |w| {
                    self.current_leader.encode(w, version);
                });
            } else {
                w.refuse_set(true, "current_leader");
            }
        }
        w.end_struct(&tagged);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchIndexAndErrorMessage {
    pub batch_index: i32,
    pub batch_index_error_message: Option<Str>,
}

impl BatchIndexAndErrorMessage {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            batch_index: r.int32()?,
            batch_index_error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.batch_index);
        w.string(self.batch_index_error_message.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self {
            leader_id: -1,
            leader_epoch: -1,
        }
    }
}

impl LeaderIdAndEpoch {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            leader_id: r.int32()?,
            leader_epoch: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.leader_id);
        w.int32(self.leader_epoch);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

impl NodeEndpoint {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            node_id: r.int32()?,
            host: r.string()?,
            port: r.int32()?,
            rack: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.node_id);
        w.string(Some(&self.host));
        w.int32(self.port);
        w.string(self.rack.as_deref());
        w.end_plain_struct();
    }
}
