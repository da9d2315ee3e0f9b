//! [`Writer`]: the primitives every message is written with.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use uuid::Uuid;

use crate::records::Records;

/// Byte strings from this size on are passed along in place of being copied.
const SHARED_BYTES_MIN: usize = 4_096;

/// Bytes of the length in front of a frame.
const FRAME_LENGTH_BYTES: usize = 4;
/// Room a frame starts with: most replies fit.
const FRAME_CAPACITY: usize = 512;

/// The first value that a message's version cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("field {0} is null where this version requires a value")]
    Null(&'static str),
    #[error("field {0} is set, and this version has no place for it")]
    Absent(&'static str),
    #[error("{0} bytes or elements do not fit the length in front of them")]
    Length(usize),
}

/// Collects one message. Errors are sticky: the first is reported by [`Writer::finish`], so that
/// generated code stays a list of plain calls.
#[derive(Debug, Default)]
pub struct Writer {
    /// What was closed when a shared piece followed.
    pieces: Vec<Bytes>,
    tail: BytesMut,
    flexible: bool,
    error: Option<EncodeError>,
}

/// A tagged section under construction.
#[derive(Debug, Default)]
pub struct TaggedFields {
    count: u32,
    content: BytesMut,
}

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            tail: BytesMut::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// Begins a frame: room for the length that [`Writer::finish_frame`] fills in.
    pub fn frame() -> Self {
        let mut writer = Self::with_capacity(FRAME_CAPACITY);
        writer.int32(0);
        writer
    }

    /// Switches between fixed-width and compact lengths.
    pub fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum::<usize>() + self.tail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces of the message, in order. Large byte strings are pieces of their own.
    ///
    /// # Errors
    /// The first value that did not fit.
    pub fn finish(mut self) -> Result<Vec<Bytes>, EncodeError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.tail.is_empty() {
            self.pieces.push(self.tail.freeze());
        }
        Ok(self.pieces)
    }

    /// The message as one buffer; copies when it has shared pieces.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_bytes(self) -> Result<Bytes, EncodeError> {
        self.finish()
            .map(|pieces| Records::from(pieces).into_bytes())
    }

    /// The message as a frame: its length in front. `self` must have been begun by
    /// [`Writer::frame`].
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_frame(mut self) -> Result<Vec<Bytes>, EncodeError> {
        let len = self.len().saturating_sub(FRAME_LENGTH_BYTES);
        let Ok(length) = i32::try_from(len) else {
            return Err(self.error.unwrap_or(EncodeError::Length(len)));
        };
        let length = length.to_be_bytes();
        if self.pieces.is_empty() {
            if let Some(room) = self.tail.first_chunk_mut() {
                *room = length;
            }
            return self.finish();
        }
        // The first piece is shared by now: a fresh length stands in front of the rest of it.
        let mut pieces = self.finish()?;
        if let Some(first) = pieces.first_mut() {
            first.advance(FRAME_LENGTH_BYTES);
        }
        pieces.insert(0, Bytes::copy_from_slice(&length));
        Ok(pieces)
    }

    fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    /// Fails the message: `field` is null and this version has no null for it.
    pub fn refuse_null(&mut self, field: &'static str) {
        self.fail(EncodeError::Null(field));
    }

    /// Fails the message when `field`, which this version lacks, is set to more than its default.
    pub fn refuse_set(&mut self, set: bool, field: &'static str) {
        if set {
            self.fail(EncodeError::Absent(field));
        }
    }

    // === numbers ===

    pub fn bool(&mut self, value: bool) {
        self.tail.put_u8(u8::from(value));
    }

    pub fn int8(&mut self, value: i8) {
        self.tail.put_i8(value);
    }

    pub fn int16(&mut self, value: i16) {
        self.tail.put_i16(value);
    }

    pub fn uint16(&mut self, value: u16) {
        self.tail.put_u16(value);
    }

    pub fn int32(&mut self, value: i32) {
        self.tail.put_i32(value);
    }

    pub fn uint32(&mut self, value: u32) {
        self.tail.put_u32(value);
    }

    pub fn int64(&mut self, value: i64) {
        self.tail.put_i64(value);
    }

    pub fn float64(&mut self, value: f64) {
        self.tail.put_f64(value);
    }

    pub fn uuid(&mut self, value: Uuid) {
        self.tail.put_slice(value.as_bytes());
    }

    /// Unsigned LEB128.
    pub fn uvarint(&mut self, value: u32) {
        put_uvarint(&mut self.tail, value);
    }

    // === lengths ===

    fn compact_len(&mut self, len: Option<usize>) {
        match u32::try_from(len.map_or(0, |len| len.saturating_add(1))) {
            Ok(raw) => self.uvarint(raw),
            Err(_) => self.fail(EncodeError::Length(len.unwrap_or_default())),
        }
    }

    fn len16(&mut self, len: Option<usize>) {
        match len.map_or(Ok(-1), i16::try_from) {
            Ok(raw) => self.int16(raw),
            Err(_) => self.fail(EncodeError::Length(len.unwrap_or_default())),
        }
    }

    fn len32(&mut self, len: Option<usize>) {
        match len.map_or(Ok(-1), i32::try_from) {
            Ok(raw) => self.int32(raw),
            Err(_) => self.fail(EncodeError::Length(len.unwrap_or_default())),
        }
    }

    /// Length of a byte string or count of an array; `None` is null.
    pub fn len_prefix(&mut self, len: Option<usize>) {
        if self.flexible {
            self.compact_len(len);
        } else {
            self.len32(len);
        }
    }

    // === text and bytes ===

    pub fn string(&mut self, value: Option<&str>) {
        if let Some(text) = value
            && text.len() > i16::MAX as usize
        {
            return self.fail(EncodeError::Length(text.len()));
        }
        if self.flexible {
            self.compact_len(value.map(str::len));
        } else {
            self.len16(value.map(str::len));
        }
        self.tail.put_slice(value.unwrap_or_default().as_bytes());
    }

    /// A string with a two-byte length in every version, as the client id of a request header.
    pub fn fixed_string(&mut self, value: Option<&str>) {
        self.len16(value.map(str::len));
        self.tail.put_slice(value.unwrap_or_default().as_bytes());
    }

    pub fn bytes(&mut self, value: Option<&Bytes>) {
        self.len_prefix(value.map(Bytes::len));
        if let Some(bytes) = value {
            self.piece(bytes);
        }
    }

    pub fn records(&mut self, value: Option<&Records>) {
        self.len_prefix(value.map(Records::len));
        for piece in value.map_or(&[][..], Records::pieces) {
            self.piece(piece);
        }
    }

    fn piece(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARED_BYTES_MIN {
            self.tail.put_slice(bytes);
            return;
        }
        let before = self.tail.split().freeze();
        if !before.is_empty() {
            self.pieces.push(before);
        }
        self.pieces.push(bytes.clone());
    }

    // === arrays and structs ===

    pub fn array<T>(&mut self, value: Option<&[T]>, mut element: impl FnMut(&mut Self, &T)) {
        self.len_prefix(value.map(<[T]>::len));
        for item in value.unwrap_or_default() {
            element(self, item);
        }
    }

    /// A struct that may be null: one byte, -1 for null, before its fields.
    pub fn nullable_struct<T>(&mut self, value: Option<&T>, fields: impl FnOnce(&mut Self, &T)) {
        self.int8(if value.is_some() { 1 } else { -1 });
        if let Some(value) = value {
            fields(self, value);
        }
    }

    /// Adds one field to a tagged section; tags must rise.
    pub fn tagged_field(
        &mut self,
        fields: &mut TaggedFields,
        tag: u32,
        content: impl FnOnce(&mut Self),
    ) {
        let mut inner = Self {
            flexible: true,
            ..Self::default()
        };
        content(&mut inner);
        match inner.finish() {
            Ok(pieces) => {
                let size = pieces.iter().map(Bytes::len).sum::<usize>();
                let Ok(size) = u32::try_from(size) else {
                    return self.fail(EncodeError::Length(size));
                };
                fields.count += 1;
                put_uvarint(&mut fields.content, tag);
                put_uvarint(&mut fields.content, size);
                for piece in pieces {
                    fields.content.put_slice(&piece);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Ends a struct: its tagged section in a flexible version, nothing otherwise.
    pub fn end_struct(&mut self, fields: &TaggedFields) {
        if self.flexible {
            self.uvarint(fields.count);
            self.tail.put_slice(&fields.content);
        }
    }

    /// Ends a struct that has no tagged fields.
    pub fn end_plain_struct(&mut self) {
        if self.flexible {
            self.uvarint(0);
        }
    }
}

fn put_uvarint(buf: &mut BytesMut, mut value: u32) {
    while value >= 0x80 {
        buf.put_u8((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    buf.put_u8(value as u8);
}

#[cfg(test)]
mod tests;
