//! `ShareAcknowledge`, API key 79.
//!
//! Generated from `schema/079-share-acknowledge.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_id: Option<Str>,
    pub member_id: Option<Str>,
    pub share_session_epoch: i32,
    /// Versions 2 and later.
    pub is_renew_ack: bool,
    pub topics: Vec<AcknowledgeTopic>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.nullable_string()?,
            member_id: r.nullable_string()?,
            share_session_epoch: r.int32()?,
            is_renew_ack: if version >= 2 { r.bool()? } else { false },
            topics: r.array(18, |r| AcknowledgeTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(self.group_id.as_deref());
        w.string(self.member_id.as_deref());
        w.int32(self.share_session_epoch);
        if version >= 2 {
            w.bool(self.is_renew_ack);
        } else {
            w.refuse_set(self.is_renew_ack, "is_renew_ack");
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ShareAcknowledge;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcknowledgeTopic {
    pub topic_id: Uuid,
    pub partitions: Vec<AcknowledgePartition>,
}

impl AcknowledgeTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_id: r.uuid()?,
            partitions: r.array(6, |r| AcknowledgePartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.uuid(self.topic_id);
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcknowledgePartition {
    pub partition_index: i32,
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

impl AcknowledgePartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            acknowledgement_batches: r.array(18, |r| AcknowledgementBatch::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.array(Some(&self.acknowledgement_batches), |w, x| {
            x.encode(w, version)
        });
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcknowledgementBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub acknowledge_types: Vec<i8>,
}

impl AcknowledgementBatch {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            first_offset: r.int64()?,
            last_offset: r.int64()?,
            acknowledge_types: r.array(1, Reader::int8)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int64(self.first_offset);
        w.int64(self.last_offset);
        w.array(Some(&self.acknowledge_types), |w, x| w.int8(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    /// Versions 2 and later.
    pub acquisition_lock_timeout_ms: i32,
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            acquisition_lock_timeout_ms: if version >= 2 { r.int32()? } else { 0 },
            responses: r.array(18, |r| ShareAcknowledgeTopicResponse::decode(r, version))?,
            node_endpoints: r.array(11, |r| NodeEndpoint::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        if version >= 2 {
            w.int32(self.acquisition_lock_timeout_ms);
        }
        w.array(Some(&self.responses), |w, x| x.encode(w, version));
        w.array(Some(&self.node_endpoints), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShareAcknowledgeTopicResponse {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

impl ShareAcknowledgeTopicResponse {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_id: r.uuid()?,
            partitions: r.array(17, |r| PartitionData::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.uuid(self.topic_id);
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub current_leader: LeaderIdAndEpoch,
}

impl PartitionData {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            current_leader: LeaderIdAndEpoch::decode(r, version)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        self.current_leader.encode(w, version);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
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
