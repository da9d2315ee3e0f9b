//! `DescribeLogDirs`, API key 35.
//!
//! Generated from `schema/035-describe-log-dirs.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub topics: Option<Vec<DescribableLogDirTopic>>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 5);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: r.nullable_array(3, |r| DescribableLogDirTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(self.topics.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeLogDirs;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribableLogDirTopic {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

impl DescribableLogDirTopic {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.topic));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    /// Versions 3 and later.
    pub error_code: i16,
    pub results: Vec<DescribeLogDirsResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 5);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: if version >= 3 { r.int16()? } else { 0 },
            results: r.array(5, |r| DescribeLogDirsResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        if version >= 3 {
            w.int16(self.error_code);
        }
        w.array(Some(&self.results), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribeLogDirsResult {
    pub error_code: i16,
    pub log_dir: Str,
    pub topics: Vec<DescribeLogDirsTopic>,
    /// Versions 4 and later.
    pub total_bytes: i64,
    /// Versions 4 and later.
    pub usable_bytes: i64,
    /// Versions 5 and later.
    pub is_cordoned: bool,
}

impl Default for DescribeLogDirsResult {
    fn default() -> Self {
        Self {
            error_code: 0,
            log_dir: Str::default(),
            topics: Vec::new(),
            total_bytes: -1,
            usable_bytes: -1,
            is_cordoned: false,
        }
    }
}

impl DescribeLogDirsResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            log_dir: r.string()?,
            topics: r.array(3, |r| DescribeLogDirsTopic::decode(r, version))?,
            total_bytes: if version >= 4 { r.int64()? } else { -1 },
            usable_bytes: if version >= 4 { r.int64()? } else { -1 },
            is_cordoned: if version >= 5 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        w.string(Some(&self.log_dir));
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        if version >= 4 {
            w.int64(self.total_bytes);
        }
        if version >= 4 {
            w.int64(self.usable_bytes);
        }
        if version >= 5 {
            w.bool(self.is_cordoned);
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeLogDirsTopic {
    pub name: Str,
    pub partitions: Vec<DescribeLogDirsPartition>,
}

impl DescribeLogDirsTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(21, |r| DescribeLogDirsPartition::decode(r, version))?,
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
pub struct DescribeLogDirsPartition {
    pub partition_index: i32,
    pub partition_size: i64,
    pub offset_lag: i64,
    pub is_future_key: bool,
}

impl DescribeLogDirsPartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            partition_size: r.int64()?,
            offset_lag: r.int64()?,
            is_future_key: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int64(self.partition_size);
        w.int64(self.offset_lag);
        w.bool(self.is_future_key);
        w.end_plain_struct();
    }
}
