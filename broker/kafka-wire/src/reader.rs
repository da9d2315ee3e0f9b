//! [`Reader`]: the primitives every message is read with, and every limit on what a stranger may send.

use bytes::{Buf, Bytes};
use uuid::Uuid;

use crate::records::Records;
use crate::string::Str;

/// Array elements in one message, over all its arrays. Kafka 4.4 allows as many in each array.
pub const ELEMENTS_MAX: usize = 1_000_000;
/// Tagged fields in one section.
pub const TAGGED_FIELDS_MAX: u32 = 10_000;
/// Elements an array makes room for before any of them is read.
const PREALLOCATED_MAX: usize = 1_024;

/// Why bytes are not the message they claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("{needed} bytes needed where {remaining} are left")]
    Truncated { needed: usize, remaining: usize },
    #[error("length {0} is out of range")]
    Length(i64),
    #[error("{count} array elements where {allowed} are allowed")]
    TooManyElements { count: usize, allowed: usize },
    #[error("{0} tagged fields in one section")]
    TooManyTaggedFields(u32),
    #[error("tagged field {tag} leaves {left} of its bytes unread")]
    TaggedFieldSize { tag: u32, left: usize },
    #[error("null where a value is required")]
    UnexpectedNull,
    #[error("varint is longer than five bytes or out of range")]
    Varint,
    #[error("text is not UTF-8")]
    Utf8,
    #[error("{0} bytes follow the message")]
    TrailingBytes(usize),
}

type Result<T> = std::result::Result<T, DecodeError>;

/// A cursor over one message. Text and bytes it hands out share the buffer.
#[derive(Debug)]
pub struct Reader {
    buf: Bytes,
    /// Compact lengths and tagged sections; set by the message being read.
    flexible: bool,
    elements_left: usize,
}

impl Reader {
    pub fn new(buf: Bytes) -> Self {
        Self {
            buf,
            flexible: false,
            elements_left: ELEMENTS_MAX,
        }
    }

    /// Switches between fixed-width and compact lengths.
    pub fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    pub fn remaining(&self) -> usize {
        self.buf.len()
    }

    /// # Errors
    /// When bytes are left.
    pub fn finish(&self) -> Result<()> {
        match self.buf.len() {
            0 => Ok(()),
            left => Err(DecodeError::TrailingBytes(left)),
        }
    }

    // === numbers ===

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some(head) = self.buf.first_chunk::<N>() else {
            return Err(DecodeError::Truncated {
                needed: N,
                remaining: self.buf.len(),
            });
        };
        let head = *head;
        self.buf.advance(N);
        Ok(head)
    }

    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.int8()? != 0)
    }

    pub fn int8(&mut self) -> Result<i8> {
        self.fixed().map(i8::from_be_bytes)
    }

    pub fn int16(&mut self) -> Result<i16> {
        self.fixed().map(i16::from_be_bytes)
    }

    pub fn uint16(&mut self) -> Result<u16> {
        self.fixed().map(u16::from_be_bytes)
    }

    pub fn int32(&mut self) -> Result<i32> {
        self.fixed().map(i32::from_be_bytes)
    }

    pub fn uint32(&mut self) -> Result<u32> {
        self.fixed().map(u32::from_be_bytes)
    }

    pub fn int64(&mut self) -> Result<i64> {
        self.fixed().map(i64::from_be_bytes)
    }

    pub fn float64(&mut self) -> Result<f64> {
        self.fixed().map(f64::from_be_bytes)
    }

    pub fn uuid(&mut self) -> Result<Uuid> {
        self.fixed().map(Uuid::from_bytes)
    }

    /// Unsigned LEB128 in at most five bytes.
    pub fn uvarint(&mut self) -> Result<u32> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.fixed::<1>()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| DecodeError::Varint);
            }
        }
        Err(DecodeError::Varint)
    }

    // === lengths ===

    /// `None` is null.
    fn compact_len(&mut self) -> Result<Option<usize>> {
        Ok((self.uvarint()? as usize).checked_sub(1))
    }

    fn len16(&mut self) -> Result<Option<usize>> {
        signed_len(i64::from(self.int16()?))
    }

    fn len32(&mut self) -> Result<Option<usize>> {
        signed_len(i64::from(self.int32()?))
    }

    fn take(&mut self, len: usize) -> Result<Bytes> {
        if len > self.buf.len() {
            return Err(DecodeError::Truncated {
                needed: len,
                remaining: self.buf.len(),
            });
        }
        Ok(self.buf.split_to(len))
    }

    // === text and bytes ===

    pub fn nullable_string(&mut self) -> Result<Option<Str>> {
        let len = if self.flexible {
            self.compact_len()?
        } else {
            self.len16()?
        };
        len.map(|len| self.text(len)).transpose()
    }

    pub fn string(&mut self) -> Result<Str> {
        self.nullable_string()?.ok_or(DecodeError::UnexpectedNull)
    }

    /// A string with a two-byte length in every version, as the client id of a request header.
    pub fn fixed_nullable_string(&mut self) -> Result<Option<Str>> {
        self.len16()?.map(|len| self.text(len)).transpose()
    }

    fn text(&mut self, len: usize) -> Result<Str> {
        if len > i16::MAX as usize {
            return Err(DecodeError::Length(len as i64));
        }
        Str::from_utf8(self.take(len)?).map_err(|_| DecodeError::Utf8)
    }

    pub fn nullable_bytes(&mut self) -> Result<Option<Bytes>> {
        let len = if self.flexible {
            self.compact_len()?
        } else {
            self.len32()?
        };
        len.map(|len| self.take(len)).transpose()
    }

    pub fn bytes(&mut self) -> Result<Bytes> {
        self.nullable_bytes()?.ok_or(DecodeError::UnexpectedNull)
    }

    pub fn nullable_records(&mut self) -> Result<Option<Records>> {
        Ok(self.nullable_bytes()?.map(Records::from))
    }

    pub fn records(&mut self) -> Result<Records> {
        self.bytes().map(Records::from)
    }

    // === arrays ===

    /// `element_bytes_min` is the least one element can take on the wire; a count that cannot fit
    /// in what is left is refused before anything is allocated.
    pub fn nullable_array<T>(
        &mut self,
        element_bytes_min: usize,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let count = if self.flexible {
            self.compact_len()?
        } else {
            self.len32()?
        };
        let Some(count) = count else { return Ok(None) };
        self.claim_elements(count, element_bytes_min)?;
        let mut array = Vec::with_capacity(count.min(PREALLOCATED_MAX));
        for _ in 0..count {
            array.push(element(self)?);
        }
        Ok(Some(array))
    }

    pub fn array<T>(
        &mut self,
        element_bytes_min: usize,
        element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.nullable_array(element_bytes_min, element)?
            .ok_or(DecodeError::UnexpectedNull)
    }

    fn claim_elements(&mut self, count: usize, element_bytes_min: usize) -> Result<()> {
        let fitting = self.buf.len() / element_bytes_min.max(1);
        let allowed = fitting.min(self.elements_left);
        if count > allowed {
            return Err(DecodeError::TooManyElements { count, allowed });
        }
        self.elements_left -= count;
        Ok(())
    }

    // === structs ===

    /// A struct that may be null: one byte, -1 for null, before its fields.
    pub fn nullable_struct<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.int8()? < 0 {
            return Ok(None);
        }
        fields(self).map(Some)
    }

    /// The tagged section that ends every struct of a flexible version; nothing otherwise. `field`
    /// reads a tag it knows from a reader that holds just its content, and answers whether it did;
    /// unknown ones are skipped.
    pub fn tagged_fields(
        &mut self,
        mut field: impl FnMut(&mut Self, u32) -> Result<bool>,
    ) -> Result<()> {
        if !self.flexible {
            return Ok(());
        }
        let count = self.uvarint()?;
        if count > TAGGED_FIELDS_MAX {
            return Err(DecodeError::TooManyTaggedFields(count));
        }
        for _ in 0..count {
            let tag = self.uvarint()?;
            let size = self.uvarint()? as usize;
            let mut content = Self {
                buf: self.take(size)?,
                flexible: true,
                elements_left: self.elements_left,
            };
            let known = field(&mut content, tag)?;
            self.elements_left = content.elements_left;
            let left = content.remaining();
            if known && left > 0 {
                return Err(DecodeError::TaggedFieldSize { tag, left });
            }
        }
        Ok(())
    }

    /// The tagged section of a struct that has no tagged fields of its own.
    pub fn skip_tagged_fields(&mut self) -> Result<()> {
        self.tagged_fields(|_, _| Ok(false))
    }
}

fn signed_len(len: i64) -> Result<Option<usize>> {
    match len {
        -1 => Ok(None),
        _ => usize::try_from(len)
            .map(Some)
            .map_err(|_| DecodeError::Length(len)),
    }
}

#[cfg(test)]
mod tests;
