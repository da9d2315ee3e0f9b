//! `ListPartitionReassignments`, API key 46.
//!
//! Generated from `schema/046-list-partition-reassignments.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub timeout_ms: i32,
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            timeout_ms: 60000,
            topics: None,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            timeout_ms: r.int32()?,
            topics: r
                .nullable_array(3, |r| ListPartitionReassignmentsTopics::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.timeout_ms);
        w.array(self.topics.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ListPartitionReassignments;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListPartitionReassignmentsTopics {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

impl ListPartitionReassignmentsTopics {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partition_indexes: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.partition_indexes), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub topics: Vec<OngoingTopicReassignment>,
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
            topics: r.array(3, |r| OngoingTopicReassignment::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OngoingTopicReassignment {
    pub name: Str,
    pub partitions: Vec<OngoingPartitionReassignment>,
}

impl OngoingTopicReassignment {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(8, |r| OngoingPartitionReassignment::decode(r, version))?,
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
pub struct OngoingPartitionReassignment {
    pub partition_index: i32,
    pub replicas: Vec<i32>,
    pub adding_replicas: Vec<i32>,
    pub removing_replicas: Vec<i32>,
}

impl OngoingPartitionReassignment {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            replicas: r.array(4, Reader::int32)?,
            adding_replicas: r.array(4, Reader::int32)?,
            removing_replicas: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.array(Some(&self.replicas), |w, x| w.int32(*x));
        w.array(Some(&self.adding_replicas), |w, x| w.int32(*x));
        w.array(Some(&self.removing_replicas), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}
