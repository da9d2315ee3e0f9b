//! The elementary domains of AMQP (section 4.2.5 of the specification): octet, short, long,
//! longlong, bit, short and long string, as methods carry them.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::table::{self, Table};

/// Why bytes are not the field they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("a {field} ends {missing} bytes early")]
    Truncated { field: &'static str, missing: usize },
    #[error("a short string is not UTF-8")]
    NotUtf8,
    #[error("unknown field type {tag:#04x} in a table")]
    UnknownTag { tag: u8 },
    #[error("tables nest deeper than {}", table::DEPTH_MAX)]
    TooDeep,
    #[error("{count} bytes follow the last field")]
    Trailing { count: usize },
    #[error("property flags continue past the properties of class basic")]
    PropertyFlags,
}

/// At most 255 bytes of UTF-8. A slice of the frame it came in, so keeping one for long keeps that
/// read buffer: turn it into an owned string where it outlives its frame.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortStr(Bytes);

impl ShortStr {
    pub const LEN_MAX: usize = 255;

    /// The longest prefix of `text` that fits.
    #[must_use]
    pub fn truncated(text: &str) -> Self {
        let mut end = text.len().min(Self::LEN_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(Bytes::copy_from_slice(
            text.get(..end).unwrap_or_default().as_bytes(),
        ))
    }

    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        assert!(text.len() <= Self::LEN_MAX);
        Self(Bytes::from_static(text.as_bytes()))
    }

    fn from_wire(bytes: Bytes) -> Result<Self, Invalid> {
        match std::str::from_utf8(&bytes) {
            Ok(_) => Ok(Self(bytes)),
            Err(_) => Err(Invalid::NotUtf8),
        }
    }

    /// Checked again here because the crate forbids unsafe code; short strings make that cheap.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::ops::Deref for ShortStr {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl std::fmt::Debug for ShortStr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

impl std::fmt::Display for ShortStr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

impl From<&str> for ShortStr {
    fn from(text: &str) -> Self {
        Self::truncated(text)
    }
}

/// A type that a method can carry.
pub trait Field: Sized {
    /// # Errors
    /// [`Invalid`] when the bytes left do not hold one.
    fn read(from: &mut Reader) -> Result<Self, Invalid>;
    fn write(&self, to: &mut Writer<'_>);
}

/// Walks over the payload of one frame.
pub struct Reader {
    bytes: Bytes,
    /// Bits of the current octet not given out yet, and how many.
    bits: u8,
    bits_left: u8,
}

impl Reader {
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            bits: 0,
            bits_left: 0,
        }
    }

    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    pub fn read<F: Field>(&mut self) -> Result<F, Invalid> {
        F::read(self)
    }

    /// # Errors
    /// [`Invalid::Trailing`] when bytes are left.
    pub fn finish(self) -> Result<(), Invalid> {
        match self.bytes.len() {
            0 => Ok(()),
            count => Err(Invalid::Trailing { count }),
        }
    }

    pub(crate) fn take(&mut self, field: &'static str, len: usize) -> Result<Bytes, Invalid> {
        self.bits_left = 0;
        match len.checked_sub(self.bytes.len()) {
            None | Some(0) => Ok(self.bytes.split_to(len)),
            Some(missing) => Err(Invalid::Truncated { field, missing }),
        }
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], Invalid> {
        self.bits_left = 0;
        match self.bytes.first_chunk::<N>() {
            Some(&chunk) => {
                self.bytes.advance(N);
                Ok(chunk)
            }
            None => Err(Invalid::Truncated {
                field,
                missing: N - self.bytes.len(),
            }),
        }
    }
}

/// Appends fields to an output buffer.
pub struct Writer<'a> {
    pub(crate) out: &'a mut BytesMut,
    bits: u8,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut BytesMut) -> Self {
        Self { out, bits: 0 }
    }

    pub fn write<F: Field>(&mut self, field: &F) {
        field.write(self);
    }

    /// A short string; what is longer than it can be is cut.
    pub fn write_text(&mut self, text: &str) {
        if text.len() > ShortStr::LEN_MAX {
            return self.write(&ShortStr::truncated(text));
        }
        let out = self.put();
        out.put_u8(u8::try_from(text.len()).unwrap_or(u8::MAX));
        out.put_slice(text.as_bytes());
    }

    pub(crate) fn put(&mut self) -> &mut BytesMut {
        self.bits = 0;
        self.out
    }

    /// Runs `fill`, then writes the number of bytes it added in the four bytes before them.
    pub(crate) fn length_prefixed(&mut self, fill: impl FnOnce(&mut Writer<'_>)) {
        let at = self.put().len();
        self.put().put_u32(0);
        fill(self);
        let len = u32::try_from(self.out.len() - at - 4).unwrap_or(u32::MAX);
        if let Some(prefix) = self.out.get_mut(at..at + 4) {
            prefix.copy_from_slice(&len.to_be_bytes());
        }
    }
}

macro_rules! integers {
    ($($ty:ty, $name:literal;)*) => {$(
        impl Field for $ty {
            fn read(from: &mut Reader) -> Result<Self, Invalid> {
                from.array($name).map(Self::from_be_bytes)
            }
            fn write(&self, to: &mut Writer<'_>) {
                to.put().put_slice(&self.to_be_bytes());
            }
        }
    )*};
}

integers! {
    u8, "octet";
    u16, "short integer";
    u32, "long integer";
    u64, "long long integer";
}

/// A bit; bits that follow each other share octets, the first one lowest.
impl Field for bool {
    fn read(from: &mut Reader) -> Result<Self, Invalid> {
        if from.bits_left == 0 {
            let [octet] = from.array("bit")?;
            from.bits = octet;
            from.bits_left = 8;
        }
        let bit = from.bits & 1 == 1;
        from.bits >>= 1;
        from.bits_left -= 1;
        Ok(bit)
    }

    fn write(&self, to: &mut Writer<'_>) {
        let bit = u8::from(*self) << (to.bits % 8);
        if to.bits.is_multiple_of(8) {
            to.out.put_u8(bit);
        } else if let Some(last) = to.out.last_mut() {
            *last |= bit;
        }
        to.bits += 1;
    }
}

impl Field for ShortStr {
    fn read(from: &mut Reader) -> Result<Self, Invalid> {
        let [len] = from.array("short string")?;
        Self::from_wire(from.take("short string", len.into())?)
    }

    fn write(&self, to: &mut Writer<'_>) {
        let out = to.put();
        out.put_u8(u8::try_from(self.0.len()).unwrap_or(u8::MAX));
        out.put_slice(&self.0);
    }
}

/// A long string: any bytes.
impl Field for Bytes {
    fn read(from: &mut Reader) -> Result<Self, Invalid> {
        let len = u32::from_be_bytes(from.array("long string")?);
        from.take("long string", usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.length_prefixed(|to| to.put().put_slice(self));
    }
}

impl Field for Table {
    fn read(from: &mut Reader) -> Result<Self, Invalid> {
        table::read(from)
    }

    fn write(&self, to: &mut Writer<'_>) {
        table::write(self, to);
    }
}
