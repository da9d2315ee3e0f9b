//! `ListOffsets`, API key 2.
//!
//! Generated from `schema/002-list-offsets.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub replica_id: i32,
    /// Versions 2 and later.
    pub isolation_level: i8,
    pub topics: Vec<ListOffsetsTopic>,
    /// Versions 10 and later.
    pub timeout_ms: i32,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 11);
    const FLEXIBLE_FROM: i16 = 6;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            replica_id: r.int32()?,
            isolation_level: if version >= 2 { r.int8()? } else { 0 },
            topics: r.array(3, |r| ListOffsetsTopic::decode(r, version))?,
            timeout_ms: if version >= 10 { r.int32()? } else { 0 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.replica_id);
        if version >= 2 {
            w.int8(self.isolation_level);
        } else {
            w.refuse_set(self.isolation_level != 0, "isolation_level");
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        if version >= 10 {
            w.int32(self.timeout_ms);
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ListOffsets;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOffsetsTopic {
    pub name: Str,
    pub partitions: Vec<ListOffsetsPartition>,
}

impl ListOffsetsTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(12, |r| ListOffsetsPartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListOffsetsPartition {
    pub partition_index: i32,
    /// Versions 4 and later.
    pub current_leader_epoch: i32,
    pub timestamp: i64,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            current_leader_epoch: -1,
            timestamp: 0,
        }
    }
}

impl ListOffsetsPartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            current_leader_epoch: if version >= 4 { r.int32()? } else { -1 },
            timestamp: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        if version >= 4 {
            w.int32(self.current_leader_epoch);
        }
        w.int64(self.timestamp);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 2 and later.
    pub throttle_time_ms: i32,
    pub topics: Vec<ListOffsetsTopicResponse>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 11);
    const FLEXIBLE_FROM: i16 = 6;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 2 { r.int32()? } else { 0 },
            topics: r.array(3, |r| ListOffsetsTopicResponse::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 2 {
            w.int32(self.throttle_time_ms);
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOffsetsTopicResponse {
    pub name: Str,
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

impl ListOffsetsTopicResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(22, |r| ListOffsetsPartitionResponse::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListOffsetsPartitionResponse {
    pub partition_index: i32,
    pub error_code: i16,
    pub timestamp: i64,
    pub offset: i64,
    /// Versions 4 and later.
    pub leader_epoch: i32,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: 0,
            timestamp: -1,
            offset: -1,
            leader_epoch: -1,
        }
    }
}

impl ListOffsetsPartitionResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
            timestamp: r.int64()?,
            offset: r.int64()?,
            leader_epoch: if version >= 4 { r.int32()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        w.int64(self.timestamp);
        w.int64(self.offset);
        if version >= 4 {
            w.int32(self.leader_epoch);
        } else {
            w.refuse_set(self.leader_epoch != -1, "leader_epoch");
        }
        w.end_plain_struct();
    }
}
