//! `OffsetFetch`, API key 9.
//!
//! Generated from `schema/009-offset-fetch.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 1 to 7.
    pub group_id: Str,
    /// Versions 1 to 7.
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// Versions 8 and later.
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Versions 7 and later.
    pub require_stable: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 10);
    const FLEXIBLE_FROM: i16 = 6;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: if version <= 7 {
                r.string()?
            } else {
                Str::default()
            },
            topics: if version <= 7 {
                if version >= 2 {
                    r.nullable_array(3, |r| OffsetFetchRequestTopic::decode(r, version))?
                } else {
                    Some(r.array(3, |r| OffsetFetchRequestTopic::decode(r, version))?)
                }
            } else {
                None
            },
            groups: if version >= 8 {
                r.array(3, |r| OffsetFetchRequestGroup::decode(r, version))?
            } else {
                Vec::new()
            },
            require_stable: if version >= 7 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version <= 7 {
            w.string(Some(&self.group_id));
        } else {
            w.refuse_set(!self.group_id.is_empty(), "group_id");
        }
        if version <= 7 {
            if self.topics.is_none() && version < 2 {
                w.refuse_null("topics");
            }
            w.array(self.topics.as_deref(), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(self.topics.is_some(), "topics");
        }
        if version >= 8 {
            w.array(Some(&self.groups), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.groups.is_empty(), "groups");
        }
        if version >= 7 {
            w.bool(self.require_stable);
        } else {
            w.refuse_set(self.require_stable, "require_stable");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::OffsetFetch;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetFetchRequestTopic {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

impl OffsetFetchRequestTopic {
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

#[derive(Clone, Debug, PartialEq)]
pub struct OffsetFetchRequestGroup {
    pub group_id: Str,
    /// Versions 9 and later.
    pub member_id: Option<Str>,
    /// Versions 9 and later.
    pub member_epoch: i32,
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

impl Default for OffsetFetchRequestGroup {
    fn default() -> Self {
        Self {
            group_id: Str::default(),
            member_id: None,
            member_epoch: -1,
            topics: None,
        }
    }
}

impl OffsetFetchRequestGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            group_id: r.string()?,
            member_id: if version >= 9 {
                r.nullable_string()?
            } else {
                None
            },
            member_epoch: if version >= 9 { r.int32()? } else { -1 },
            topics: r.nullable_array(3, |r| OffsetFetchRequestTopics::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.group_id));
        if version >= 9 {
            w.string(self.member_id.as_deref());
        }
        if version >= 9 {
            w.int32(self.member_epoch);
        }
        w.array(self.topics.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetFetchRequestTopics {
    /// Versions 8 to 9.
    pub name: Str,
    /// Versions 10 and later.
    pub topic_id: Uuid,
    pub partition_indexes: Vec<i32>,
}

impl OffsetFetchRequestTopics {
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
            partition_indexes: r.array(4, Reader::int32)?,
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
        w.array(Some(&self.partition_indexes), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Versions 3 and later.
    pub throttle_time_ms: i32,
    /// Versions 1 to 7.
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// Versions 2 to 7.
    pub error_code: i16,
    /// Versions 8 and later.
    pub groups: Vec<OffsetFetchResponseGroup>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 10);
    const FLEXIBLE_FROM: i16 = 6;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 3 { r.int32()? } else { 0 },
            topics: if version <= 7 {
                r.array(3, |r| OffsetFetchResponseTopic::decode(r, version))?
            } else {
                Vec::new()
            },
            error_code: if (2..=7).contains(&version) {
                r.int16()?
            } else {
                0
            },
            groups: if version >= 8 {
                r.array(5, |r| OffsetFetchResponseGroup::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 3 {
            w.int32(self.throttle_time_ms);
        }
        if version <= 7 {
            w.array(Some(&self.topics), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.topics.is_empty(), "topics");
        }
        if (2..=7).contains(&version) {
            w.int16(self.error_code);
        }
        if version >= 8 {
            w.array(Some(&self.groups), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.groups.is_empty(), "groups");
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetFetchResponseTopic {
    pub name: Str,
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

impl OffsetFetchResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(16, |r| OffsetFetchResponsePartition::decode(r, version))?,
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
pub struct OffsetFetchResponsePartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    /// Versions 5 and later.
    pub committed_leader_epoch: i32,
    pub metadata: Option<Str>,
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: 0,
        }
    }
}

impl OffsetFetchResponsePartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            committed_offset: r.int64()?,
            committed_leader_epoch: if version >= 5 { r.int32()? } else { -1 },
            metadata: r.nullable_string()?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int64(self.committed_offset);
        if version >= 5 {
            w.int32(self.committed_leader_epoch);
        }
        w.string(self.metadata.as_deref());
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetFetchResponseGroup {
    pub group_id: Str,
    pub topics: Vec<OffsetFetchResponseTopics>,
    pub error_code: i16,
}

impl OffsetFetchResponseGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            group_id: r.string()?,
            topics: r.array(3, |r| OffsetFetchResponseTopics::decode(r, version))?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.group_id));
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetFetchResponseTopics {
    /// Versions 8 to 9.
    pub name: Str,
    /// Versions 10 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

impl OffsetFetchResponseTopics {
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
            partitions: r.array(20, |r| OffsetFetchResponsePartitions::decode(r, version))?,
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
pub struct OffsetFetchResponsePartitions {
    pub partition_index: i32,
    pub committed_offset: i64,
    pub committed_leader_epoch: i32,
    pub metadata: Option<Str>,
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartitions {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: 0,
        }
    }
}

impl OffsetFetchResponsePartitions {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            committed_offset: r.int64()?,
            committed_leader_epoch: r.int32()?,
            metadata: r.nullable_string()?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int64(self.committed_offset);
        w.int32(self.committed_leader_epoch);
        w.string(self.metadata.as_deref());
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}
