//! `WriteTxnMarkers`, API key 27.
//!
//! Generated from `schema/027-write-txn-markers.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{self, Message, Versions};
use crate::messages::ApiKey;
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub markers: Vec<WritableTxnMarker>,
}

impl Message for Request {
    const VERSIONS: Versions = Versions::new(1, 2);
    const FLEXIBLE_FROM: i16 = 1;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            markers: r.array(17, |r| WritableTxnMarker::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.markers), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

impl message::Request for Request {
    const KEY: ApiKey = ApiKey::WriteTxnMarkers;
    type Response = Response;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritableTxnMarker {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub transaction_result: bool,
    pub topics: Vec<WritableTxnMarkerTopic>,
    pub coordinator_epoch: i32,
    /// Versions 2 and later.
    pub transaction_version: i8,
}

impl WritableTxnMarker {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            producer_id: r.int64()?,
            producer_epoch: r.int16()?,
            transaction_result: r.bool()?,
            topics: r.array(3, |r| WritableTxnMarkerTopic::decode(r, version))?,
            coordinator_epoch: r.int32()?,
            transaction_version: if version >= 2 { r.int8()? } else { 0 },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int64(self.producer_id);
        w.int16(self.producer_epoch);
        w.bool(self.transaction_result);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.int32(self.coordinator_epoch);
        if version >= 2 {
            w.int8(self.transaction_version);
        }
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritableTxnMarkerTopic {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

impl WritableTxnMarkerTopic {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partition_indexes: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.partition_indexes), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub markers: Vec<WritableTxnMarkerResult>,
}

impl Message for Response {
    const VERSIONS: Versions = Versions::new(1, 2);
    const FLEXIBLE_FROM: i16 = 1;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let message = Self {
            markers: r.array(10, |r| WritableTxnMarkerResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.array(Some(&self.markers), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritableTxnMarkerResult {
    pub producer_id: i64,
    pub topics: Vec<WritableTxnMarkerTopicResult>,
}

impl WritableTxnMarkerResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            producer_id: r.int64()?,
            topics: r.array(3, |r| WritableTxnMarkerTopicResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.int64(self.producer_id);
        w.array(Some(&self.topics), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritableTxnMarkerTopicResult {
    pub name: Str,
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
}

impl WritableTxnMarkerTopicResult {
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            name: r.string()?,
            partitions: r.array(7, |r| WritableTxnMarkerPartitionResult::decode(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(Some(&self.name));
        w.array(Some(&self.partitions), |w, x| x.encode(w, version));
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritableTxnMarkerPartitionResult {
    pub partition_index: i32,
    pub error_code: i16,
}

impl WritableTxnMarkerPartitionResult {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            partition_index: r.int32()?,
            error_code: r.int16()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.int32(self.partition_index);
        w.int16(self.error_code);
        w.end_plain_struct();
    }
}
