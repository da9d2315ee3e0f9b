//! `AddPartitionsToTxn`, API key 24.
//!
//! Generated from `schema/024-add-partitions-to-txn.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Versions 4 and later.
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// Versions 0 to 3.
    pub v3_and_below_transactional_id: Str,
    /// Versions 0 to 3.
    pub v3_and_below_producer_id: i64,
    /// Versions 0 to 3.
    pub v3_and_below_producer_epoch: i16,
    /// Versions 0 to 3.
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            transactions: if version >= 4 {
                r.array(14, |r| AddPartitionsToTxnTransaction::decode(r, version))?
            } else {
                Vec::new()
            },
            v3_and_below_transactional_id: if version <= 3 {
                r.string()?
            } else {
                Str::default()
            },
            v3_and_below_producer_id: if version <= 3 { r.int64()? } else { 0 },
            v3_and_below_producer_epoch: if version <= 3 { r.int16()? } else { 0 },
            v3_and_below_topics: if version <= 3 {
                r.array(3, |r| AddPartitionsToTxnTopic::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        if version >= 4 {
            w.array(Some(&self.transactions), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.transactions.is_empty(), "transactions");
        }
        if version <= 3 {
            w.string(Some(&self.v3_and_below_transactional_id));
        } else {
            w.refuse_set(
                !self.v3_and_below_transactional_id.is_empty(),
                "v3_and_below_transactional_id",
            );
        }
        if version <= 3 {
            w.int64(self.v3_and_below_producer_id);
        } else {
            w.refuse_set(
                self.v3_and_below_producer_id != 0,
                "v3_and_below_producer_id",
            );
        }
        if version <= 3 {
            w.int16(self.v3_and_below_producer_epoch);
        } else {
            w.refuse_set(
                self.v3_and_below_producer_epoch != 0,
                "v3_and_below_producer_epoch",
            );
        }
        if version <= 3 {
            w.array(Some(&self.v3_and_below_topics), |w, x| x.encode(w, version));
        } else {
            w.refuse_set(!self.v3_and_below_topics.is_empty(), "v3_and_below_topics");
        }
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::AddPartitionsToTxn;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddPartitionsToTxnTransaction {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub verify_only: bool,
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

impl AddPartitionsToTxnTransaction {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            transactional_id: r.string()?,
            producer_id: r.int64()?,
            producer_epoch: r.int16()?,
            verify_only: r.bool()?,
            topics: r.array(3, |r| AddPartitionsToTxnTopic::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.transactional_id));
        w.int64(self.producer_id);
        w.int16(self.producer_epoch);
        w.bool(self.verify_only);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddPartitionsToTxnTopic {
    pub name: Str,
    pub partitions: Vec<i32>,
}

impl AddPartitionsToTxnTopic {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub throttle_time_ms: i32,
    /// Versions 4 and later.
    pub error_code: i16,
    /// Versions 4 and later.
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// Versions 0 to 3.
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(0, 5);
    const FLEXIBLE_FROM: i16 = 3;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            throttle_time_ms: r.int32()?,
            error_code: if version >= 4 { r.int16()? } else { 0 },
            results_by_transaction: if version >= 4 {
                r.array(3, |r| AddPartitionsToTxnResult::decode(r, version))?
            } else {
                Vec::new()
            },
            results_by_topic_v3_and_below: if version <= 3 {
                r.array(3, |r| AddPartitionsToTxnTopicResult::decode(r, version))?
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
        if version >= 4 {
            w.int16(self.error_code);
        }
        if version >= 4 {
            w.array(Some(&self.results_by_transaction), |w, x| {
                x.encode(w, version)
            });
        } else {
            w.refuse_set(
                !self.results_by_transaction.is_empty(),
                "results_by_transaction",
            );
        }
        if version <= 3 {
            w.array(Some(&self.results_by_topic_v3_and_below), |w, x| {
                x.encode(w, version)
            });
        } else {
            w.refuse_set(
                !self.results_by_topic_v3_and_below.is_empty(),
                "results_by_topic_v3_and_below",
            );
        }
        w.end_plain_struct();
    }

    fn set_throttle_time_ms(&mut self, ms: i32) {
        self.throttle_time_ms = ms;
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddPartitionsToTxnResult {
    pub transactional_id: Str,
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

impl AddPartitionsToTxnResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            transactional_id: r.string()?,
            topic_results: r.array(3, |r| AddPartitionsToTxnTopicResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.transactional_id));
        w.array(Some(&self.topic_results), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddPartitionsToTxnTopicResult {
    pub name: Str,
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

impl AddPartitionsToTxnTopicResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            results_by_partition: r
                .array(6, |r| AddPartitionsToTxnPartitionResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.results_by_partition), |w, x| {
            x.encode(w, version)
        });
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddPartitionsToTxnPartitionResult {
    pub partition_index: i32,
    pub partition_error_code: i16,
}

impl AddPartitionsToTxnPartitionResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            partition_error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int16(self.partition_error_code);
        w.end_plain_struct();
    }
}
