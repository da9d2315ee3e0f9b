//! `StreamsGroupDescribe`, API key 89.
//!
//! Generated from `schema/089-streams-group-describe.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_ids: Vec<Str>,
    pub include_authorized_operations: bool,
    /// Versions 1 and later.
    pub include_topology_description: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_ids: r.array(1, Reader::string)?,
            include_authorized_operations: r.bool()?,
            include_topology_description: if version >= 1 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.group_ids), |w, x| w.string(Some(x)));
        w.bool(self.include_authorized_operations);
        if version >= 1 {
            w.bool(self.include_topology_description);
        } else {
            w.refuse_set(
                self.include_topology_description,
                "include_topology_description",
            );
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::StreamsGroupDescribe;
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
    pub topology: Option<Topology>,
    pub members: Vec<Member>,
    pub authorized_operations: i32,
    /// Versions 1 and later.
    pub topology_description: Option<TopologyDescription>,
    /// Versions 1 and later.
    pub topology_description_status: i8,
    /// Versions 1 and later.
    pub assignor_name: Option<Str>,
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
            topology: None,
            members: Vec::new(),
            authorized_operations: i32::MIN,
            topology_description: None,
            topology_description_status: 0,
            assignor_name: None,
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
            topology: r.nullable_struct(|r| Topology::decode(r, version))?,
            members: r.array(28, |r| Member::decode(r, version))?,
            authorized_operations: r.int32()?,
            topology_description: if version >= 1 {
                r.nullable_struct(|r| TopologyDescription::decode(r, version))?
            } else {
                None
            },
            topology_description_status: if version >= 1 { r.int8()? } else { 0 },
            assignor_name: if version >= 1 {
                r.nullable_string()?
            } else {
                None
            },
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
        w.nullable_struct(self.topology.as_ref(), |w, x| x.encode(w, version));
        w.array(Some(&self.members), |w, x| x.encode(w, version));
        w.int32(self.authorized_operations);
        if version >= 1 {
            w.nullable_struct(self.topology_description.as_ref(), |w, x| {
                x.encode(w, version)
            });
        } else {
            w.refuse_set(self.topology_description.is_some(), "topology_description");
        }
        if version >= 1 {
            w.int8(self.topology_description_status);
        } else {
            w.refuse_set(
                self.topology_description_status != 0,
                "topology_description_status",
            );
        }
        if version >= 1 {
            w.string(self.assignor_name.as_deref());
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    pub epoch: i32,
    pub subtopologies: Option<Vec<Subtopology>>,
}

impl Topology {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            epoch: r.int32()?,
            subtopologies: r.nullable_array(6, |r| Subtopology::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.epoch);
        w.array(self.subtopologies.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subtopology {
    pub subtopology_id: Str,
    pub source_topics: Vec<Str>,
    pub repartition_sink_topics: Vec<Str>,
    pub state_changelog_topics: Vec<TopicInfo>,
    pub repartition_source_topics: Vec<TopicInfo>,
}

impl Subtopology {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            subtopology_id: r.string()?,
            source_topics: r.array(1, Reader::string)?,
            repartition_sink_topics: r.array(1, Reader::string)?,
            state_changelog_topics: r.array(9, |r| TopicInfo::decode(r, version))?,
            repartition_source_topics: r.array(9, |r| TopicInfo::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.subtopology_id));
        w.array(Some(&self.source_topics), |w, x| w.string(Some(x)));
        w.array(Some(&self.repartition_sink_topics), |w, x| {
            w.string(Some(x))
        });
        w.array(Some(&self.state_changelog_topics), |w, x| {
            x.encode(w, version)
        });
        w.array(Some(&self.repartition_source_topics), |w, x| {
            x.encode(w, version)
        });
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicInfo {
    pub name: Str,
    pub partitions: i32,
    pub replication_factor: i16,
    pub topic_configs: Vec<KeyValue>,
}

impl TopicInfo {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.int32()?,
            replication_factor: r.int16()?,
            topic_configs: r.array(3, |r| KeyValue::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.int32(self.partitions);
        w.int16(self.replication_factor);
        w.array(Some(&self.topic_configs), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyValue {
    pub key: Str,
    pub value: Str,
}

impl KeyValue {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            key: r.string()?,
            value: r.string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.key));
        w.string(Some(&self.value));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member {
    pub member_id: Str,
    pub member_epoch: i32,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub topology_epoch: i32,
    pub process_id: Str,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Vec<KeyValue>,
    pub task_offsets: Vec<TaskOffset>,
    pub task_end_offsets: Vec<TaskOffset>,
    pub assignment: Assignment,
    pub target_assignment: Assignment,
    pub is_classic: bool,
}

impl Member {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            member_id: r.string()?,
            member_epoch: r.int32()?,
            instance_id: r.nullable_string()?,
            rack_id: r.nullable_string()?,
            client_id: r.string()?,
            client_host: r.string()?,
            topology_epoch: r.int32()?,
            process_id: r.string()?,
            user_endpoint: r.nullable_struct(|r| Endpoint::decode(r, version))?,
            client_tags: r.array(3, |r| KeyValue::decode(r, version))?,
            task_offsets: r.array(14, |r| TaskOffset::decode(r, version))?,
            task_end_offsets: r.array(14, |r| TaskOffset::decode(r, version))?,
            assignment: Assignment::decode(r, version)?,
            target_assignment: Assignment::decode(r, version)?,
            is_classic: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.member_id));
        w.int32(self.member_epoch);
        w.string(self.instance_id.as_deref());
        w.string(self.rack_id.as_deref());
        w.string(Some(&self.client_id));
        w.string(Some(&self.client_host));
        w.int32(self.topology_epoch);
        w.string(Some(&self.process_id));
        w.nullable_struct(self.user_endpoint.as_ref(), |w, x| x.encode(w, version));
        w.array(Some(&self.client_tags), |w, x| x.encode(w, version));
        w.array(Some(&self.task_offsets), |w, x| x.encode(w, version));
        w.array(Some(&self.task_end_offsets), |w, x| x.encode(w, version));
        self.assignment.encode(w, version);
        self.target_assignment.encode(w, version);
        w.bool(self.is_classic);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    pub host: Str,
    pub port: u16,
}

impl Endpoint {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            host: r.string()?,
            port: r.uint16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.host));
        w.uint16(self.port);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskOffset {
    pub subtopology_id: Str,
    pub partition: i32,
    pub offset: i64,
}

impl TaskOffset {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            subtopology_id: r.string()?,
            partition: r.int32()?,
            offset: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.subtopology_id));
        w.int32(self.partition);
        w.int64(self.offset);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    pub active_tasks: Vec<TaskIds>,
    pub standby_tasks: Vec<TaskIds>,
    pub warmup_tasks: Vec<TaskIds>,
}

impl Assignment {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            active_tasks: r.array(3, |r| TaskIds::decode(r, version))?,
            standby_tasks: r.array(3, |r| TaskIds::decode(r, version))?,
            warmup_tasks: r.array(3, |r| TaskIds::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(Some(&self.active_tasks), |w, x| x.encode(w, version));
        w.array(Some(&self.standby_tasks), |w, x| x.encode(w, version));
        w.array(Some(&self.warmup_tasks), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
}

impl TaskIds {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            subtopology_id: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.subtopology_id));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyDescription {
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
}

impl TopologyDescription {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            subtopologies: r.array(3, |r| TopologyDescriptionSubtopology::decode(r, version))?,
            global_stores: r.array(15, |r| TopologyDescriptionGlobalStore::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(Some(&self.subtopologies), |w, x| x.encode(w, version));
        w.array(Some(&self.global_stores), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyDescriptionSubtopology {
    pub subtopology_id: Str,
    pub nodes: Vec<TopologyDescriptionNode>,
}

impl TopologyDescriptionSubtopology {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            subtopology_id: r.string()?,
            nodes: r.array(7, |r| TopologyDescriptionNode::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.subtopology_id));
        w.array(Some(&self.nodes), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyDescriptionNode {
    pub name: Str,
    pub node_type: i8,
    pub source_topics: Vec<Str>,
    pub sink_topic: Option<Str>,
    pub stores: Vec<Str>,
    pub successors: Vec<Str>,
}

impl TopologyDescriptionNode {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            node_type: r.int8()?,
            source_topics: r.array(1, Reader::string)?,
            sink_topic: r.nullable_string()?,
            stores: r.array(1, Reader::string)?,
            successors: r.array(1, Reader::string)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.int8(self.node_type);
        w.array(Some(&self.source_topics), |w, x| w.string(Some(x)));
        w.string(self.sink_topic.as_deref());
        w.array(Some(&self.stores), |w, x| w.string(Some(x)));
        w.array(Some(&self.successors), |w, x| w.string(Some(x)));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyDescriptionGlobalStore {
    pub source: TopologyDescriptionNode,
    pub processor: TopologyDescriptionNode,
}

impl TopologyDescriptionGlobalStore {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            source: TopologyDescriptionNode::decode(r, version)?,
            processor: TopologyDescriptionNode::decode(r, version)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        self.source.encode(w, version);
        self.processor.encode(w, version);
        w.end_plain_struct();
    }
}
