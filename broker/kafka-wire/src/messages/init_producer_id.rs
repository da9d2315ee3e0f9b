//! `InitProducerId`, API key 22.
//!
//! Generated from `schema/022-init-producer-id.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub transactional_id: Option<Str>,
    pub transaction_timeout_ms: i32,
    /// Versions 3 and later.
    pub producer_id: i64,
    /// Versions 3 and later.
    pub producer_epoch: i16,
    /// Versions 6 and later.
    pub enable2_pc: bool,
    /// Versions 6 and later.
    pub keep_prepared_txn: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            transactional_id: None,
            transaction_timeout_ms: 0,
            producer_id: -1,
            producer_epoch: -1,
            enable2_pc: false,
            keep_prepared_txn: false,
        }
    }
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            transactional_id: r.nullable_string()?,
            transaction_timeout_ms: r.int32()?,
            producer_id: if version >= 3 { r.int64()? } else { -1 },
            producer_epoch: if version >= 3 { r.int16()? } else { -1 },
            enable2_pc: if version >= 6 { r.bool()? } else { false },
            keep_prepared_txn: if version >= 6 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.string(self.transactional_id.as_deref());
        w.int32(self.transaction_timeout_ms);
        if version >= 3 {
            w.int64(self.producer_id);
        } else {
            w.refuse_set(self.producer_id != -1, "producer_id");
        }
        if version >= 3 {
            w.int16(self.producer_epoch);
        } else {
            w.refuse_set(self.producer_epoch != -1, "producer_epoch");
        }
        if version >= 6 {
            w.bool(self.enable2_pc);
        } else {
            w.refuse_set(self.enable2_pc, "enable2_pc");
        }
        if version >= 6 {
            w.bool(self.keep_prepared_txn);
        } else {
            w.refuse_set(self.keep_prepared_txn, "keep_prepared_txn");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::InitProducerId;
    type Response = Response;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub producer_id: i64,
    pub producer_epoch: i16,
    /// Versions 6 and later.
    pub ongoing_txn_producer_id: i64,
    /// Versions 6 and later.
    pub ongoing_txn_producer_epoch: i16,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            producer_id: -1,
            producer_epoch: 0,
            ongoing_txn_producer_id: -1,
            ongoing_txn_producer_epoch: -1,
        }
    }
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 6);
    const FLEXIBLE_FROM: i16 = 2;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: r.int16()?,
            producer_id: r.int64()?,
            producer_epoch: r.int16()?,
            ongoing_txn_producer_id: if version >= 6 { r.int64()? } else { -1 },
            ongoing_txn_producer_epoch: if version >= 6 { r.int16()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int32(self.throttle_time_ms);
        w.int16(self.error_code);
        w.int64(self.producer_id);
        w.int16(self.producer_epoch);
        if version >= 6 {
            w.int64(self.ongoing_txn_producer_id);
        } else {
            w.refuse_set(
                self.ongoing_txn_producer_id != -1,
                "ongoing_txn_producer_id",
            );
        }
        if version >= 6 {
            w.int16(self.ongoing_txn_producer_epoch);
        } else {
            w.refuse_set(
                self.ongoing_txn_producer_epoch != -1,
                "ongoing_txn_producer_epoch",
            );
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}
