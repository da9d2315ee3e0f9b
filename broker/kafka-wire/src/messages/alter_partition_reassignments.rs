//! `AlterPartitionReassignments`, API key 45.
//!
//! Generated from `schema/045-alter-partition-reassignments.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub timeout_ms: i32,
    /// Versions 1 and later.
    pub allow_replication_factor_change: bool,
    pub topics: Vec<ReassignableTopic>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            timeout_ms: 60000,
            allow_replication_factor_change: true,
            topics: Vec::new(),
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            timeout_ms: r.int32()?,
            allow_replication_factor_change: if version >= 1 { r.bool()? } else { true },
            topics: r.array(3, |r| ReassignableTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.timeout_ms);
        if version >= 1 {
            w.bool(self.allow_replication_factor_change);
        } else {
            w.refuse_set(
                !self.allow_replication_factor_change,
                "allow_replication_factor_change",
            );
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::AlterPartitionReassignments;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReassignableTopic {
    pub name: Str,
    pub partitions: Vec<ReassignablePartition>,
}

impl ReassignableTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(6, |r| ReassignablePartition::decode(r, version))?,
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
pub struct ReassignablePartition {
    pub partition_index: i32,
    pub replicas: Option<Vec<i32>>,
}

impl ReassignablePartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            replicas: r.nullable_array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.array(self.replicas.as_deref(), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    /// Versions 1 and later.
    pub allow_replication_factor_change: bool,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub responses: Vec<ReassignableTopicResponse>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            allow_replication_factor_change: true,
            error_code: 0,
            error_message: None,
            responses: Vec::new(),
        }
    }
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            allow_replication_factor_change: if version >= 1 { r.bool()? } else { true },
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            responses: r.array(3, |r| ReassignableTopicResponse::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        if version >= 1 {
            w.bool(self.allow_replication_factor_change);
        }
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
pub struct ReassignableTopicResponse {
    pub name: Str,
    pub partitions: Vec<ReassignablePartitionResponse>,
}

impl ReassignableTopicResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(8, |r| ReassignablePartitionResponse::decode(r, version))?,
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
pub struct ReassignablePartitionResponse {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl ReassignablePartitionResponse {
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
