//! `ListTransactions`, API key 66.
//!
//! Generated from `schema/066-list-transactions.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub state_filters: Vec<Str>,
    pub producer_id_filters: Vec<i64>,
    /// Versions 1 and later.
    pub duration_filter: i64,
    /// Versions 2 and later.
    pub transactional_id_pattern: Option<Str>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            state_filters: Vec::new(),
            producer_id_filters: Vec::new(),
            duration_filter: -1,
            transactional_id_pattern: None,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            state_filters: r.array(1, Reader::string)?,
            producer_id_filters: r.array(8, Reader::int64)?,
            duration_filter: if version >= 1 { r.int64()? } else { -1 },
            transactional_id_pattern: if version >= 2 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.state_filters), |w, x| w.string(Some(x)));
        w.array(Some(&self.producer_id_filters), |w, x| w.int64(*x));
        if version >= 1 {
            w.int64(self.duration_filter);
        } else {
            w.refuse_set(self.duration_filter != -1, "duration_filter");
        }
        if version >= 2 {
            w.string(self.transactional_id_pattern.as_deref());
        } else {
            w.refuse_set(
                self.transactional_id_pattern.is_some(),
                "transactional_id_pattern",
            );
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::ListTransactions;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub unknown_state_filters: Vec<Str>,
    pub transaction_states: Vec<TransactionState>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 2);
    const FLEXIBLE_FROM: i16 = 0;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            unknown_state_filters: r.array(1, Reader::string)?,
            transaction_states: r.array(11, |r| TransactionState::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.array(Some(&self.unknown_state_filters), |w, x| w.string(Some(x)));
        w.array(Some(&self.transaction_states), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionState {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub transaction_state: Str,
}

impl TransactionState {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            transactional_id: r.string()?,
            producer_id: r.int64()?,
            transaction_state: r.string()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.transactional_id));
        w.int64(self.producer_id);
        w.string(Some(&self.transaction_state));
        w.end_plain_struct();
    }
}
