//! `StreamsGroupHeartbeat`, API key 88.
//!
//! Generated from `schema/088-streams-group-heartbeat.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub member_id: Str,
    pub member_epoch: i32,
    pub endpoint_information_epoch: i32,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub rebalance_timeout_ms: i32,
    pub topology: Option<Topology>,
    pub active_tasks: Option<Vec<RequestTaskIds>>,
    pub standby_tasks: Option<Vec<RequestTaskIds>>,
    pub warmup_tasks: Option<Vec<RequestTaskIds>>,
    pub process_id: Option<Str>,
    pub user_endpoint: Option<RequestEndpoint>,
    pub client_tags: Option<Vec<KeyValue>>,
    pub task_offsets: Option<Vec<TaskOffset>>,
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    pub shutdown_application: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            group_id: Str::default(),
            member_id: Str::default(),
            member_epoch: 0,
            endpoint_information_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            topology: None,
            active_tasks: None,
            standby_tasks: None,
            warmup_tasks: None,
            process_id: None,
            user_endpoint: None,
            client_tags: None,
            task_offsets: None,
            task_end_offsets: None,
            shutdown_application: false,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 1);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            member_id: r.string()?,
            member_epoch: r.int32()?,
            endpoint_information_epoch: r.int32()?,
            instance_id: r.nullable_string()?,
            rack_id: r.nullable_string()?,
            rebalance_timeout_ms: r.int32()?,
            topology: r.nullable_struct(|r| Topology::decode(r, version))?,
            active_tasks: r.nullable_array(3, |r| RequestTaskIds::decode(r, version))?,
            standby_tasks: r.nullable_array(3, |r| RequestTaskIds::decode(r, version))?,
            warmup_tasks: r.nullable_array(3, |r| RequestTaskIds::decode(r, version))?,
            process_id: r.nullable_string()?,
            user_endpoint: r.nullable_struct(|r| RequestEndpoint::decode(r, version))?,
            client_tags: r.nullable_array(3, |r| KeyValue::decode(r, version))?,
            task_offsets: r.nullable_array(14, |r| TaskOffset::decode(r, version))?,
            task_end_offsets: r.nullable_array(14, |r| TaskOffset::decode(r, version))?,
            shutdown_application: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        w.string(Some(&self.member_id));
        w.int32(self.member_epoch);
        w.int32(self.endpoint_information_epoch);
        w.string(self.instance_id.as_deref());
        w.string(self.rack_id.as_deref());
        w.int32(self.rebalance_timeout_ms);
        w.nullable_struct(self.topology.as_ref(), |w, x| x.encode(w, version));
        w.array(self.active_tasks.as_deref(), |w, x| x.encode(w, version));
        w.array(self.standby_tasks.as_deref(), |w, x| x.encode(w, version));
        w.array(self.warmup_tasks.as_deref(), |w, x| x.encode(w, version));
        w.string(self.process_id.as_deref());
        w.nullable_struct(self.user_endpoint.as_ref(), |w, x| x.encode(w, version));
        w.array(self.client_tags.as_deref(), |w, x| x.encode(w, version));
        w.array(self.task_offsets.as_deref(), |w, x| x.encode(w, version));
        w.array(self.task_end_offsets.as_deref(), |w, x| {
            x.encode(w, version)
        });
        w.bool(self.shutdown_application);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::StreamsGroupHeartbeat;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    pub epoch: i32,
    pub subtopologies: Vec<Subtopology>,
}

impl Topology {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            epoch: r.int32()?,
            subtopologies: r.array(8, |r| Subtopology::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.epoch);
        w.array(Some(&self.subtopologies), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subtopology {
    pub subtopology_id: Str,
    pub source_topics: Vec<Str>,
    pub source_topic_regex: Vec<Str>,
    pub state_changelog_topics: Vec<TopicInfo>,
    pub repartition_sink_topics: Vec<Str>,
    pub repartition_source_topics: Vec<TopicInfo>,
    pub copartition_groups: Vec<CopartitionGroup>,
}

impl Subtopology {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            subtopology_id: r.string()?,
            source_topics: r.array(1, Reader::string)?,
            source_topic_regex: r.array(1, Reader::string)?,
            state_changelog_topics: r.array(9, |r| TopicInfo::decode(r, version))?,
            repartition_sink_topics: r.array(1, Reader::string)?,
            repartition_source_topics: r.array(9, |r| TopicInfo::decode(r, version))?,
            copartition_groups: r.array(4, |r| CopartitionGroup::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.subtopology_id));
        w.array(Some(&self.source_topics), |w, x| w.string(Some(x)));
        w.array(Some(&self.source_topic_regex), |w, x| w.string(Some(x)));
        w.array(Some(&self.state_changelog_topics), |w, x| {
            x.encode(w, version)
        });
        w.array(Some(&self.repartition_sink_topics), |w, x| {
            w.string(Some(x))
        });
        w.array(Some(&self.repartition_source_topics), |w, x| {
            x.encode(w, version)
        });
        w.array(Some(&self.copartition_groups), |w, x| x.encode(w, version));
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
pub struct CopartitionGroup {
    pub source_topics: Vec<i16>,
    pub source_topic_regex: Vec<i16>,
    pub repartition_source_topics: Vec<i16>,
}

impl CopartitionGroup {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            source_topics: r.array(2, Reader::int16)?,
            source_topic_regex: r.array(2, Reader::int16)?,
            repartition_source_topics: r.array(2, Reader::int16)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.array(Some(&self.source_topics), |w, x| w.int16(*x));
        w.array(Some(&self.source_topic_regex), |w, x| w.int16(*x));
        w.array(Some(&self.repartition_source_topics), |w, x| w.int16(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
}

impl RequestTaskIds {
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
pub struct RequestEndpoint {
    pub host: Str,
    pub port: u16,
}

impl RequestEndpoint {
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

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub member_id: Str,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    /// Versions 0 to 0.
    pub acceptable_recovery_lag_legacy: i32,
    pub task_offset_interval_ms: i32,
    /// Versions 1 and later.
    pub acceptable_recovery_lag: i64,
    pub status: Option<Vec<Status>>,
    pub active_tasks: Option<Vec<ResponseTaskIds>>,
    pub standby_tasks: Option<Vec<ResponseTaskIds>>,
    pub warmup_tasks: Option<Vec<ResponseTaskIds>>,
    /// Versions 1 and later.
    pub topology_description_required: bool,
    pub endpoint_information_epoch: i32,
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: None,
            member_id: Str::default(),
            member_epoch: 0,
            heartbeat_interval_ms: 0,
            acceptable_recovery_lag_legacy: 0,
            task_offset_interval_ms: 0,
            acceptable_recovery_lag: -1,
            status: None,
            active_tasks: None,
            standby_tasks: None,
            warmup_tasks: None,
            topology_description_required: false,
            endpoint_information_epoch: 0,
            partitions_by_user_endpoint: None,
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
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            member_id: r.string()?,
            member_epoch: r.int32()?,
            heartbeat_interval_ms: r.int32()?,
            acceptable_recovery_lag_legacy: if version <= 0 { r.int32()? } else { 0 },
            task_offset_interval_ms: r.int32()?,
            acceptable_recovery_lag: if version >= 1 { r.int64()? } else { -1 },
            status: r.nullable_array(3, |r| Status::decode(r, version))?,
            active_tasks: r.nullable_array(3, |r| ResponseTaskIds::decode(r, version))?,
            standby_tasks: r.nullable_array(3, |r| ResponseTaskIds::decode(r, version))?,
            warmup_tasks: r.nullable_array(3, |r| ResponseTaskIds::decode(r, version))?,
            topology_description_required: if version >= 1 { r.bool()? } else { false },
            endpoint_information_epoch: r.int32()?,
            partitions_by_user_endpoint: r
                .nullable_array(7, |r| EndpointToPartitions::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.string(Some(&self.member_id));
        w.int32(self.member_epoch);
        w.int32(self.heartbeat_interval_ms);
        if version <= 0 {
            w.int32(self.acceptable_recovery_lag_legacy);
        } else {
            w.refuse_set(
                self.acceptable_recovery_lag_legacy != 0,
                "acceptable_recovery_lag_legacy",
            );
        }
        w.int32(self.task_offset_interval_ms);
        if version >= 1 {
            w.int64(self.acceptable_recovery_lag);
        }
        w.array(self.status.as_deref(), |w, x| x.encode(w, version));
        w.array(self.active_tasks.as_deref(), |w, x| x.encode(w, version));
        w.array(self.standby_tasks.as_deref(), |w, x| x.encode(w, version));
        w.array(self.warmup_tasks.as_deref(), |w, x| x.encode(w, version));
        if version >= 1 {
            w.bool(self.topology_description_required);
        } else {
            w.refuse_set(
                self.topology_description_required,
                "topology_description_required",
            );
        }
        w.int32(self.endpoint_information_epoch);
        w.array(self.partitions_by_user_endpoint.as_deref(), |w, x| {
            x.encode(w, version)
        });
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    pub status_code: i8,
    pub status_detail: Str,
}

impl Status {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            status_code: r.int8()?,
            status_detail: r.string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int8(self.status_code);
        w.string(Some(&self.status_detail));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseTaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
}

impl ResponseTaskIds {
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
pub struct EndpointToPartitions {
    pub user_endpoint: ResponseEndpoint,
    pub active_partitions: Vec<TopicPartition>,
    pub standby_partitions: Vec<TopicPartition>,
}

impl EndpointToPartitions {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            user_endpoint: ResponseEndpoint::decode(r, version)?,
            active_partitions: r.array(3, |r| TopicPartition::decode(r, version))?,
            standby_partitions: r.array(3, |r| TopicPartition::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        self.user_endpoint.encode(w, version);
        w.array(Some(&self.active_partitions), |w, x| x.encode(w, version));
        w.array(Some(&self.standby_partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseEndpoint {
    pub host: Str,
    pub port: u16,
}

impl ResponseEndpoint {
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
pub struct TopicPartition {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

impl TopicPartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.topic));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}
