//! `ConsumerProtocolSubscription`; an int16 version goes in front.
//!
//! Generated from `schema/data-consumer-protocol-subscription.txt` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerProtocolSubscription {
    pub topics: Vec<Str>,
    pub user_data: Option<Bytes>,
    /// Versions 1 and later.
    pub owned_partitions: Vec<TopicPartition>,
    /// Versions 2 and later.
    pub generation_id: i32,
    /// Versions 3 and later.
    pub rack_id: Option<Str>,
}

impl Default for ConsumerProtocolSubscription {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            user_data: None,
            owned_partitions: Vec::new(),
            generation_id: -1,
            rack_id: None,
        }
    }
}

impl Message for ConsumerProtocolSubscription {
    const VERSIONS: Versions = Versions::new(0, 3);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            topics: r.array(2, Reader::string)?,
            user_data: r.nullable_bytes()?,
            owned_partitions: if version >= 1 {
                r.array(6, |r| TopicPartition::decode(r, version))?
            } else {
                Vec::new()
            },
            generation_id: if version >= 2 { r.int32()? } else { -1 },
            rack_id: if version >= 3 {
                r.nullable_string()?
            } else {
                None
            },
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(false);
        w.array(Some(&self.topics), |w, x| w.string(Some(x)));
        w.bytes(self.user_data.as_ref());
        if version >= 1 {
            w.array(Some(&self.owned_partitions), |w, x| x.encode(w, version));
        }
        if version >= 2 {
            w.int32(self.generation_id);
        }
        if version >= 3 {
            w.string(self.rack_id.as_deref());
        }
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
