//! One record that waits, as it is known while its bytes stay in the log.

use bytes::{Buf, BufMut};
use model::{Offset, batch::Record};

/// Due first, first; of those due together the one that came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// As the record says, milliseconds since 1970; `i64::MIN` of one that does not and came in the same
    /// batch as one that does.
    pub(super) due_ms: i64,
    /// Where it waits.
    pub(super) offset: Offset,
    pub(super) size_bytes: u32,
}

/// Bytes of an entry in a file.
pub(super) const ENTRY_BYTES: usize = 20;

impl Entry {
    pub(super) fn of(record: &Record) -> Self {
        let len = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len);
        let headers: usize = record
            .headers
            .iter()
            .map(|(key, value)| key.len() + len(value))
            .sum();
        let size = len(&record.key) + len(&record.value) + headers;
        Self {
            due_ms: due_ms(record),
            offset: record.offset,
            size_bytes: u32::try_from(size).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn put(&self, out: &mut impl BufMut) {
        out.put_i64(self.due_ms);
        out.put_i64(self.offset.0);
        out.put_u32(self.size_bytes);
    }

    /// `None` when the bytes do not reach.
    pub(super) fn take(bytes: &mut impl Buf) -> Option<Self> {
        Some(Self {
            due_ms: bytes.try_get_i64().ok()?,
            offset: Offset(bytes.try_get_i64().ok()?),
            size_bytes: bytes.try_get_u32().ok()?,
        })
    }
}

pub(super) fn due_ms(record: &Record) -> i64 {
    model::batch::deliver_at(&record.headers).unwrap_or(i64::MIN)
}
