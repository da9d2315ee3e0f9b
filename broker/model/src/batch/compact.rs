//! What compaction leaves of a batch: fewer records, at the offsets and times they had.

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    COMPRESSION_MASK, CRC_FROM, DELETE_HORIZON, HEADER_BYTES, Header, Invalid, PREFIX_BYTES,
    crc_of, record::Frame, varint,
};
use crate::Offset;

/// What is known of a record when it has to be decided on.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub offset: Offset,
    pub key: Option<&'a [u8]>,
    /// It says that its key is gone.
    pub is_tombstone: bool,
}

/// Some records of a batch, with the header they had.
#[derive(Clone, Debug)]
pub struct Kept {
    header: Header,
    /// Records one after another, encoded against `header.base_timestamp`.
    records: BytesMut,
    count: i32,
    max_timestamp: i64,
    tombstones: bool,
}

impl Header {
    /// When tombstones of this batch may go, milliseconds since 1970; `None` while no compaction has
    /// seen them (KIP-534).
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        (self.attributes & DELETE_HORIZON != 0).then_some(self.base_timestamp)
    }
}

impl Kept {
    /// The records of an inflated payload for which `keep` holds.
    ///
    /// # Errors
    /// As [`super::Records`]: the payload is not what the header says.
    pub fn of(
        header: &Header,
        payload: &[u8],
        mut keep: impl FnMut(Candidate<'_>) -> bool,
    ) -> Result<Self, Invalid> {
        let mut kept = Self {
            header: *header,
            records: BytesMut::new(),
            count: 0,
            max_timestamp: -1,
            tombstones: false,
        };
        let mut left = payload;
        let mut index = 0;
        while !left.is_empty() {
            let before = left;
            let frame = Frame::read(&mut left).map_err(|what| Invalid::Record { index, what })?;
            index += 1;
            let is_tombstone = frame.value.is_none();
            let candidate = Candidate {
                offset: header.offset_at(frame.offset_delta),
                key: frame.key,
                is_tombstone,
            };
            if !keep(candidate) {
                continue;
            }
            let size = before.len() - left.len();
            kept.records
                .put_slice(before.get(..size).unwrap_or_default());
            kept.count += 1;
            let timestamp = header.base_timestamp.wrapping_add(frame.timestamp_delta);
            kept.max_timestamp = kept.max_timestamp.max(timestamp);
            kept.tombstones |= is_tombstone;
        }
        if index != header.record_count {
            return Err(Invalid::Count {
                stated: header.record_count,
                found: index,
            });
        }
        Ok(kept)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Every record of the batch.
    pub fn is_all(&self) -> bool {
        self.count == self.header.record_count
    }

    /// A record says that its key is gone, and no compaction has set a time for it to go.
    pub fn wants_horizon(&self) -> bool {
        self.tombstones && self.header.delete_horizon_ms().is_none()
    }

    /// Sets when tombstones may go. The base timestamp's place holds it from now on, so the records'
    /// own times are written anew against it.
    ///
    /// # Errors
    /// [`Invalid::Record`], which [`Self::of`] would have found before.
    #[must_use = "the batch without a horizon is used up"]
    pub fn with_horizon(mut self, at_ms: i64) -> Result<Self, Invalid> {
        let moved = self.header.base_timestamp.wrapping_sub(at_ms);
        let mut records = BytesMut::with_capacity(self.records.len() + 8);
        let mut left: &[u8] = &self.records;
        let mut index = 0;
        while !left.is_empty() {
            let at = |what| Invalid::Record { index, what };
            let size = varint::read_i32(&mut left)
                .and_then(|size| usize::try_from(size).ok())
                .ok_or_else(|| at("length is not a varint"))?;
            let (body, rest) = left
                .split_at_checked(size)
                .ok_or_else(|| at("record is longer than its batch"))?;
            left = rest;
            let (attributes, mut body) = body
                .split_first()
                .ok_or_else(|| at("attributes are missing"))?;
            let delta = varint::read_i64(&mut body)
                .ok_or_else(|| at("timestamp delta is not a varint"))?
                .wrapping_add(moved);
            varint::write_len(&mut records, Some(1 + varint::size_i64(delta) + body.len()));
            records.put_u8(*attributes);
            varint::write_i64(&mut records, delta);
            records.put_slice(body);
            index += 1;
        }
        self.records = records;
        self.header.base_timestamp = at_ms;
        self.header.attributes |= DELETE_HORIZON;
        Ok(self)
    }

    /// The records, to be compressed as the batch was.
    pub fn payload(&self) -> &[u8] {
        &self.records
    }

    /// Seals the batch anew around `payload`: [`Self::payload`], compressed with the codec of the
    /// batch. It spans the offsets it did, with or without records; without, it is not compressed, as
    /// clients would try to inflate nothing.
    pub fn build(&self, payload: &[u8]) -> Bytes {
        let max_timestamp = if self.header.is_log_append_time() || self.is_empty() {
            self.header.max_timestamp
        } else {
            self.max_timestamp
        };
        let mut bytes = BytesMut::with_capacity(HEADER_BYTES + payload.len());
        let length = HEADER_BYTES - PREFIX_BYTES + payload.len();
        let h = &self.header;
        bytes.put_i64(h.base_offset.0);
        bytes.put_i32(i32::try_from(length).unwrap_or(i32::MAX));
        bytes.put_i32(h.leader_epoch.0);
        bytes.put_i8(h.magic);
        bytes.put_u32(0);
        bytes.put_i16(if self.is_empty() {
            h.attributes & !COMPRESSION_MASK
        } else {
            h.attributes
        });
        bytes.put_i32(h.last_offset_delta);
        bytes.put_i64(h.base_timestamp);
        bytes.put_i64(max_timestamp);
        bytes.put_i64(h.producer_id);
        bytes.put_i16(h.producer_epoch);
        bytes.put_i32(h.base_sequence);
        bytes.put_i32(self.count);
        bytes.put_slice(payload);
        let crc = crc_of(&bytes);
        if let Some(mut field) = bytes.get_mut(CRC_FROM - 4..CRC_FROM) {
            field.put_u32(crc);
        }
        bytes.freeze()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::batch::{Batch, Builder, Record};

    fn batch(records: &[(&str, Option<&str>)]) -> Batch {
        let mut builder = Builder::new(Offset(10)).producer(7, 1, 5);
        for (i, (key, value)) in records.iter().enumerate() {
            let timestamp = 1000 + i64::try_from(i).unwrap();
            builder.push(timestamp, Some(key.as_bytes()), value.map(str::as_bytes));
        }
        Batch::parse(&builder.build().unwrap()).unwrap()
    }

    fn kept(batch: &Batch, keep: impl Fn(i64) -> bool) -> Kept {
        Kept::of(&batch.header, &batch.payload(), |c| keep(c.offset.0)).unwrap()
    }

    fn rebuilt(kept: &Kept) -> Batch {
        let batch = Batch::parse(&kept.build(kept.payload())).unwrap();
        batch.verify_crc().unwrap();
        batch
    }

    fn records(batch: &Batch) -> Vec<Record> {
        batch.records().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn kept_records_have_their_offsets_and_times_and_the_batch_its_span() {
        let before = batch(&[("a", Some("1")), ("b", Some("2")), ("c", Some("3"))]);
        let after = rebuilt(&kept(&before, |offset| offset != 11));
        assert_eq!(after.header.base_offset, Offset(10));
        assert_eq!(after.header.next_offset(), Offset(13));
        assert_eq!(after.header.record_count, 2);
        let mut expected = records(&before);
        expected.remove(1);
        assert_eq!(records(&after), expected);
        let sequences = |h: &Header| (h.producer_id, h.producer_epoch, h.base_sequence);
        assert_eq!(sequences(&after.header), sequences(&before.header));
    }

    #[test]
    fn newest_time_is_that_of_what_is_left() {
        let before = batch(&[("a", Some("1")), ("b", Some("2"))]);
        let after = rebuilt(&kept(&before, |offset| offset == 10));
        assert_eq!(after.header.max_timestamp, 1000);
        let none = rebuilt(&kept(&before, |_| false));
        assert_eq!(
            (none.header.record_count, none.header.max_timestamp),
            (0, 1001)
        );
        assert_eq!(records(&none), []);
        assert_eq!(none.header.next_offset(), Offset(12));
    }

    #[test]
    fn batch_without_records_is_not_compressed() {
        let mut before = kept(&batch(&[("a", Some("1"))]), |_| false);
        before.header.attributes |= 4;
        assert_eq!(rebuilt(&before).header.compression(), 0);
    }

    #[test]
    fn horizon_changes_no_record() {
        let before = batch(&[("a", None), ("b", Some("2"))]);
        let all = kept(&before, |_| true);
        assert!(all.is_all() && all.wants_horizon());
        for at_ms in [5_000_000_000_000, 0] {
            let after = rebuilt(&all.clone().with_horizon(at_ms).unwrap());
            assert_eq!(after.header.delete_horizon_ms(), Some(at_ms));
            assert_eq!(records(&after), records(&before));
            let again = kept(&after, |_| true);
            assert!(!again.wants_horizon());
        }
        assert_eq!(before.header.delete_horizon_ms(), None);
    }

    #[test]
    fn payload_that_is_not_what_the_header_says_is_refused() {
        let batch = batch(&[("a", Some("1")), ("b", Some("2"))]);
        let payload = batch.payload();
        for cut in 1..payload.len() {
            assert!(Kept::of(&batch.header, &payload[..cut], |_| true).is_err());
        }
    }
}
