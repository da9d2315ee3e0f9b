//! Making an uncompressed batch: what coordinators, queue stores and tests write.

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    CONTROL, CRC_FROM, HANDED_OVER, HEADER_BYTES, MAGIC, PREFIX_BYTES, Record, TRANSACTIONAL,
    crc_of, varint,
};
use crate::{Epoch, Offset};

/// Collects records with consecutive offsets into one batch.
///
/// A batch of no records is not a batch: [`Self::build`] answers `None`.
#[derive(Clone, Debug)]
pub struct Builder {
    base_offset: Offset,
    leader_epoch: Epoch,
    attributes: i16,
    base_timestamp: i64,
    max_timestamp: i64,
    producer: (i64, i16, i32),
    count: i32,
    records: BytesMut,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new(Offset(0))
    }
}

impl Builder {
    /// A batch whose first record has `base_offset`: 0 when a leader will place it.
    pub fn new(base_offset: Offset) -> Self {
        let mut records = BytesMut::with_capacity(512);
        records.put_bytes(0, HEADER_BYTES);
        Self {
            base_offset,
            leader_epoch: Epoch::UNKNOWN,
            attributes: 0,
            base_timestamp: -1,
            max_timestamp: -1,
            producer: (-1, -1, -1),
            count: 0,
            records,
        }
    }

    #[must_use]
    pub fn leader_epoch(mut self, epoch: Epoch) -> Self {
        self.leader_epoch = epoch;
        self
    }

    /// Idempotent producer: id, epoch and the sequence of the first record.
    #[must_use]
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer = (id, epoch, base_sequence);
        self
    }

    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.attributes |= TRANSACTIONAL;
        self
    }

    /// Marks the batch as a transaction marker.
    #[must_use]
    pub fn control(mut self) -> Self {
        self.attributes |= CONTROL;
        self
    }

    /// Marks the batch as one with which records come that waited elsewhere.
    #[must_use]
    pub fn handed_over(mut self) -> Self {
        self.attributes |= HANDED_OVER;
        self
    }

    /// Adds a record without headers. `timestamp` is in milliseconds since 1970.
    pub fn push(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> &mut Self {
        self.push_with_headers(timestamp, key, value, &[])
    }

    /// Adds a record; its own `offset` is ignored, offsets are consecutive.
    pub fn push_record(&mut self, record: &Record) -> &mut Self {
        let headers: Vec<(&[u8], Option<&[u8]>)> = record
            .headers
            .iter()
            .map(|(k, v)| (k.as_ref(), v.as_deref()))
            .collect();
        self.push_with_headers(
            record.timestamp,
            record.key.as_deref(),
            record.value.as_deref(),
            &headers,
        )
    }

    pub fn push_with_headers(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&[u8], Option<&[u8]>)],
    ) -> &mut Self {
        if self.count == 0 {
            self.base_timestamp = timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        let delta = timestamp.wrapping_sub(self.base_timestamp);
        let body = 1
            + varint::size_i64(delta)
            + varint::size_i64(i64::from(self.count))
            + size_nullable(key)
            + size_nullable(value)
            + size_len(headers.len())
            + headers
                .iter()
                .map(|(k, v)| size_nullable(Some(k)) + size_nullable(*v))
                .sum::<usize>();
        let out = &mut self.records;
        varint::write_len(out, Some(body));
        out.put_u8(0);
        varint::write_i64(out, delta);
        varint::write_i64(out, i64::from(self.count));
        put_nullable(out, key);
        put_nullable(out, value);
        varint::write_len(out, Some(headers.len()));
        for (k, v) in headers {
            put_nullable(out, Some(k));
            put_nullable(out, *v);
        }
        self.count += 1;
        self
    }

    /// Records so far.
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that the batch has so far, header included.
    pub fn size_bytes(&self) -> usize {
        self.records.len()
    }

    /// Seals the batch; `None` when it has no record.
    pub fn build(self) -> Option<Bytes> {
        if self.count == 0 {
            return None;
        }
        let mut bytes = self.records;
        let length = i32::try_from(bytes.len() - PREFIX_BYTES).unwrap_or(i32::MAX);
        let mut h: &mut [u8] = bytes.as_mut();
        h.put_i64(self.base_offset.0);
        h.put_i32(length);
        h.put_i32(self.leader_epoch.0);
        h.put_i8(MAGIC);
        h.put_u32(0);
        h.put_i16(self.attributes);
        h.put_i32(self.count - 1);
        h.put_i64(self.base_timestamp);
        h.put_i64(self.max_timestamp);
        h.put_i64(self.producer.0);
        h.put_i16(self.producer.1);
        h.put_i32(self.producer.2);
        h.put_i32(self.count);
        let crc = crc_of(&bytes);
        if let Some(mut field) = bytes.get_mut(CRC_FROM - 4..CRC_FROM) {
            field.put_u32(crc);
        }
        Some(bytes.freeze())
    }
}

fn size_len(len: usize) -> usize {
    varint::size_i64(i64::try_from(len).unwrap_or(i64::MAX))
}

fn size_nullable(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |b| size_len(b.len()) + b.len())
}

fn put_nullable(out: &mut BytesMut, bytes: Option<&[u8]>) {
    varint::write_len(out, bytes.map(<[u8]>::len));
    out.put_slice(bytes.unwrap_or_default());
}
