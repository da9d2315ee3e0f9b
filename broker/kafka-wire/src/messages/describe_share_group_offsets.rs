//! `DescribeShareGroupOffsets`, API key 90.
//!
//! Generated from `schema/090-describe-share-group-offsets.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            groups: r.array(3, |r| {
                DescribeShareGroupOffsetsRequestGroup::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.groups), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeShareGroupOffsets;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    pub group_id: Str,
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
}

impl DescribeShareGroupOffsetsRequestGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            group_id: r.string()?,
            topics: r.nullable_array(3, |r| {
                DescribeShareGroupOffsetsRequestTopic::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.group_id));
        w.array(self.topics.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    pub topic_name: Str,
    pub partitions: Vec<i32>,
}

impl DescribeShareGroupOffsetsRequestTopic {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.topic_name));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            groups: r.array(6, |r| {
                DescribeShareGroupOffsetsResponseGroup::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.groups), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    pub group_id: Str,
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl DescribeShareGroupOffsetsResponseGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            group_id: r.string()?,
            topics: r.array(19, |r| {
                DescribeShareGroupOffsetsResponseTopic::decode(r, version)
            })?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.group_id));
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    pub topic_name: Str,
    pub topic_id: Uuid,
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
}

impl DescribeShareGroupOffsetsResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            topic_id: r.uuid()?,
            partitions: r.array(20, |r| {
                DescribeShareGroupOffsetsResponsePartition::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.topic_name));
        w.uuid(self.topic_id);
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    pub partition_index: i32,
    pub start_offset: i64,
    pub leader_epoch: i32,
    /// Versions 1 and later.
    pub lag: i64,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl Default for DescribeShareGroupOffsetsResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            start_offset: 0,
            leader_epoch: 0,
            lag: -1,
            error_code: 0,
            error_message: None,
        }
    }
}

impl DescribeShareGroupOffsetsResponsePartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            start_offset: r.int64()?,
            leader_epoch: r.int32()?,
            lag: if version >= 1 { r.int64()? } else { -1 },
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int64(self.start_offset);
        w.int32(self.leader_epoch);
        if version >= 1 {
            w.int64(self.lag);
        }
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
