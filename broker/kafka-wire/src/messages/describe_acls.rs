//! `DescribeAcls`, API key 29.
//!
//! Generated from `schema/029-describe-acls.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub resource_type_filter: i8,
    pub resource_name_filter: Option<Str>,
    pub pattern_type_filter: i8,
    pub principal_filter: Option<Str>,
    pub host_filter: Option<Str>,
    pub operation: i8,
    pub permission_type: i8,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            resource_type_filter: 0,
            resource_name_filter: None,
            pattern_type_filter: 3,
            principal_filter: None,
            host_filter: None,
            operation: 0,
            permission_type: 0,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            resource_type_filter: r.int8()?,
            resource_name_filter: r.nullable_string()?,
            pattern_type_filter: r.int8()?,
            principal_filter: r.nullable_string()?,
            host_filter: r.nullable_string()?,
            operation: r.int8()?,
            permission_type: r.int8()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int8(self.resource_type_filter);
        w.string(self.resource_name_filter.as_deref());
        w.int8(self.pattern_type_filter);
        w.string(self.principal_filter.as_deref());
        w.string(self.host_filter.as_deref());
        w.int8(self.operation);
        w.int8(self.permission_type);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeAcls;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub resources: Vec<DescribeAclsResource>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            resources: r.array(5, |r| DescribeAclsResource::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.array(Some(&self.resources), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAclsResource {
    pub resource_type: i8,
    pub resource_name: Str,
    pub pattern_type: i8,
    pub acls: Vec<AclDescription>,
}

impl Default for DescribeAclsResource {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: Str::default(),
            pattern_type: 3,
            acls: Vec::new(),
        }
    }
}

impl DescribeAclsResource {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            resource_type: r.int8()?,
            resource_name: r.string()?,
            pattern_type: r.int8()?,
            acls: r.array(5, |r| AclDescription::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int8(self.resource_type);
        w.string(Some(&self.resource_name));
        w.int8(self.pattern_type);
        w.array(Some(&self.acls), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AclDescription {
    pub principal: Str,
    pub host: Str,
    pub operation: i8,
    pub permission_type: i8,
}

impl AclDescription {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            principal: r.string()?,
            host: r.string()?,
            operation: r.int8()?,
            permission_type: r.int8()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.principal));
        w.string(Some(&self.host));
        w.int8(self.operation);
        w.int8(self.permission_type);
        w.end_plain_struct();
    }
}
