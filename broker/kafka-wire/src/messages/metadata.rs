//! `Metadata`, API key 3.
//!
//! Generated from `schema/003-metadata.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Versions 4 and later.
    pub allow_auto_topic_creation: bool,
    /// Versions 8 to 10.
    pub include_cluster_authorized_operations: bool,
    /// Versions 8 and later.
    pub include_topic_authorized_operations: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            topics: None,
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 13);
    const FLEXIBLE_FROM: i16 = 9;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            topics: if version >= 1 {
                r.nullable_array(2, |r| MetadataRequestTopic::decode(r, version))?
            } else {
                Some(r.array(2, |r| MetadataRequestTopic::decode(r, version))?)
            },
            allow_auto_topic_creation: if version >= 4 { r.bool()? } else { true },
            include_cluster_authorized_operations: if (8..=10).contains(&version) {
                r.bool()?
            } else {
                false
            },
            include_topic_authorized_operations: if version >= 8 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if self.topics.is_none() && version < 1 {
            w.refuse_null("topics");
        }
        w.array(self.topics.as_deref(), |w, x| x.encode(w, version));
        if version >= 4 {
            w.bool(self.allow_auto_topic_creation);
        } else {
            w.refuse_set(!self.allow_auto_topic_creation, "allow_auto_topic_creation");
        }
        if (8..=10).contains(&version) {
            w.bool(self.include_cluster_authorized_operations);
        } else {
            w.refuse_set(
                self.include_cluster_authorized_operations,
                "include_cluster_authorized_operations",
            );
        }
        if version >= 8 {
            w.bool(self.include_topic_authorized_operations);
        } else {
            w.refuse_set(
                self.include_topic_authorized_operations,
                "include_topic_authorized_operations",
            );
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::Metadata;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataRequestTopic {
    /// Versions 10 and later.
    pub topic_id: Uuid,
    pub name: Option<Str>,
}

impl MetadataRequestTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic_id: if version >= 10 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            name: if version >= 10 {
                r.nullable_string()?
            } else {
                Some(r.string()?)
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if self.name.is_none() && version < 10 {
            w.refuse_null("name");
        }
        w.string(self.name.as_deref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Versions 3 and later.
    pub throttle_time_ms: i32,
    pub brokers: Vec<MetadataResponseBroker>,
    /// Versions 2 and later.
    pub cluster_id: Option<Str>,
    /// Versions 1 and later.
    pub controller_id: i32,
    pub topics: Vec<MetadataResponseTopic>,
    /// Versions 8 to 10.
    pub cluster_authorized_operations: i32,
    /// Versions 13 and later.
    pub error_code: i16,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Vec::new(),
            cluster_id: None,
            controller_id: -1,
            topics: Vec::new(),
            cluster_authorized_operations: i32::MIN,
            error_code: 0,
        }
    }
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 13);
    const FLEXIBLE_FROM: i16 = 9;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: if version >= 3 { r.int32()? } else { 0 },
            brokers: r.array(10, |r| MetadataResponseBroker::decode(r, version))?,
            cluster_id: if version >= 2 {
                r.nullable_string()?
            } else {
                None
            },
            controller_id: if version >= 1 { r.int32()? } else { -1 },
            topics: r.array(8, |r| MetadataResponseTopic::decode(r, version))?,
            cluster_authorized_operations: if (8..=10).contains(&version) {
                r.int32()?
            } else {
                i32::MIN
            },
            error_code: if version >= 13 { r.int16()? } else { 0 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 3 {
            w.int32(self.throttle_time_ms);
        }
        w.array(Some(&self.brokers), |w, x| x.encode(w, version));
        if version >= 2 {
            w.string(self.cluster_id.as_deref());
        }
        if version >= 1 {
            w.int32(self.controller_id);
        }
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        if (8..=10).contains(&version) {
            w.int32(self.cluster_authorized_operations);
        } else {
            w.refuse_set(
                self.cluster_authorized_operations != i32::MIN,
                "cluster_authorized_operations",
            );
        }
        if version >= 13 {
            w.int16(self.error_code);
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataResponseBroker {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    /// Versions 1 and later.
    pub rack: Option<Str>,
}

impl MetadataResponseBroker {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            node_id: r.int32()?,
            host: r.string()?,
            port: r.int32()?,
            rack: if version >= 1 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.node_id);
        w.string(Some(&self.host));
        w.int32(self.port);
        if version >= 1 {
            w.string(self.rack.as_deref());
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct MetadataResponseTopic {
    pub error_code: i16,
    pub name: Option<Str>,
    /// Versions 10 and later.
    pub topic_id: Uuid,
    /// Versions 1 and later.
    pub is_internal: bool,
    pub partitions: Vec<MetadataResponsePartition>,
    /// Versions 8 and later.
    pub topic_authorized_operations: i32,
}

impl Default for MetadataResponseTopic {
    fn default() -> Self {
        Self {
            error_code: 0,
            name: None,
            topic_id: Uuid::nil(),
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

impl MetadataResponseTopic {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            name: if version >= 12 {
                r.nullable_string()?
            } else {
                Some(r.string()?)
            },
            topic_id: if version >= 10 {
                r.uuid()?
            } else {
                Uuid::nil()
            },
            is_internal: if version >= 1 { r.bool()? } else { false },
            partitions: r.array(18, |r| MetadataResponsePartition::decode(r, version))?,
            topic_authorized_operations: if version >= 8 { r.int32()? } else { i32::MIN },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        if self.name.is_none() && version < 12 {
            w.refuse_null("name");
        }
        w.string(self.name.as_deref());
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version >= 1 {
            w.bool(self.is_internal);
        }
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        if version >= 8 {
            w.int32(self.topic_authorized_operations);
        } else {
            w.refuse_set(
                self.topic_authorized_operations != i32::MIN,
                "topic_authorized_operations",
            );
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct MetadataResponsePartition {
    pub error_code: i16,
    pub partition_index: i32,
    pub leader_id: i32,
    /// Versions 7 and later.
    pub leader_epoch: i32,
    pub replica_nodes: Vec<i32>,
    pub isr_nodes: Vec<i32>,
    /// Versions 5 and later.
    pub offline_replicas: Vec<i32>,
}

impl Default for MetadataResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        }
    }
}

impl MetadataResponsePartition {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            partition_index: r.int32()?,
            leader_id: r.int32()?,
            leader_epoch: if version >= 7 { r.int32()? } else { -1 },
            replica_nodes: r.array(4, Reader::int32)?,
            isr_nodes: r.array(4, Reader::int32)?,
            offline_replicas: if version >= 5 {
                r.array(4, Reader::int32)?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        w.int32(self.partition_index);
        w.int32(self.leader_id);
        if version >= 7 {
            w.int32(self.leader_epoch);
        }
        w.array(Some(&self.replica_nodes), |w, x| w.int32(*x));
        w.array(Some(&self.isr_nodes), |w, x| w.int32(*x));
        if version >= 5 {
            w.array(Some(&self.offline_replicas), |w, x| w.int32(*x));
        }
        w.end_plain_struct();
    }
}
