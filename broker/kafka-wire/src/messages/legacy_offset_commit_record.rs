//! `LegacyOffsetCommit` in `__consumer_offsets`; int16 0 goes in front of the key, an int16 version in front of the value.
//!
//! Generated from `schema/coordinator-group-00-legacy-offset-commit.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::string::Str;
use crate::writer::Writer;

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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Value {
    pub offset: i64,
    pub metadata: Str,
    pub commit_timestamp: i64,
}

impl Message for Value {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            offset: r.int64()?,
            metadata: r.string()?,
            commit_timestamp: r.int64()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.int64(self.offset);
        w.string(Some(&self.metadata));
        w.int64(self.commit_timestamp);
        w.end_plain_struct();
    }
}
