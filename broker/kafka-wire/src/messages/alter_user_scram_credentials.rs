//! `AlterUserScramCredentials`, API key 51.
//!
//! Generated from `schema/051-alter-user-scram-credentials.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub deletions: Vec<ScramCredentialDeletion>,
    pub upsertions: Vec<ScramCredentialUpsertion>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            deletions: r.array(3, |r| ScramCredentialDeletion::decode(r, version))?,
            upsertions: r.array(9, |r| ScramCredentialUpsertion::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.deletions), |w, x| x.encode(w, version));
        w.array(Some(&self.upsertions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::AlterUserScramCredentials;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScramCredentialDeletion {
    pub name: Str,
    pub mechanism: i8,
}

impl ScramCredentialDeletion {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            mechanism: r.int8()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.int8(self.mechanism);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScramCredentialUpsertion {
    pub name: Str,
    pub mechanism: i8,
    pub iterations: i32,
    pub salt: Bytes,
    pub salted_password: Bytes,
}

impl ScramCredentialUpsertion {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            mechanism: r.int8()?,
            iterations: r.int32()?,
            salt: r.bytes()?,
            salted_password: r.bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.int8(self.mechanism);
        w.int32(self.iterations);
        w.bytes(Some(&self.salt));
        w.bytes(Some(&self.salted_password));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub results: Vec<AlterUserScramCredentialsResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            results: r.array(5, |r| AlterUserScramCredentialsResult::decode(r, version))?,
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
pub struct AlterUserScramCredentialsResult {
    pub user: Str,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

impl AlterUserScramCredentialsResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            user: r.string()?,
            error_code: r.int16()?,
            error_message: r.nullable_string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.user));
        w.int16(self.error_code);
        w.string(self.error_message.as_deref());
        w.end_plain_struct();
    }
}
