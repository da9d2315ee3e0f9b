//! `StreamsGroupTopologyDescriptionUpdate`, API key 93.
//!
//! Generated from `schema/093-streams-group-topology-description-update.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub group_id: Str,
    pub member_id: Str,
    pub topology_epoch: i32,
    pub topology_description: TopologyDescription,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            group_id: r.string()?,
            member_id: r.string()?,
            topology_epoch: r.int32()?,
            topology_description: TopologyDescription::decode(r, version)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(Some(&self.group_id));
        w.string(Some(&self.member_id));
        w.int32(self.topology_epoch);
        self.topology_description.encode(w, version);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::StreamsGroupTopologyDescriptionUpdate;
    type Response = Response;
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
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
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
