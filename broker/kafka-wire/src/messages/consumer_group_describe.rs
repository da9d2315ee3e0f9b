//! `ConsumerGroupDescribe`, API key 69.
//!
//! Generated from `schema/069-consumer-group-describe.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_ids: Vec<Str>,
    pub include_authorized_operations: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_ids: r.array(1, Reader::string)?,
            include_authorized_operations: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.group_ids), |w, x| w.string(Some(x)));
        w.bool(self.include_authorized_operations);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ConsumerGroupDescribe;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            groups: r.array(20, |r| DescribedGroup::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.groups), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub group_id: Str,
    pub group_state: Str,
    pub group_epoch: i32,
    pub assignment_epoch: i32,
    pub assignor_name: Str,
    pub members: Vec<Member>,
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: Str::default(),
            group_state: Str::default(),
            group_epoch: 0,
            assignment_epoch: 0,
            assignor_name: Str::default(),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

impl DescribedGroup {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            group_id: r.string()?,
            group_state: r.string()?,
            group_epoch: r.int32()?,
            assignment_epoch: r.int32()?,
            assignor_name: r.string()?,
            members: r.array(16, |r| Member::decode(r, version))?,
            authorized_operations: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.string(Some(&self.group_id));
        w.string(Some(&self.group_state));
        w.int32(self.group_epoch);
        w.int32(self.assignment_epoch);
        w.string(Some(&self.assignor_name));
        w.array(Some(&self.members), |w, x| x.encode(w, version));
        w.int32(self.authorized_operations);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub member_id: Str,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub member_epoch: i32,
    pub client_id: Str,
    pub client_host: Str,
    pub subscribed_topic_names: Vec<Str>,
    pub subscribed_topic_regex: Option<Str>,
    pub assignment: Assignment,
    pub target_assignment: Assignment,
    /// Versions 1 and later.
    pub member_type: i8,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            member_id: Str::default(),
            instance_id: None,
            rack_id: None,
            member_epoch: 0,
            client_id: Str::default(),
            client_host: Str::default(),
            subscribed_topic_names: Vec::new(),
            subscribed_topic_regex: None,
            assignment: Default::default(),
            target_assignment: Default::default(),
            member_type: -1,
        }
    }
}

impl Member {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            instance_id: r.nullable_string()?,
            rack_id: r.nullable_string()?,
            member_epoch: r.int32()?,
            client_id: r.string()?,
            client_host: r.string()?,
            subscribed_topic_names: r.array(1, Reader::string)?,
            subscribed_topic_regex: r.nullable_string()?,
            assignment: Assignment::decode(r, version)?,
            target_assignment: Assignment::decode(r, version)?,
            member_type: if version >= 1 { r.int8()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.member_id));
        w.string(self.instance_id.as_deref());
        w.string(self.rack_id.as_deref());
        w.int32(self.member_epoch);
        w.string(Some(&self.client_id));
        w.string(Some(&self.client_host));
        w.array(Some(&self.subscribed_topic_names), |w, x| w.string(Some(x)));
        w.string(self.subscribed_topic_regex.as_deref());
        self.assignment.encode(w, version);
        self.target_assignment.encode(w, version);
        if version >= 1 {
            w.int8(self.member_type);
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Assignment {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_partitions: r.array(19, |r| TopicPartitions::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(Some(&self.topic_partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub topic_name: Str,
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_id: r.uuid()?,
            topic_name: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.uuid(self.topic_id);
        w.string(Some(&self.topic_name));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}
