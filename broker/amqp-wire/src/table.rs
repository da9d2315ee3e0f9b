//! Field tables, with RabbitMQ's type tags rather than the specification's (they differ: `s` is a
//! 16-bit integer, `l` and `L` are both signed 64-bit).

use bytes::{BufMut, Bytes};

use crate::field::{Invalid, Reader, ShortStr, Writer};

/// How deep tables and arrays may nest, the outermost table counted.
pub const DEPTH_MAX: usize = 32;

/// Name and value pairs in the order they came; a name may repeat, the first one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(ShortStr, Value)>);

/// One typed value. Widths are kept, so that a table that is read and written again has equal bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    F32(f32),
    F64(f64),
    Decimal {
        scale: u8,
        unscaled: u32,
    },
    /// Seconds since 1970.
    Timestamp(u64),
    LongStr(Bytes),
    Binary(Bytes),
    Array(Vec<Self>),
    Table(Table),
    Void,
}

impl Table {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(n, _)| n.as_str() == name)
            .map(|(_, v)| v)
    }

    /// Replaces the value of `name`, or adds it at the end.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.0.iter_mut().find(|(n, _)| n.as_str() == name) {
            Some((_, v)) => *v = value,
            None => self.0.push((ShortStr::from(name), value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(n, _)| n.as_str() == name)?;
        Some(self.0.remove(at).1)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Value {
    /// The number, whatever its width.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        Some(match *self {
            Self::I8(v) => v.into(),
            Self::U8(v) => v.into(),
            Self::I16(v) => v.into(),
            Self::U16(v) => v.into(),
            Self::I32(v) => v.into(),
            Self::U32(v) => v.into(),
            Self::I64(v) => v,
            _ => return None,
        })
    }

    /// The text of a long string that is UTF-8.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::LongStr(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::LongStr(Bytes::from_static(text.as_bytes()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::LongStr(Bytes::from(text))
    }
}

pub(crate) fn read(from: &mut Reader) -> Result<Table, Invalid> {
    read_nested(from, 1)
}

/// The entries of a table without its length: the body of an AMQPLAIN response.
///
/// # Errors
/// [`Invalid`] when it is not one.
pub fn parse_entries(bytes: Bytes) -> Result<Table, Invalid> {
    read_entries(Reader::new(bytes), 1)
}

fn read_nested(from: &mut Reader, depth: usize) -> Result<Table, Invalid> {
    let bytes: Bytes = from.read()?;
    read_entries(Reader::new(bytes), depth)
}

fn read_entries(mut from: Reader, depth: usize) -> Result<Table, Invalid> {
    if depth > DEPTH_MAX {
        return Err(Invalid::TooDeep);
    }
    let mut entries = Vec::new();
    while from.remaining() > 0 {
        let name: ShortStr = from.read()?;
        entries.push((name, read_value(&mut from, depth)?));
    }
    Ok(Table(entries))
}

fn read_array(from: &mut Reader, depth: usize) -> Result<Vec<Value>, Invalid> {
    if depth > DEPTH_MAX {
        return Err(Invalid::TooDeep);
    }
    let bytes: Bytes = from.read()?;
    let mut from = Reader::new(bytes);
    let mut values = Vec::new();
    while from.remaining() > 0 {
        values.push(read_value(&mut from, depth)?);
    }
    Ok(values)
}

fn read_value(from: &mut Reader, depth: usize) -> Result<Value, Invalid> {
    let tag: u8 = from.read()?;
    Ok(match tag {
        b't' => Value::Bool(from.read::<u8>()? != 0),
        b'b' => Value::I8(i8::from_be_bytes(from.array("table value")?)),
        b'B' => Value::U8(from.read()?),
        b's' => Value::I16(i16::from_be_bytes(from.array("table value")?)),
        b'u' => Value::U16(from.read()?),
        b'I' => Value::I32(i32::from_be_bytes(from.array("table value")?)),
        b'i' => Value::U32(from.read()?),
        b'l' | b'L' => Value::I64(i64::from_be_bytes(from.array("table value")?)),
        b'f' => Value::F32(f32::from_be_bytes(from.array("table value")?)),
        b'd' => Value::F64(f64::from_be_bytes(from.array("table value")?)),
        b'D' => Value::Decimal {
            scale: from.read()?,
            unscaled: from.read()?,
        },
        b'T' => Value::Timestamp(from.read()?),
        b'S' => Value::LongStr(from.read()?),
        b'x' => Value::Binary(from.read()?),
        b'A' => Value::Array(read_array(from, depth + 1)?),
        b'F' => Value::Table(read_nested(from, depth + 1)?),
        b'V' => Value::Void,
        tag => return Err(Invalid::UnknownTag { tag }),
    })
}

pub(crate) fn write(table: &Table, to: &mut Writer<'_>) {
    to.length_prefixed(|to| {
        for (name, value) in &table.0 {
            to.write(name);
            write_value(value, to);
        }
    });
}

fn write_value(value: &Value, to: &mut Writer<'_>) {
    match value {
        Value::Bool(v) => to.put().put_slice(&[b't', u8::from(*v)]),
        Value::I8(v) => tagged(to, b'b', v.to_be_bytes()),
        Value::U8(v) => tagged(to, b'B', v.to_be_bytes()),
        Value::I16(v) => tagged(to, b's', v.to_be_bytes()),
        Value::U16(v) => tagged(to, b'u', v.to_be_bytes()),
        Value::I32(v) => tagged(to, b'I', v.to_be_bytes()),
        Value::U32(v) => tagged(to, b'i', v.to_be_bytes()),
        Value::I64(v) => tagged(to, b'l', v.to_be_bytes()),
        Value::F32(v) => tagged(to, b'f', v.to_be_bytes()),
        Value::F64(v) => tagged(to, b'd', v.to_be_bytes()),
        Value::Decimal { scale, unscaled } => {
            to.put().put_slice(&[b'D', *scale]);
            to.write(unscaled);
        }
        Value::Timestamp(v) => tagged(to, b'T', v.to_be_bytes()),
        Value::LongStr(v) => {
            to.put().put_u8(b'S');
            to.write(v);
        }
        Value::Binary(v) => {
            to.put().put_u8(b'x');
            to.write(v);
        }
        Value::Array(values) => {
            to.put().put_u8(b'A');
            to.length_prefixed(|to| {
                for value in values {
                    write_value(value, to);
                }
            });
        }
        Value::Table(table) => {
            to.put().put_u8(b'F');
            write(table, to);
        }
        Value::Void => to.put().put_u8(b'V'),
    }
}

fn tagged<const N: usize>(to: &mut Writer<'_>, tag: u8, bytes: [u8; N]) {
    to.put().put_u8(tag);
    to.put().put_slice(&bytes);
}

#[cfg(test)]
mod tests;
