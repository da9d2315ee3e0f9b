//! `ConsumerProtocolAssignment`; an int16 version goes in front.
//!
//! Generated from `schema/data-consumer-protocol-assignment.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsumerProtocolAssignment {
    pub assigned_partitions: Vec<TopicPartition>,
    pub user_data: Option<Bytes>,
}

impl Message for ConsumerProtocolAssignment {
    const VERSIONS: Versions = Versions::new(0, 3);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            assigned_partitions: r.array(6, |r| TopicPartition::decode(r, version))?,
            user_data: r.nullable_bytes()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(false);
        w.array(Some(&self.assigned_partitions), |w, x| x.encode(w, version));
        w.bytes(self.user_data.as_ref());
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicPartition {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

impl TopicPartition {
    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let message = Self {
            topic: r.string()?,
            partitions: r.array(4, Reader::int32)?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(Some(&self.topic));
        w.array(Some(&self.partitions), |w, x| w.int32(*x));
        w.end_plain_struct();
    }
}
