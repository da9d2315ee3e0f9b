//! `CreateDelegationToken`, API key 38.
//!
//! Generated from `schema/038-create-delegation-token.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 3 and later.
    pub owner_principal_type: Option<Str>,
    /// Versions 3 and later.
    pub owner_principal_name: Option<Str>,
    pub renewers: Vec<CreatableRenewers>,
    pub max_lifetime_ms: i64,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            owner_principal_type: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
            owner_principal_name: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
            renewers: r.array(3, |r| CreatableRenewers::decode(r, version))?,
            max_lifetime_ms: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 3 {
            w.string(self.owner_principal_type.as_deref());
        } else {
            w.refuse_set(self.owner_principal_type.is_some(), "owner_principal_type");
        }
        if version >= 3 {
            w.string(self.owner_principal_name.as_deref());
        } else {
            w.refuse_set(self.owner_principal_name.is_some(), "owner_principal_name");
        }
        w.array(Some(&self.renewers), |w, x| x.encode(w, version));
        w.int64(self.max_lifetime_ms);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::CreateDelegationToken;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreatableRenewers {
    pub principal_type: Str,
    pub principal_name: Str,
}

impl CreatableRenewers {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            principal_type: r.string()?,
            principal_name: r.string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.principal_type));
        w.string(Some(&self.principal_name));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub error_code: i16,
    pub principal_type: Str,
    pub principal_name: Str,
    /// Versions 3 and later.
    pub token_requester_principal_type: Str,
    /// Versions 3 and later.
    pub token_requester_principal_name: Str,
    pub issue_timestamp_ms: i64,
    pub expiry_timestamp_ms: i64,
    pub max_timestamp_ms: i64,
    pub token_id: Str,
    pub hmac: Bytes,
    pub throttle_time_ms: i32,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            error_code: r.int16()?,
            principal_type: r.string()?,
            principal_name: r.string()?,
            token_requester_principal_type: if version >= 3 {
                r.string()?
            } else {
                Str::default()
            },
            token_requester_principal_name: if version >= 3 {
                r.string()?
            } else {
                Str::default()
            },
            issue_timestamp_ms: r.int64()?,
            expiry_timestamp_ms: r.int64()?,
            max_timestamp_ms: r.int64()?,
            token_id: r.string()?,
            hmac: r.bytes()?,
            throttle_time_ms: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int16(self.error_code);
        w.string(Some(&self.principal_type));
        w.string(Some(&self.principal_name));
        if version >= 3 {
            w.string(Some(&self.token_requester_principal_type));
        } else {
            w.refuse_set(
                !self.token_requester_principal_type.is_empty(),
                "token_requester_principal_type",
            );
        }
        if version >= 3 {
            w.string(Some(&self.token_requester_principal_name));
        } else {
            w.refuse_set(
                !self.token_requester_principal_name.is_empty(),
                "token_requester_principal_name",
            );
        }
        w.int64(self.issue_timestamp_ms);
        w.int64(self.expiry_timestamp_ms);
        w.int64(self.max_timestamp_ms);
        w.string(Some(&self.token_id));
        w.bytes(Some(&self.hmac));
        w.int32(self.throttle_time_ms);
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
