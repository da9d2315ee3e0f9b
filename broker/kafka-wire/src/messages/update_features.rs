//! `UpdateFeatures`, API key 57.
//!
//! Generated from `schema/057-update-features.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub timeout_ms: i32,
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// Versions 1 and later.
    pub validate_only: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            timeout_ms: 60000,
            feature_updates: Vec::new(),
            validate_only: false,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            timeout_ms: r.int32()?,
            feature_updates: r.array(5, |r| FeatureUpdateKey::decode(r, version))?,
            validate_only: if version >= 1 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.timeout_ms);
        w.array(Some(&self.feature_updates), |w, x| x.encode(w, version));
        if version >= 1 {
            w.bool(self.validate_only);
        } else {
            w.refuse_set(self.validate_only, "validate_only");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::UpdateFeatures;
    type Response = Response;
}

#[derive(Clone, Debug, PartialEq)]
pub struct FeatureUpdateKey {
    pub feature: Str,
    pub max_version_level: i16,
    /// Versions 0 to 0.
    pub allow_downgrade: bool,
    /// Versions 1 and later.
    pub upgrade_type: i8,
}

impl Default for FeatureUpdateKey {
    fn default() -> Self {
        Self {
            feature: Str::default(),
            max_version_level: 0,
            allow_downgrade: false,
            upgrade_type: 1,
        }
    }
}

impl FeatureUpdateKey {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            feature: r.string()?,
            max_version_level: r.int16()?,
            allow_downgrade: if version <= 0 { r.bool()? } else { false },
            upgrade_type: if version >= 1 { r.int8()? } else { 1 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.feature));
        w.int16(self.max_version_level);
        if version <= 0 {
            w.bool(self.allow_downgrade);
        } else {
            w.refuse_set(self.allow_downgrade, "allow_downgrade");
        }
        if version >= 1 {
            w.int8(self.upgrade_type);
        } else {
            w.refuse_set(self.upgrade_type != 1, "upgrade_type");
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    /// Versions 0 to 1.
    pub results: Vec<UpdatableFeatureResult>,
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
            results: if version <= 1 {
                r.array(5, |r| UpdatableFeatureResult::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        if version <= 1 {
            w.array(Some(&self.results), |w, x| x.encode(w, version));
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdatableFeatureResult {
    pub feature: Str,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl UpdatableFeatureResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            feature: r.string()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.feature));
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
