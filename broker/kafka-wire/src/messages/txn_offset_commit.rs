//! `TxnOffsetCommit`, API key 28.
//!
//! Generated from `schema/028-txn-offset-commit.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub transactional_id: Str,
    pub group_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    /// Versions 3 and later.
    pub generation_id_or_member_epoch: i32,
    /// Versions 3 and later.
    pub member_id: Str,
    /// Versions 3 and later.
    pub group_instance_id: Option<Str>,
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            transactional_id: Str::default(),
            group_id: Str::default(),
            producer_id: 0,
            producer_epoch: 0,
            generation_id_or_member_epoch: -1,
            member_id: Str::default(),
            group_instance_id: None,
            topics: Vec::new(),
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            transactional_id: r.string()?,
            group_id: r.string()?,
            producer_id: r.int64()?,
            producer_epoch: r.int16()?,
            generation_id_or_member_epoch: if version >= 3 { r.int32()? } else { -1 },
            member_id: if version >= 3 {
                r.string()?
            } else {
                Str::default()
            },
            group_instance_id: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
            topics: r.array(3, |r| TxnOffsetCommitRequestTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.transactional_id));
        w.string(Some(&self.group_id));
        w.int64(self.producer_id);
        w.int16(self.producer_epoch);
        if version >= 3 {
            w.int32(self.generation_id_or_member_epoch);
        } else {
            w.refuse_set(
                self.generation_id_or_member_epoch != -1,
                "generation_id_or_member_epoch",
            );
        }
        if version >= 3 {
            w.string(Some(&self.member_id));
        } else {
            w.refuse_set(!self.member_id.is_empty(), "member_id");
        }
        if version >= 3 {
            w.string(self.group_instance_id.as_deref());
        } else {
            w.refuse_set(self.group_instance_id.is_some(), "group_instance_id");
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::TxnOffsetCommit;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxnOffsetCommitRequestTopic {
    /// Versions 0 to 5.
    pub name: Str,
    /// Versions 6 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

impl TxnOffsetCommitRequestTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version <= 5 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 6 { r.uuid()? } else { Uuid::nil() },
            partitions: r.array(14, |r| TxnOffsetCommitRequestPartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 5 {
            w.string(Some(&self.name));
        }
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitRequestPartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    /// Versions 2 and later.
    pub committed_leader_epoch: i32,
    pub committed_metadata: Option<Str>,
}

impl Default for TxnOffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: None,
        }
    }
}

impl TxnOffsetCommitRequestPartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            committed_offset: r.int64()?,
            committed_leader_epoch: if version >= 2 { r.int32()? } else { -1 },
            committed_metadata: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int64(self.committed_offset);
        if version >= 2 {
            w.int32(self.committed_leader_epoch);
        }
        w.string(self.committed_metadata.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            topics: r.array(3, |r| TxnOffsetCommitResponseTopic::decode(r, version))?,
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
pub struct TxnOffsetCommitResponseTopic {
    /// Versions 0 to 5.
    pub name: Str,
    /// Versions 6 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

impl TxnOffsetCommitResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: if version <= 5 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 6 { r.uuid()? } else { Uuid::nil() },
            partitions: r.array(6, |r| TxnOffsetCommitResponsePartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 5 {
            w.string(Some(&self.name));
        }
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxnOffsetCommitResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
}

impl TxnOffsetCommitResponsePartition {
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
