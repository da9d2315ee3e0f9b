//! `ConsumerGroupHeartbeat`, API key 68.
//!
//! Generated from `schema/068-consumer-group-heartbeat.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub member_id: Str,
    pub member_epoch: i32,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub rebalance_timeout_ms: i32,
    pub subscribed_topic_names: Option<Vec<Str>>,
    /// Versions 1 and later.
    pub subscribed_topic_regex: Option<Str>,
    pub server_assignor: Option<Str>,
    pub topic_partitions: Option<Vec<RequestTopicPartitions>>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            group_id: Str::default(),
            member_id: Str::default(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            topic_partitions: None,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            member_id: r.string()?,
            member_epoch: r.int32()?,
            instance_id: r.nullable_string()?,
            rack_id: r.nullable_string()?,
            rebalance_timeout_ms: r.int32()?,
            subscribed_topic_names: r.nullable_array(1, Reader::string)?,
            subscribed_topic_regex: if version >= 1 {
                r.nullable_string()?
            } else {
                None
            },
            server_assignor: r.nullable_string()?,
            topic_partitions: r
                .nullable_array(18, |r| RequestTopicPartitions::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        w.string(Some(&self.member_id));
        w.int32(self.member_epoch);
        w.string(self.instance_id.as_deref());
        w.string(self.rack_id.as_deref());
        w.int32(self.rebalance_timeout_ms);
        w.array(self.subscribed_topic_names.as_deref(), |w, x| {
            w.string(Some(x))
        });
        if version >= 1 {
            w.string(self.subscribed_topic_regex.as_deref());
        } else {
            w.refuse_set(
                self.subscribed_topic_regex.is_some(),
                "subscribed_topic_regex",
            );
        }
        w.string(self.server_assignor.as_deref());
        w.array(self.topic_partitions.as_deref(), |w, x| {
            x.encode(w, version)
        });
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ConsumerGroupHeartbeat;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

impl RequestTopicPartitions {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_id: r.uuid()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.uuid(self.topic_id);
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub member_id: Option<Str>,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    pub assignment: Option<Assignment>,
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
            member_id: r.nullable_string()?,
            member_epoch: r.int32()?,
            heartbeat_interval_ms: r.int32()?,
            assignment: r.nullable_struct(|r| Assignment::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.string(self.member_id.as_deref());
        w.int32(self.member_epoch);
        w.int32(self.heartbeat_interval_ms);
        w.nullable_struct(self.assignment.as_ref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    pub topic_partitions: Vec<ResponseTopicPartitions>,
}

impl Assignment {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_partitions: r.array(18, |r| ResponseTopicPartitions::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(Some(&self.topic_partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseTopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

impl ResponseTopicPartitions {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_id: r.uuid()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.uuid(self.topic_id);
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}
