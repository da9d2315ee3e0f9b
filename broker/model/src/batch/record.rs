//! Records inside a batch.

use bytes::Bytes;

use super::{Batch, Header, Invalid, varint};
use crate::Offset;

/// One record. Keys, values and headers are slices of the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub offset: Offset,
    /// Milliseconds since 1970; -1 when unknown.
    pub timestamp: i64,
    pub key: Option<Bytes>,
    /// `None` is a tombstone in a compacted log.
    pub value: Option<Bytes>,
    pub headers: Vec<(Bytes, Option<Bytes>)>,
}

/// Walks the records of an uncompressed payload; ends after the first error.
#[derive(Clone, Debug)]
pub struct Records {
    header: Header,
    payload: Bytes,
    at: usize,
    index: i32,
    done: bool,
    compressed: bool,
}

/// Where the parts of one record lie in the payload, and its deltas. Found without allocating.
pub(super) struct Frame<'a> {
    /// Bytes of the record without the length in front.
    pub bytes: usize,
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// Encoded headers, count already taken off.
    pub headers: &'a [u8],
    pub header_count: i32,
}

// === impl Records ===

impl Records {
    pub(super) fn new(batch: &Batch) -> Self {
        let mut records = Self::of_payload(batch.header, batch.payload());
        records.compressed = batch.header.compression() != 0;
        records
    }

    /// Records of a payload that the caller has inflated.
    pub fn of_payload(header: Header, payload: Bytes) -> Self {
        Self {
            header,
            payload,
            at: 0,
            index: 0,
            done: false,
            compressed: false,
        }
    }

    fn read(&mut self) -> Result<Option<Record>, Invalid> {
        if self.compressed {
            return Err(Invalid::Compressed(self.header.compression()));
        }
        let rest = self.payload.get(self.at..).unwrap_or_default();
        if rest.is_empty() || self.index >= self.header.record_count {
            if rest.is_empty() && self.index == self.header.record_count {
                return Ok(None);
            }
            // One more than stated stands for "more": the rest is not walked.
            return Err(Invalid::Count {
                stated: self.header.record_count,
                found: self.index.saturating_add(i32::from(!rest.is_empty())),
            });
        }
        let mut left = rest;
        let invalid = |what| Invalid::Record {
            index: self.index,
            what,
        };
        let frame = Frame::read(&mut left).map_err(invalid)?;
        let timestamp = if self.header.is_log_append_time() {
            self.header.max_timestamp
        } else {
            self.header
                .base_timestamp
                .wrapping_add(frame.timestamp_delta)
        };
        let record = Record {
            offset: self.header.offset_at(frame.offset_delta),
            timestamp,
            key: frame.key.map(|k| self.payload.slice_ref(k)),
            value: frame.value.map(|v| self.payload.slice_ref(v)),
            headers: frame.headers(&self.payload).map_err(invalid)?,
        };
        self.at = self.payload.len() - left.len();
        self.index += 1;
        Ok(Some(record))
    }
}

impl Iterator for Records {
    type Item = Result<Record, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.read() {
            Ok(Some(record)) => Some(Ok(record)),
            Ok(None) => {
                self.done = true;
                None
            }
            Err(e) => {
                self.done = true;
                Some(Err(e))
            }
        }
    }
}

// === impl Frame ===

impl<'a> Frame<'a> {
    /// Takes one record off `buf`. Headers are only delimited, see [`Self::check_headers`].
    pub(super) fn read(buf: &mut &'a [u8]) -> Result<Self, &'static str> {
        let size = varint::read_i32(buf).ok_or("length is not a varint")?;
        let size = usize::try_from(size).map_err(|_| "length is negative")?;
        let mut body = take(buf, size).ok_or("record is longer than its batch")?;
        take(&mut body, 1).ok_or("attributes are missing")?;
        let timestamp_delta =
            varint::read_i64(&mut body).ok_or("timestamp delta is not a varint")?;
        let offset_delta = varint::read_i32(&mut body).ok_or("offset delta is not a varint")?;
        let key = nullable(&mut body).ok_or("key is longer than its record")?;
        let value = nullable(&mut body).ok_or("value is longer than its record")?;
        let header_count = varint::read_i32(&mut body).ok_or("header count is not a varint")?;
        Ok(Self {
            bytes: size,
            timestamp_delta,
            offset_delta,
            key,
            value,
            headers: body,
            header_count,
        })
    }

    /// Proves the headers well formed without keeping them.
    pub(super) fn check_headers(&self) -> Result<(), &'static str> {
        self.each_header(|_, _| ())
    }

    fn headers(&self, payload: &Bytes) -> Result<Vec<(Bytes, Option<Bytes>)>, &'static str> {
        // Two bytes are the least a header takes, which bounds what a lying count may reserve.
        let stated = usize::try_from(self.header_count).unwrap_or(0);
        let mut headers = Vec::with_capacity(stated.min(self.headers.len() / 2));
        self.each_header(|k, v| {
            headers.push((payload.slice_ref(k), v.map(|v| payload.slice_ref(v))));
        })?;
        Ok(headers)
    }

    pub(super) fn each_header(
        &self,
        mut f: impl FnMut(&'a [u8], Option<&'a [u8]>),
    ) -> Result<(), &'static str> {
        if self.header_count < 0 {
            return Err("header count is negative");
        }
        let mut left = self.headers;
        for _ in 0..self.header_count {
            let key = nullable(&mut left).ok_or("header key is longer than its record")?;
            let value = nullable(&mut left).ok_or("header value is longer than its record")?;
            f(key.ok_or("header key is null")?, value);
        }
        if left.is_empty() {
            Ok(())
        } else {
            Err("bytes are left after the last header")
        }
    }
}

fn take<'a>(buf: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, rest) = buf.split_at_checked(n)?;
    *buf = rest;
    Some(head)
}

/// Outer `None` = malformed, inner `None` = null.
#[allow(clippy::option_option)]
fn nullable<'a>(buf: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match varint::read_i32(buf)? {
        -1 => Some(None),
        n => take(buf, usize::try_from(n).ok()?).map(Some),
    }
}
