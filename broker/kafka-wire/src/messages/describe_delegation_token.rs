//! `DescribeDelegationToken`, API key 41.
//!
//! Generated from `schema/041-describe-delegation-token.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            owners: r.nullable_array(3, |r| DescribeDelegationTokenOwner::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(self.owners.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeDelegationToken;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeDelegationTokenOwner {
    pub principal_type: Str,
    pub principal_name: Str,
}

impl DescribeDelegationTokenOwner {
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
    pub tokens: Vec<DescribedDelegationToken>,
    pub throttle_time_ms: i32,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 3);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            error_code: r.int16()?,
            tokens: r.array(30, |r| DescribedDelegationToken::decode(r, version))?,
            throttle_time_ms: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int16(self.error_code);
        w.array(Some(&self.tokens), |w, x| x.encode(w, version));
        w.int32(self.throttle_time_ms);
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribedDelegationToken {
    pub principal_type: Str,
    pub principal_name: Str,
    /// Versions 3 and later.
    pub token_requester_principal_type: Str,
    /// Versions 3 and later.
    pub token_requester_principal_name: Str,
    pub issue_timestamp: i64,
    pub expiry_timestamp: i64,
    pub max_timestamp: i64,
    pub token_id: Str,
    pub hmac: Bytes,
    pub renewers: Vec<DescribedDelegationTokenRenewer>,
}

impl DescribedDelegationToken {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
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
            issue_timestamp: r.int64()?,
            expiry_timestamp: r.int64()?,
            max_timestamp: r.int64()?,
            token_id: r.string()?,
            hmac: r.bytes()?,
            renewers: r.array(3, |r| DescribedDelegationTokenRenewer::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
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
        w.int64(self.issue_timestamp);
        w.int64(self.expiry_timestamp);
        w.int64(self.max_timestamp);
        w.string(Some(&self.token_id));
        w.bytes(Some(&self.hmac));
        w.array(Some(&self.renewers), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribedDelegationTokenRenewer {
    pub principal_type: Str,
    pub principal_name: Str,
}

impl DescribedDelegationTokenRenewer {
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
