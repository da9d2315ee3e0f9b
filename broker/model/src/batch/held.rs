//! Batches whose records wait for their time, and what consumers see in their place.
//!
//! A record names its time in the header [`DELIVER_AT`]. The batch that it came in is stored with an attribute
//! that says so, and consumers are shown one with only a marker there; the record comes again, in a batch with
//! another such attribute, when its time has come. Both attributes are among those that Kafka leaves
//! unused, and no client may set them.

use bytes::{BufMut, Bytes, BytesMut};

use super::{Builder, CRC_FROM, HANDED_OVER, HELD, Header, crc_of, patch::owned};

/// Header of a record: when consumers may read it, in milliseconds since 1970, as decimal digits.
pub const DELIVER_AT: &str = "millrace-deliver-at";
/// Header that a record gets when it is handed over: the offset at which it waited, which its producer was
/// told, as decimal digits.
pub const HELD_OFFSET: &str = "millrace-held-offset";

impl Header {
    /// Records wait in this batch for their time: not for consumers.
    pub fn is_held(&self) -> bool {
        self.attributes & HELD != 0
    }

    /// Its records waited in other batches.
    pub fn is_handed_over(&self) -> bool {
        self.attributes & HANDED_OVER != 0
    }

    /// Says one of both, which is for no producer to say.
    pub fn claims_delivery(&self) -> bool {
        self.attributes & (HELD | HANDED_OVER) != 0
    }
}

/// The time that the value of [`DELIVER_AT`] means; `None` when it means none.
pub(super) fn time(value: &[u8]) -> Option<i64> {
    // Before the number could overflow.
    if value.is_empty() || value.len() > 19 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// When a record with these headers may be read; `None` when they do not say.
pub fn deliver_at(headers: &[(Bytes, Option<Bytes>)]) -> Option<i64> {
    let mut named = headers.iter().rev().filter(|(key, _)| key == DELIVER_AT);
    time(named.next()?.1.as_deref()?)
}

/// Marks a batch as one in which records wait, and seals it anew.
pub fn hold(batch: Bytes) -> Bytes {
    mark(batch, |attributes| attributes | high_byte(HELD))
}

/// Takes off what a producer may not say, and seals anew.
pub fn without_claims(batch: Bytes) -> Bytes {
    mark(batch, |attributes| {
        attributes & !high_byte(HELD | HANDED_OVER)
    })
}

fn high_byte(attributes: i16) -> u8 {
    attributes.to_be_bytes()[0]
}

fn mark(batch: Bytes, change: impl FnOnce(u8) -> u8) -> Bytes {
    let mut bytes = owned(batch);
    if let Some(attributes) = bytes.get_mut(CRC_FROM) {
        *attributes = change(*attributes);
    }
    seal(&mut bytes);
    bytes.freeze()
}

/// A marker of the end of a transaction, of which there was none: version and type, then version and the
/// epoch of a coordinator (Kafka's `EndTxnMarker`, committed).
const MARKER: ([u8; 4], [u8; 6]) = ([0, 0, 0, 1], [0; 6]);
/// Where a batch says how far behind its first offset its last one lies.
const LAST_OFFSET_DELTA: std::ops::Range<usize> = CRC_FROM + 2..CRC_FROM + 6;

/// What consumers get in place of a batch: one of the same offsets with a marker, of which they show nothing.
/// One without any record, as compaction leaves them, says the same; but librdkafka takes a response of
/// nothing but those for one that was cut short, doubles what it asks for and in the end reports an error.
pub fn hide(header: &Header) -> Bytes {
    let mut builder = Builder::new(header.base_offset)
        .leader_epoch(header.leader_epoch)
        .transactional()
        .control();
    builder.push(header.max_timestamp, Some(&MARKER.0), Some(&MARKER.1));
    let mut bytes = owned(builder.build().unwrap_or_default());
    if let Some(mut field) = bytes.get_mut(LAST_OFFSET_DELTA) {
        field.put_i32(header.last_offset_delta);
    }
    seal(&mut bytes);
    bytes.freeze()
}

fn seal(bytes: &mut BytesMut) {
    let crc = crc_of(bytes);
    if let Some(mut field) = bytes.get_mut(CRC_FROM - 4..CRC_FROM) {
        field.put_u32(crc);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        Offset,
        batch::{Batch, Builder},
    };

    #[test]
    fn a_time_is_decimal_digits_that_fit() {
        assert_eq!(time(b"1790000000000"), Some(1_790_000_000_000));
        assert_eq!(time(b"9223372036854775807"), Some(i64::MAX));
        for wrong in [
            &b""[..],
            b"-1",
            b"+1",
            b" 1",
            b"1.5",
            b"soon",
            b"9223372036854775808",
            b"00000000000000000000001",
            b"\x00\x00\x01\x9a\x00\x00\x00\x00",
        ] {
            assert_eq!(time(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn consumers_see_the_offsets_of_a_batch_that_waits_and_only_a_marker() {
        let mut builder = Builder::new(Offset(5)).producer(7, 1, 3);
        builder.push(1000, None, Some(b"a"));
        builder.push(1001, None, Some(b"b"));
        let held = Batch::parse(&hold(builder.build().unwrap())).unwrap();
        held.verify_crc().unwrap();
        assert!(held.header.is_held() && held.records().all(|r| r.is_ok()));
        let seen = Batch::parse(&hide(&held.header)).unwrap();
        seen.verify_crc().unwrap();
        assert!(!seen.header.claims_delivery() && seen.header.is_control());
        assert_eq!(seen.header.base_offset, Offset(5));
        assert_eq!(seen.header.next_offset(), held.header.next_offset());
        let plain = Batch::parse(&without_claims(held.bytes)).unwrap();
        plain.verify_crc().unwrap();
        assert!(!plain.header.claims_delivery());
    }
}
