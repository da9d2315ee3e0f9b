//! `ElectLeaders`, API key 43.
//!
//! Generated from `schema/043-elect-leaders.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Versions 1 and later.
    pub election_type: i8,
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    pub timeout_ms: i32,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            election_type: 0,
            topic_partitions: None,
            timeout_ms: 60000,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            election_type: if version >= 1 { r.int8()? } else { 0 },
            topic_partitions: r.nullable_array(3, |r| TopicPartitions::decode(r, version))?,
            timeout_ms: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 1 {
            w.int8(self.election_type);
        } else {
            w.refuse_set(self.election_type != 0, "election_type");
        }
        w.array(self.topic_partitions.as_deref(), |w, x| {
            x.encode(w, version)
        });
        w.int32(self.timeout_ms);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ElectLeaders;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicPartitions {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
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
    /// Versions 1 and later.
    pub error_code: i16,
    pub replica_election_results: Vec<ReplicaElectionResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: if version >= 1 { r.int16()? } else { 0 },
            replica_election_results: r.array(3, |r| ReplicaElectionResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        if version >= 1 {
            w.int16(self.error_code);
        } else {
            w.refuse_set(self.error_code != 0, "error_code");
        }
        w.array(Some(&self.replica_election_results), |w, x| {
            x.encode(w, version)
        });
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplicaElectionResult {
    pub topic: Str,
    pub partition_result: Vec<PartitionResult>,
}

impl ReplicaElectionResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: r.string()?,
            partition_result: r.array(8, |r| PartitionResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.topic));
        w.array(Some(&self.partition_result), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionResult {
    pub partition_id: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl PartitionResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_id: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_id);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
