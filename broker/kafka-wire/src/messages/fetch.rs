//! `Fetch`, API key 1.
//!
//! Generated from `schema/001-fetch.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::records::Records;
use crate::string::Str;
use crate::writer::{TaggedFields, Writer};

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Versions 12 and later.
    pub cluster_id: Option<Str>,
    /// Versions 4 to 14.
    pub replica_id: i32,
    /// Versions 15 and later.
    pub replica_state: ReplicaState,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    pub max_bytes: i32,
    pub isolation_level: i8,
    /// Versions 7 and later.
    pub session_id: i32,
    /// Versions 7 and later.
    pub session_epoch: i32,
    pub topics: Vec<FetchTopic>,
    /// Versions 7 and later.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// Versions 11 and later.
    pub rack_id: Str,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: Default::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
            rack_id: Str::default(),
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(4, 18);
    const FLEXIBLE_FROM: i16 = 12;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let mut message = Self {
            cluster_id: None,
            replica_id: if version <= 14 { r.int32()? } else { -1 },
            replica_state: Default::default(),
            max_wait_ms: r.int32()?,
            min_bytes: r.int32()?,
            max_bytes: r.int32()?,
            isolation_level: r.int8()?,
            session_id: if version >= 7 { r.int32()? } else { 0 },
            session_epoch: if version >= 7 { r.int32()? } else { -1 },
            topics: r.array(3, |r| FetchTopic::decode(r, version))?,
            forgotten_topics_data: if version >= 7 {
                r.array(3, |r| ForgottenTopic::decode(r, version))?
            } else {
                Vec::new()
            },
            rack_id: if version >= 11 {
                r.string()?
            } else {
                Str::default()
            },
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 => message.cluster_id = r.nullable_string()?,
                1 if version >= 15 => message.replica_state = ReplicaState::decode(r, version)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version <= 14 {
            w.int32(self.replica_id);
        } else {
            w.refuse_set(self.replica_id != -1, "replica_id");
        }
        w.int32(self.max_wait_ms);
        w.int32(self.min_bytes);
        w.int32(self.max_bytes);
        w.int8(self.isolation_level);
        if version >= 7 {
            w.int32(self.session_id);
        }
        if version >= 7 {
            w.int32(self.session_epoch);
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        if version >= 7 {
            w.array(Some(&self.forgotten_topics_data), |w, x| {
                x.encode(w, version)
            });
        } else {
            w.refuse_set(
                !self.forgotten_topics_data.is_empty(),
                "forgotten_topics_data",
            );
        }
        if version >= 11 {
            w.string(Some(&self.rack_id));
        }
        let mut tagged = TaggedFields::default();
        if version >= 12 && self.cluster_id.is_some() {
            w.tagged_field(&mut tagged, 0, |w| {
                w.string(self.cluster_id.as_deref());
            });
        }
        if self.replica_state != ReplicaState::default() {
            if version >= 15 {
                w.tagged_field(&mut tagged, 1, |w| {
                    self.replica_state.encode(w, version);
                });
            } else {
                w.refuse_set(true, "replica_state");
            }
        }
        w.end_struct(&tagged);
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::Fetch;
    type Response = Response;
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaState {
    pub replica_id: i32,
    pub replica_epoch: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self {
            replica_id: -1,
            replica_epoch: -1,
        }
    }
}

impl ReplicaState {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            replica_id: r.int32()?,
            replica_epoch: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.replica_id);
        w.int64(self.replica_epoch);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchTopic {
    /// Versions 4 to 12.
    pub topic: Str,
    /// Versions 13 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<FetchPartition>,
}

impl FetchTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: if version <= 12 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 13 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partitions: r.array(16, |r| FetchPartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 12 {
            w.string(Some(&self.topic));
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct FetchPartition {
    pub partition: i32,
    /// Versions 9 and later.
    pub current_leader_epoch: i32,
    pub fetch_offset: i64,
    /// Versions 12 and later.
    pub last_fetched_epoch: i32,
    /// Versions 5 and later.
    pub log_start_offset: i64,
    pub partition_max_bytes: i32,
    /// Versions 17 and later.
    pub replica_directory_id: Uuid,
    /// Versions 18 and later.
    pub high_watermark: i64,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Uuid::nil(),
            high_watermark: i64::MAX,
        }
    }
}

impl FetchPartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut message = Self {
            partition: r.int32()?,
            current_leader_epoch: if version >= 9 { r.int32()? } else { -1 },
            fetch_offset: r.int64()?,
            last_fetched_epoch: if version >= 12 { r.int32()? } else { -1 },
            log_start_offset: if version >= 5 { r.int64()? } else { -1 },
            partition_max_bytes: r.int32()?,
            replica_directory_id: Uuid::nil(),
            high_watermark: i64::MAX,
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 if version >= 17 => message.replica_directory_id = r.uuid()?,
                1 if version >= 18 => message.high_watermark = r.int64()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition);
        if version >= 9 {
            w.int32(self.current_leader_epoch);
        }
        w.int64(self.fetch_offset);
        if version >= 12 {
            w.int32(self.last_fetched_epoch);
        } else {
            w.refuse_set(self.last_fetched_epoch != -1, "last_fetched_epoch");
        }
        if version >= 5 {
            w.int64(self.log_start_offset);
        }
        w.int32(self.partition_max_bytes);
        let mut tagged = TaggedFields::default();
        if version >= 17 && !self.replica_directory_id.is_nil() {
            w.tagged_field(&mut tagged, 0, |w| {
                w.uuid(self.replica_directory_id);
            });
        }
        if version >= 18 && self.high_watermark != i64::MAX {
            w.tagged_field(&mut tagged, 1, |w| {
                w.int64(self.high_watermark);
            });
        }
        w.end_struct(&tagged);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForgottenTopic {
    /// Versions 7 to 12.
    pub topic: Str,
    /// Versions 13 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

impl ForgottenTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: if version <= 12 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 13 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 12 {
            w.string(Some(&self.topic));
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    /// Versions 7 and later.
    pub error_code: i16,
    /// Versions 7 and later.
    pub session_id: i32,
    pub responses: Vec<FetchableTopicResponse>,
    /// Versions 16 and later.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(4, 18);
    const FLEXIBLE_FROM: i16 = 12;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let mut message = Self {
            throttle_time_ms: r.int32()?,
            error_code: if version >= 7 { r.int16()? } else { 0 },
            session_id: if version >= 7 { r.int32()? } else { 0 },
            responses: r.array(3, |r| FetchableTopicResponse::decode(r, version))?,
            node_endpoints: Vec::new(),
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 if version >= 16 => {
                    message.node_endpoints = r.array(11, |r| NodeEndpoint::decode(r, version))?
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        if version >= 7 {
            w.int16(self.error_code);
        }
        if version >= 7 {
            w.int32(self.session_id);
        } else {
            w.refuse_set(self.session_id != 0, "session_id");
        }
        w.array(Some(&self.responses), |w, x| x.encode(w, version));
        let mut tagged = TaggedFields::default();
        if !self.node_endpoints.is_empty() {
            if version >= 16 {
                w.tagged_field(&mut tagged, 0, |w| {
                    w.array(Some(&self.node_endpoints), |w, x| x.encode(w, version));
                });
            } else {
                w.refuse_set(true, "node_endpoints");
            }
        }
        w.end_struct(&tagged);
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchableTopicResponse {
    /// Versions 4 to 12.
    pub topic: Str,
    /// Versions 13 and later.
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

impl FetchableTopicResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: if version <= 12 {
                r.string()?
            } else {
                Str::default()
            },
            topic_id: if version >= 13 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            partitions: r.array(30, |r| PartitionData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version <= 12 {
            w.string(Some(&self.topic));
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    /// Versions 5 and later.
    pub log_start_offset: i64,
    /// Versions 12 and later.
    pub diverging_epoch: EpochEndOffset,
    /// Versions 12 and later.
    pub current_leader: LeaderIdAndEpoch,
    /// Versions 12 and later.
    pub snapshot_id: SnapshotId,
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// Versions 11 and later.
    pub preferred_read_replica: i32,
    pub records: Option<Records>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: 0,
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: Default::default(),
            current_leader: Default::default(),
            snapshot_id: Default::default(),
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: None,
        }
    }
}

impl PartitionData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
            high_watermark: r.int64()?,
            last_stable_offset: r.int64()?,
            log_start_offset: if version >= 5 { r.int64()? } else { -1 },
            diverging_epoch: Default::default(),
            current_leader: Default::default(),
            snapshot_id: Default::default(),
            aborted_transactions: r
                .nullable_array(16, |r| AbortedTransaction::decode(r, version))?,
            preferred_read_replica: if version >= 11 { r.int32()? } else { -1 },
            records: r.nullable_records()?,
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 => message.diverging_epoch = EpochEndOffset::decode(r, version)?,
                1 => message.current_leader = LeaderIdAndEpoch::decode(r, version)?,
                2 => message.snapshot_id = SnapshotId::decode(r, version)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        w.int64(self.high_watermark);
        w.int64(self.last_stable_offset);
        if version >= 5 {
            w.int64(self.log_start_offset);
        }
        w.array(self.aborted_transactions.as_deref(), |w, x| {
            x.encode(w, version)
        });
        if version >= 11 {
            w.int32(self.preferred_read_replica);
        } else {
            w.refuse_set(self.preferred_read_replica != -1, "preferred_read_replica");
        }
        w.records(self.records.as_ref());
        let mut tagged = TaggedFields::default();
        if self.diverging_epoch != EpochEndOffset::default() {
            if version >= 12 {
                w.tagged_field(&mut tagged, 0, |w| {
                    self.diverging_epoch.encode(w, version);
                });
            } else {
                w.refuse_set(true, "diverging_epoch");
            }
        }
        if self.current_leader != LeaderIdAndEpoch::default() {
            if version >= 12 {
                w.tagged_field(&mut tagged, 1, |w| {
                    self.current_leader.encode(w, version);
                });
            } else {
                w.refuse_set(true, "current_leader");
            }
        }
        if self.snapshot_id != SnapshotId::default() {
            if version >= 12 {
                w.tagged_field(&mut tagged, 2, |w| {
                    self.snapshot_id.encode(w, version);
                });
            } else {
                w.refuse_set(true, "snapshot_id");
            }
        }
        w.end_struct(&tagged);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct EpochEndOffset {
    pub epoch: i32,
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self {
            epoch: -1,
            end_offset: -1,
        }
    }
}

impl EpochEndOffset {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            epoch: r.int32()?,
            end_offset: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.epoch);
        w.int64(self.end_offset);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self {
            leader_id: -1,
            leader_epoch: -1,
        }
    }
}

impl LeaderIdAndEpoch {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            leader_id: r.int32()?,
            leader_epoch: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.leader_id);
        w.int32(self.leader_epoch);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotId {
    pub end_offset: i64,
    pub epoch: i32,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self {
            end_offset: -1,
            epoch: -1,
        }
    }
}

impl SnapshotId {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            end_offset: r.int64()?,
            epoch: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int64(self.end_offset);
        w.int32(self.epoch);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AbortedTransaction {
    pub producer_id: i64,
    pub first_offset: i64,
}

impl AbortedTransaction {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            producer_id: r.int64()?,
            first_offset: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int64(self.producer_id);
        w.int64(self.first_offset);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

impl NodeEndpoint {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            node_id: r.int32()?,
            host: r.string()?,
            port: r.int32()?,
            rack: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.node_id);
        w.string(Some(&self.host));
        w.int32(self.port);
        w.string(self.rack.as_deref());
        w.end_plain_struct();
    }
}
