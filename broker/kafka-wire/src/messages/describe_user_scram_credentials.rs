//! `DescribeUserScramCredentials`, API key 50.
//!
//! Generated from `schema/050-describe-user-scram-credentials.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub users: Option<Vec<UserName>>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            users: r.nullable_array(2, |r| UserName::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(self.users.as_deref(), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::DescribeUserScramCredentials;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserName {
    pub name: Str,
}

impl UserName {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self { name: r.string()? };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub results: Vec<DescribeUserScramCredentialsResult>,
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
            results: r.array(6, |r| {
                DescribeUserScramCredentialsResult::decode(r, version)
            })?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.array(Some(&self.results), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribeUserScramCredentialsResult {
    pub user: Str,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub credential_infos: Vec<CredentialInfo>,
}

impl DescribeUserScramCredentialsResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            user: r.string()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
            credential_infos: r.array(6, |r| CredentialInfo::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.user));
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.array(Some(&self.credential_infos), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CredentialInfo {
    pub mechanism: i8,
    pub iterations: i32,
}

impl CredentialInfo {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            mechanism: r.int8()?,
            iterations: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int8(self.mechanism);
        w.int32(self.iterations);
        w.end_plain_struct();
    }
}
