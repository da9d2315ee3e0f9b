//! `ControlRecordTypeSchema`; an int16 version goes in front.
//!
//! Generated from `schema/data-control-record-type-schema.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControlRecordTypeSchema {
    pub r#type: i16,
}

impl Message for ControlRecordTypeSchema {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self { r#type: r.int16()? };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.int16(self.r#type);
        w.end_plain_struct();
    }
}
