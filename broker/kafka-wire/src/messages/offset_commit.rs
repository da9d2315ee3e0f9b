//! `OffsetCommit`, API key 8.
//!
//! Generated from `schema/008-offset-commit.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub generation_id_or_member_epoch: i32,
    pub member_id: Str,
    /// Versions 7 and later.
    pub group_instance_id: Option<Str>,
    /// Versions 2 to 4.
    pub retention_time_ms: i64,
    pub topics: Vec<OffsetCommitRequestTopic>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            group_id: Str::default(),
            generation_id_or_member_epoch: -1,
            member_id: Str::default(),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Vec::new(),
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(2, 10);
    const FLEXIBLE_FROM: i16 = 8;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            generation_id_or_member_epoch: r.int32()?,
            member_id: r.string()?,
            group_instance_id: if version >= 7 {
                r.nullable_string()?
            } else {
                None
            },
            retention_time_ms: if version <= 4 { r.int64()? } else { -1 },
            topics: r.array(3, |r| OffsetCommitRequestTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        w.int32(self.generation_id_or_member_epoch);
        w.string(Some(&self.member_id));
        if version >= 7 {
            w.string(self.group_instance_id.as_deref());
        } else {
            w.refuse_set(self.group_instance_id.is_some(), "group_instance_id");
        }
        if version <= 4 {
            w.int64(self.retention_time_ms);
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::OffsetCommit;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetCommitRequestTopic {
    /// Versions 2 to 9.
    pub name: Str,
    /// Versions 10 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

impl OffsetCommitRequestTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version <= 9 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 10 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partitions: r.array(14, |r| OffsetCommitRequestPartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 9 {
            w.string(Some(&self.name));
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct OffsetCommitRequestPartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    /// Versions 6 and later.
    pub committed_leader_epoch: i32,
    pub committed_metadata: Option<Str>,
}

impl Default for OffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: None,
        }
    }
}

impl OffsetCommitRequestPartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            committed_offset: r.int64()?,
            committed_leader_epoch: if version >= 6 { r.int32()? } else { -1 },
            committed_metadata: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int64(self.committed_offset);
        if version >= 6 {
            w.int32(self.committed_leader_epoch);
        }
        w.string(self.committed_metadata.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 3 and later.
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetCommitResponseTopic>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(2, 10);
    const FLEXIBLE_FROM: i16 = 8;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 3 { r.int32()? } else { 0 },
            topics: r.array(3, |r| OffsetCommitResponseTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 3 {
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
pub struct OffsetCommitResponseTopic {
    /// Versions 2 to 9.
    pub name: Str,
    /// Versions 10 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

impl OffsetCommitResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version <= 9 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 10 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partitions: r.array(6, |r| OffsetCommitResponsePartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 9 {
            w.string(Some(&self.name));
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetCommitResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
}

impl OffsetCommitResponsePartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}
