//! `EndTxnMarker`; an int16 version goes in front.
//!
//! Generated from `schema/data-end-txn-marker.txt` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::{Message, Versions};
use crate::reader::{DecodeError, Reader};
use crate::writer::Writer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndTxnMarker {
    pub coordinator_epoch: i32,
}

impl Message for EndTxnMarker {
    const VERSIONS: Versions = Versions::new(0, 0);
    const FLEXIBLE_FROM: i16 = i16::MAX;

    fn decode(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        r.set_flexible(false);
        let message = Self {
            coordinator_epoch: r.int32()?,
        };
        r.skip_tagged_fields()?;
        Ok(message)
    }

    fn encode(&self, w: &mut Writer, _version: i16) {
        w.set_flexible(false);
        w.int32(self.coordinator_epoch);
        w.end_plain_struct();
    }
}
