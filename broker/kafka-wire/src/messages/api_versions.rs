//! `ApiVersions`, API key 18.
//!
//! Generated from `schema/018-api-versions.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::{TaggedFields, Writer};

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Versions 3 and later.
    pub client_software_name: Str,
    /// Versions 3 and later.
    pub client_software_version: Str,
    /// Versions 5 and later.
    pub cluster_id: Option<Str>,
    /// Versions 5 and later.
    pub node_id: i32,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            client_software_name: Str::default(),
            client_software_version: Str::default(),
            cluster_id: None,
            node_id: -1,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            client_software_name: if version >= 3 {
                r.string()?
            } else {
                Str::default()
            },
            client_software_version: if version >= 3 {
                r.string()?
            } else {
                Str::default()
            },
            cluster_id: if version >= 5 {
                r.nullable_string()?
            } else {
                None
            },
            node_id: if version >= 5 { r.int32()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 3 {
            w.string(Some(&self.client_software_name));
        }
        if version >= 3 {
            w.string(Some(&self.client_software_version));
        }
        if version >= 5 {
            w.string(self.cluster_id.as_deref());
        }
        if version >= 5 {
            w.int32(self.node_id);
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ApiVersions;
    type Response = Response;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub error_code: i16,
    pub api_keys: Vec<ApiVersion>,
    /// Versions 1 and later.
    pub throttle_time_ms: i32,
    /// Versions 3 and later.
    pub supported_features: Vec<SupportedFeatureKey>,
    /// Versions 3 and later.
    pub finalized_features_epoch: i64,
    /// Versions 3 and later.
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// Versions 3 and later.
    pub zk_migration_ready: bool,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            error_code: 0,
            api_keys: Vec::new(),
            throttle_time_ms: 0,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        }
    }
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let mut message = Self {
            error_code: r.int16()?,
            api_keys: r.array(6, |r| ApiVersion::decode(r, version))?,
            throttle_time_ms: if version >= 1 { r.int32()? } else { 0 },
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 => {
                    message.supported_features =
                        r.array(6, |r| SupportedFeatureKey::decode(r, version))?
                }
                1 => message.finalized_features_epoch = r.int64()?,
                2 => {
                    message.finalized_features =
                        r.array(6, |r| FinalizedFeatureKey::decode(r, version))?
                }
                3 => message.zk_migration_ready = r.bool()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int16(self.error_code);
        w.array(Some(&self.api_keys), |w, x| x.encode(w, version));
        if version >= 1 {
            w.int32(self.throttle_time_ms);
        }
        let mut tagged = TaggedFields::default();
        if version >= 3 && !self.supported_features.is_empty() {
            w.tagged_field(&mut tagged, 0, |w| {
                w.array(Some(&self.supported_features), |w, x| x.encode(w, version));
            });
        }
        if version >= 3 && self.finalized_features_epoch != -1 {
            w.tagged_field(&mut tagged, 1, |w| {
                w.int64(self.finalized_features_epoch);
            });
        }
        if version >= 3 && !self.finalized_features.is_empty() {
            w.tagged_field(&mut tagged, 2, |w| {
                w.array(Some(&self.finalized_features), |w, x| x.encode(w, version));
            });
        }
        if version >= 3 && self.zk_migration_ready {
            w.tagged_field(&mut tagged, 3, |w| {
                w.bool(self.zk_migration_ready);
            });
        }
        w.end_struct(&tagged);
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiVersion {
    pub api_key: i16,
    pub min_version: i16,
    pub max_version: i16,
}

impl ApiVersion {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            api_key: r.int16()?,
            min_version: r.int16()?,
            max_version: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int16(self.api_key);
        w.int16(self.min_version);
        w.int16(self.max_version);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SupportedFeatureKey {
    pub name: Str,
    pub min_version: i16,
    pub max_version: i16,
}

impl SupportedFeatureKey {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            min_version: r.int16()?,
            max_version: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.int16(self.min_version);
        w.int16(self.max_version);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinalizedFeatureKey {
    pub name: Str,
    pub max_version_level: i16,
    pub min_version_level: i16,
}

impl FinalizedFeatureKey {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            max_version_level: r.int16()?,
            min_version_level: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.int16(self.max_version_level);
        w.int16(self.min_version_level);
        w.end_plain_struct();
    }
}
