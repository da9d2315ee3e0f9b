//! `DescribeTopicPartitions`, API key 75.
//!
//! Generated from `schema/075-describe-topic-partitions.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub topics: Vec<TopicRequest>,
    pub response_partition_limit: i32,
    pub cursor: Option<RequestCursor>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            response_partition_limit: 2000,
            cursor: None,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: r.array(2, |r| TopicRequest::decode(r, version))?,
            response_partition_limit: r.int32()?,
            cursor: r.nullable_struct(|r| RequestCursor::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.int32(self.response_partition_limit);
        w.nullable_struct(self.cursor.as_ref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeTopicPartitions;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicRequest {
    pub name: Str,
}

impl TopicRequest {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self { name: r.string()? };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestCursor {
    pub topic_name: Str,
    pub partition_index: i32,
}

impl RequestCursor {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            partition_index: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.topic_name));
        w.int32(self.partition_index);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    pub next_cursor: Option<ResponseCursor>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            topics: r.array(26, |r| {
                DescribeTopicPartitionsResponseTopic::decode(r, version)
            })?,
            next_cursor: r.nullable_struct(|r| ResponseCursor::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.nullable_struct(self.next_cursor.as_ref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsResponseTopic {
    pub error_code: i16,
    pub name: Option<Str>,
    pub topic_id: Uuid,
    pub is_internal: bool,
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    pub topic_authorized_operations: i32,
}

impl Default for DescribeTopicPartitionsResponseTopic {
    fn default() -> Self {
        Self {
            error_code: 0,
            name: None,
            topic_id: Uuid::nil(),
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

impl DescribeTopicPartitionsResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            name: r.nullable_string()?,
            topic_id: r.uuid()?,
            is_internal: r.bool()?,
            partitions: r.array(20, |r| {
                DescribeTopicPartitionsResponsePartition::decode(r, version)
            })?,
            topic_authorized_operations: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        w.string(self.name.as_deref());
        w.uuid(self.topic_id);
        w.bool(self.is_internal);
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.int32(self.topic_authorized_operations);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsResponsePartition {
    pub error_code: i16,
    pub partition_index: i32,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub replica_nodes: Vec<i32>,
    pub isr_nodes: Vec<i32>,
    pub eligible_leader_replicas: Option<Vec<i32>>,
    pub last_known_elr: Option<Vec<i32>>,
    pub offline_replicas: Vec<i32>,
}

impl Default for DescribeTopicPartitionsResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Vec::new(),
        }
    }
}

impl DescribeTopicPartitionsResponsePartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            partition_index: r.int32()?,
            leader_id: r.int32()?,
            leader_epoch: r.int32()?,
            replica_nodes: r.array(4, Reader::int32)?,
            isr_nodes: r.array(4, Reader::int32)?,
            eligible_leader_replicas: r.nullable_array(4, Reader::int32)?,
            last_known_elr: r.nullable_array(4, Reader::int32)?,
            offline_replicas: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int16(self.error_code);
        w.int32(self.partition_index);
        w.int32(self.leader_id);
        w.int32(self.leader_epoch);
        w.array(Some(&self.replica_nodes), |w, x| w.int32(*x));
        w.array(Some(&self.isr_nodes), |w, x| w.int32(*x));
        w.array(self.eligible_leader_replicas.as_deref(), |w, x| w.int32(*x));
        w.array(self.last_known_elr.as_deref(), |w, x| w.int32(*x));
        w.array(Some(&self.offline_replicas), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseCursor {
    pub topic_name: Str,
    pub partition_index: i32,
}

impl ResponseCursor {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            partition_index: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.topic_name));
        w.int32(self.partition_index);
        w.end_plain_struct();
    }
}
