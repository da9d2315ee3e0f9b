//! `DeleteRecords`, API key 21.
//!
//! Generated from `schema/021-delete-records.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub topics: Vec<DeleteRecordsTopic>,
    pub timeout_ms: i32,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: r.array(3, |r| DeleteRecordsTopic::decode(r, version))?,
            timeout_ms: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.int32(self.timeout_ms);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DeleteRecords;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteRecordsTopic {
    pub name: Str,
    pub partitions: Vec<DeleteRecordsPartition>,
}

impl DeleteRecordsTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(12, |r| DeleteRecordsPartition::decode(r, version))?,
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteRecordsPartition {
    pub partition_index: i32,
    pub offset: i64,
}

impl DeleteRecordsPartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            offset: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int64(self.offset);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub topics: Vec<DeleteRecordsTopicResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            topics: r.array(3, |r| DeleteRecordsTopicResult::decode(r, version))?,
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteRecordsTopicResult {
    pub name: Str,
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

impl DeleteRecordsTopicResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(14, |r| DeleteRecordsPartitionResult::decode(r, version))?,
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteRecordsPartitionResult {
    pub partition_index: i32,
    pub low_watermark: i64,
    pub error_code: i16,
}

impl DeleteRecordsPartitionResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            low_watermark: r.int64()?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int64(self.low_watermark);
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}
