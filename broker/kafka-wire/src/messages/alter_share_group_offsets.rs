//! `AlterShareGroupOffsets`, API key 91.
//!
//! Generated from `schema/091-alter-share-group-offsets.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            topics: r.array(3, |r| {
                AlterShareGroupOffsetsRequestTopic::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::AlterShareGroupOffsets;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterShareGroupOffsetsRequestTopic {
    pub topic_name: Str,
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
}

impl AlterShareGroupOffsetsRequestTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            partitions: r.array(13, |r| {
                AlterShareGroupOffsetsRequestPartition::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.topic_name));
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterShareGroupOffsetsRequestPartition {
    pub partition_index: i32,
    pub start_offset: i64,
}

impl AlterShareGroupOffsetsRequestPartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            start_offset: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int64(self.start_offset);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            responses: r.array(19, |r| {
                AlterShareGroupOffsetsResponseTopic::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.array(Some(&self.responses), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterShareGroupOffsetsResponseTopic {
    pub topic_name: Str,
    pub topic_id: Uuid,
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
}

impl AlterShareGroupOffsetsResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            topic_id: r.uuid()?,
            partitions: r.array(8, |r| {
                AlterShareGroupOffsetsResponsePartition::decode(r, version)
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterShareGroupOffsetsResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl AlterShareGroupOffsetsResponsePartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
