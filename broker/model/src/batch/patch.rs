//! The header fields that a broker may change in a batch it did not build.

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    Batch, COMPRESSION_MASK, CRC_FROM, HEADER_BYTES, LOG_APPEND_TIME, PREFIX_BYTES, crc_of,
};
use crate::{Epoch, Offset};

/// Gives a batch its place in the log: base offset and leader epoch. Both lie outside what the CRC
/// covers, so the producer's seal stays.
///
/// In place when nobody else holds the bytes; otherwise one copy, which at about 30 GB per CPU-second
/// is noise beside the write that follows, and which lets go of the network buffer the batch came in.
pub fn place(batch: Bytes, base_offset: Offset, leader_epoch: Epoch) -> Bytes {
    let mut bytes = owned(batch);
    if let Some(mut field) = bytes.get_mut(0..8) {
        field.put_i64(base_offset.0);
    }
    if let Some(mut field) = bytes.get_mut(12..16) {
        field.put_i32(leader_epoch.0);
    }
    bytes.freeze()
}

/// Replaces the max timestamp and seals anew. With `log_append_time` the batch also says that the
/// timestamp is the broker's and holds for every record; without it that it is the producers'.
pub fn set_max_timestamp(batch: Bytes, timestamp: i64, log_append_time: bool) -> Bytes {
    let mut bytes = owned(batch);
    if let Some(attributes) = bytes.get_mut(CRC_FROM + 1) {
        let bit = LOG_APPEND_TIME.to_le_bytes()[0];
        *attributes = if log_append_time {
            *attributes | bit
        } else {
            *attributes & !bit
        };
    }
    if let Some(mut field) = bytes.get_mut(35..43) {
        field.put_i64(timestamp);
    }
    let crc = crc_of(&bytes);
    if let Some(mut field) = bytes.get_mut(CRC_FROM - 4..CRC_FROM) {
        field.put_u32(crc);
    }
    bytes.freeze()
}

/// The same records in another form: `payload` is them compressed with `codec` (a batch's attribute, 0 =
/// not). Sealed anew; everything else the header says stays.
pub fn set_payload(batch: &Batch, codec: u8, payload: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(HEADER_BYTES + payload.len());
    bytes.put_slice(batch.bytes.get(..HEADER_BYTES).unwrap_or_default());
    bytes.put_slice(payload);
    let length = i32::try_from(HEADER_BYTES - PREFIX_BYTES + payload.len()).unwrap_or(i32::MAX);
    if let Some(mut field) = bytes.get_mut(8..12) {
        field.put_i32(length);
    }
    if let Some(mut field) = bytes.get_mut(CRC_FROM..CRC_FROM + 2) {
        field.put_i16((batch.header.attributes & !COMPRESSION_MASK) | i16::from(codec & 7));
    }
    let crc = crc_of(&bytes);
    if let Some(mut field) = bytes.get_mut(CRC_FROM - 4..CRC_FROM) {
        field.put_u32(crc);
    }
    bytes.freeze()
}

pub(super) fn owned(batch: Bytes) -> BytesMut {
    batch
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(shared.as_ref()))
}
