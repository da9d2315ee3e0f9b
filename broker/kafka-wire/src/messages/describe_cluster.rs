//! `DescribeCluster`, API key 60.
//!
//! Generated from `schema/060-describe-cluster.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub include_cluster_authorized_operations: bool,
    /// Versions 1 and later.
    pub endpoint_type: i8,
    /// Versions 2 and later.
    pub include_fenced_brokers: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            include_cluster_authorized_operations: false,
            endpoint_type: 1,
            include_fenced_brokers: false,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            include_cluster_authorized_operations: r.bool()?,
            endpoint_type: if version >= 1 { r.int8()? } else { 1 },
            include_fenced_brokers: if version >= 2 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.bool(self.include_cluster_authorized_operations);
        if version >= 1 {
            w.int8(self.endpoint_type);
        } else {
            w.refuse_set(self.endpoint_type != 1, "endpoint_type");
        }
        if version >= 2 {
            w.bool(self.include_fenced_brokers);
        } else {
            w.refuse_set(self.include_fenced_brokers, "include_fenced_brokers");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeCluster;
    type Response = Response;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    /// Versions 1 and later.
    pub endpoint_type: i8,
    pub cluster_id: Str,
    pub controller_id: i32,
    pub brokers: Vec<DescribeClusterBroker>,
    pub cluster_authorized_operations: i32,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: None,
            endpoint_type: 1,
            cluster_id: Str::default(),
            controller_id: -1,
            brokers: Vec::new(),
            cluster_authorized_operations: i32::MIN,
        }
    }
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            endpoint_type: if version >= 1 { r.int8()? } else { 1 },
            cluster_id: r.string()?,
            controller_id: r.int32()?,
            brokers: r.array(11, |r| DescribeClusterBroker::decode(r, version))?,
            cluster_authorized_operations: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        if version >= 1 {
            w.int8(self.endpoint_type);
        } else {
            w.refuse_set(self.endpoint_type != 1, "endpoint_type");
        }
        w.string(Some(&self.cluster_id));
        w.int32(self.controller_id);
        w.array(Some(&self.brokers), |w, x| x.encode(w, version));
        w.int32(self.cluster_authorized_operations);
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeClusterBroker {
    pub broker_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
    /// Versions 2 and later.
    pub is_fenced: bool,
}

impl DescribeClusterBroker {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            broker_id: r.int32()?,
            host: r.string()?,
            port: r.int32()?,
            rack: r.nullable_string()?,
            is_fenced: if version >= 2 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int32(self.broker_id);
        w.string(Some(&self.host));
        w.int32(self.port);
        w.string(self.rack.as_deref());
        if version >= 2 {
            w.bool(self.is_fenced);
        } else {
            w.refuse_set(self.is_fenced, "is_fenced");
        }
        w.end_plain_struct();
    }
}
