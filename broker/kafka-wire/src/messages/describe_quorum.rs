//! `DescribeQuorum`, API key 55.
//!
//! Generated from `schema/055-describe-quorum.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub topics: Vec<RequestTopicData>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: r.array(3, |r| RequestTopicData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeQuorum;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTopicData {
    pub topic_name: Str,
    pub partitions: Vec<RequestPartitionData>,
}

impl RequestTopicData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            partitions: r.array(5, |r| RequestPartitionData::decode(r, version))?,
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
pub struct RequestPartitionData {
    pub partition_index: i32,
}

impl RequestPartitionData {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub error_code: i16,
    /// Versions 2 and later.
    pub error_message: Option<Str>,
    pub topics: Vec<ResponseTopicData>,
    /// Versions 2 and later.
    pub nodes: Vec<Node>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            error_code: r.int16()?,
            error_message: if version >= 2 {
                r.nullable_string()?
            } else {
                None
            },
            topics: r.array(3, |r| ResponseTopicData::decode(r, version))?,
            nodes: if version >= 2 {
                r.array(6, |r| Node::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int16(self.error_code);
        if version >= 2 {
            w.string(self.error_message.as_deref());
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        if version >= 2 {
            w.array(Some(&self.nodes), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.nodes.is_empty(), "nodes");
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseTopicData {
    pub topic_name: Str,
    pub partitions: Vec<ResponsePartitionData>,
}

impl ResponseTopicData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_name: r.string()?,
            partitions: r.array(25, |r| ResponsePartitionData::decode(r, version))?,
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
pub struct ResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    /// Versions 2 and later.
    pub error_message: Option<Str>,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub high_watermark: i64,
    pub current_voters: Vec<ReplicaState>,
    pub observers: Vec<ReplicaState>,
}

impl ResponsePartitionData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
            error_message: if version >= 2 {
                r.nullable_string()?
            } else {
                None
            },
            leader_id: r.int32()?,
            leader_epoch: r.int32()?,
            high_watermark: r.int64()?,
            current_voters: r.array(13, |r| ReplicaState::decode(r, version))?,
            observers: r.array(13, |r| ReplicaState::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        if version >= 2 {
            w.string(self.error_message.as_deref());
        }
        w.int32(self.leader_id);
        w.int32(self.leader_epoch);
        w.int64(self.high_watermark);
        w.array(Some(&self.current_voters), |w, x| x.encode(w, version));
        w.array(Some(&self.observers), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaState {
    pub replica_id: i32,
    /// Versions 2 and later.
    pub replica_directory_id: Uuid,
    pub log_end_offset: i64,
    /// Versions 1 and later.
    pub last_fetch_timestamp: i64,
    /// Versions 1 and later.
    pub last_caught_up_timestamp: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self {
            replica_id: 0,
            replica_directory_id: Uuid::nil(),
            log_end_offset: 0,
            last_fetch_timestamp: -1,
            last_caught_up_timestamp: -1,
        }
    }
}

impl ReplicaState {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            replica_id: r.int32()?,
            replica_directory_id: if version >= 2 { r.uuid()? } else { Uuid::nil() },
            log_end_offset: r.int64()?,
            last_fetch_timestamp: if version >= 1 { r.int64()? } else { -1 },
            last_caught_up_timestamp: if version >= 1 { r.int64()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.replica_id);
        if version >= 2 {
            w.uuid(self.replica_directory_id);
        } else {
            w.refuse_set(!self.replica_directory_id.is_nil(), "replica_directory_id");
        }
        w.int64(self.log_end_offset);
        if version >= 1 {
            w.int64(self.last_fetch_timestamp);
        }
        if version >= 1 {
            w.int64(self.last_caught_up_timestamp);
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub node_id: i32,
    pub listeners: Vec<Listener>,
}

impl Node {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            node_id: r.int32()?,
            listeners: r.array(5, |r| Listener::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.node_id);
        w.array(Some(&self.listeners), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

impl Listener {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            host: r.string()?,
            port: r.uint16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.string(Some(&self.host));
        w.uint16(self.port);
        w.end_plain_struct();
    }
}
