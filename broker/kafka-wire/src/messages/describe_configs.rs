//! `DescribeConfigs`, API key 32.
//!
//! Generated from `schema/032-describe-configs.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub resources: Vec<DescribeConfigsResource>,
    pub include_synonyms: bool,
    /// Versions 3 and later.
    pub include_documentation: bool,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 4);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            resources: r.array(4, |r| DescribeConfigsResource::decode(r, version))?,
            include_synonyms: r.bool()?,
            include_documentation: if version >= 3 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.resources), |w, x| x.encode(w, version));
        w.bool(self.include_synonyms);
        if version >= 3 {
            w.bool(self.include_documentation);
        } else {
            w.refuse_set(self.include_documentation, "include_documentation");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeConfigs;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeConfigsResource {
    pub resource_type: i8,
    pub resource_name: Str,
    pub configuration_keys: Option<Vec<Str>>,
}

impl DescribeConfigsResource {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            resource_type: r.int8()?,
            resource_name: r.string()?,
            configuration_keys: r.nullable_array(1, Reader::string)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int8(self.resource_type);
        w.string(Some(&self.resource_name));
        w.array(self.configuration_keys.as_deref(), |w, x| w.string(Some(x)));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub results: Vec<DescribeConfigsResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 4);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            results: r.array(7, |r| DescribeConfigsResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.array(Some(&self.results), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeConfigsResult {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub resource_type: i8,
    pub resource_name: Str,
    pub configs: Vec<DescribeConfigsResourceResult>,
}

impl DescribeConfigsResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            resource_type: r.int8()?,
            resource_name: r.string()?,
            configs: r.array(9, |r| DescribeConfigsResourceResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.int8(self.resource_type);
        w.string(Some(&self.resource_name));
        w.array(Some(&self.configs), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DescribeConfigsResourceResult {
    pub name: Str,
    pub value: Option<Str>,
    pub read_only: bool,
    pub config_source: i8,
    pub is_sensitive: bool,
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// Versions 3 and later.
    pub config_type: i8,
    /// Versions 3 and later.
    pub documentation: Option<Str>,
}

impl Default for DescribeConfigsResourceResult {
    fn default() -> Self {
        Self {
            name: Str::default(),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Vec::new(),
            config_type: 0,
            documentation: None,
        }
    }
}

impl DescribeConfigsResourceResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            value: r.nullable_string()?,
            read_only: r.bool()?,
            config_source: r.int8()?,
            is_sensitive: r.bool()?,
            synonyms: r.array(4, |r| DescribeConfigsSynonym::decode(r, version))?,
            config_type: if version >= 3 { r.int8()? } else { 0 },
            documentation: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.string(self.value.as_deref());
        w.bool(self.read_only);
        w.int8(self.config_source);
        w.bool(self.is_sensitive);
        w.array(Some(&self.synonyms), |w, x| x.encode(w, version));
        if version >= 3 {
            w.int8(self.config_type);
        }
        if version >= 3 {
            w.string(self.documentation.as_deref());
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeConfigsSynonym {
    pub name: Str,
    pub value: Option<Str>,
    pub source: i8,
}

impl DescribeConfigsSynonym {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            value: r.nullable_string()?,
            source: r.int8()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.string(self.value.as_deref());
        w.int8(self.source);
        w.end_plain_struct();
    }
}
