//! `GetTelemetrySubscriptions`, API key 71.
//!
//! Generated from `schema/071-get-telemetry-subscriptions.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub client_instance_id: Uuid,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            client_instance_id: r.uuid()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.uuid(self.client_instance_id);
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::GetTelemetrySubscriptions;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub client_instance_id: Uuid,
    pub subscription_id: i32,
    pub accepted_compression_types: Vec<i8>,
    pub push_interval_ms: i32,
    pub telemetry_max_bytes: i32,
    pub delta_temporality: bool,
    pub requested_metrics: Vec<Str>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            client_instance_id: r.uuid()?,
            subscription_id: r.int32()?,
            accepted_compression_types: r.array(1, Reader::int8)?,
            push_interval_ms: r.int32()?,
            telemetry_max_bytes: r.int32()?,
            delta_temporality: r.bool()?,
            requested_metrics: r.array(1, Reader::string)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.uuid(self.client_instance_id);
        w.int32(self.subscription_id);
        w.array(Some(&self.accepted_compression_types), |w, x| w.int8(*x));
        w.int32(self.push_interval_ms);
        w.int32(self.telemetry_max_bytes);
        w.bool(self.delta_temporality);
        w.array(Some(&self.requested_metrics), |w, x| w.string(Some(x)));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
