//! `OffsetCommit` in `__consumer_offsets`; int16 1 goes in front of the key, an int16 version in front of the value.
//!
//! Generated from `schema/coordinator-group-01-offset-commit.txt` by `tests/it/codegen.rs`; edits are overwritten.

use uuid::Uuid;

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::{TaggedFields, Writer};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    pub group: Str,
    pub topic: Str,
    pub partition: i32,
}

impl Message for Key {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            group: r.string()?,
            topic: r.string()?,
            partition: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.string(Some(&self.group));
        w.string(Some(&self.topic));
        w.int32(self.partition);
        w.end_plain_struct();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub offset: i64,
    /// Versions 3 and later.
    pub leader_epoch: i32,
    pub metadata: Str,
    pub commit_timestamp: i64,
    /// Versions 1 to 1.
    pub expire_timestamp: i64,
    /// Versions 4 and later.
    pub topic_id: Uuid,
}

impl Default for Value {
    fn default() -> Self {
        Self {
            offset: 0,
            leader_epoch: -1,
            metadata: Str::default(),
            commit_timestamp: 0,
            expire_timestamp: -1,
            topic_id: Uuid::nil(),
        }
    }
}

impl Message for Value {
    const VERSIONS: Versions = Versions::new(0, 4);
    const FLEXIBLE_FROM: i16 = 4;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(version >= Self::FLEXIBLE_FROM);
        let mut message = Self {
            offset: r.int64()?,
            leader_epoch: if version >= 3 { r.int32()? } else { -1 },
            metadata: r.string()?,
            commit_timestamp: r.int64()?,
            expire_timestamp: if version == 1 { r.int64()? } else { -1 },
            topic_id: Uuid::nil(),
        };
        r.tagged_fields(|r, tag| {
            match tag {
                0 => message.topic_id = r.uuid()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, version: i16) {
        w.set_flexible(version >= Self::FLEXIBLE_FROM);
        w.int64(self.offset);
        if version >= 3 {
            w.int32(self.leader_epoch);
        }
        w.string(Some(&self.metadata));
        w.int64(self.commit_timestamp);
        if version == 1 {
            w.int64(self.expire_timestamp);
        }
        let mut tagged = TaggedFields::default();
        if version >= 4 && !self.topic_id.is_nil() {
            w.tagged_field(&mut tagged, 0, |w| {
                w.uuid(self.topic_id);
            });
        }
        w.end_struct(&tagged);
    }
}
