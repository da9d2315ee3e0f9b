//! Zig-zag variable-length integers, as records use them.

use bytes::BufMut;

/// Reads a varint of at most 5 bytes and drops it from `buf`; `None` when cut short or too long.
pub(super) fn read_i32(buf: &mut &[u8]) -> Option<i32> {
    let raw = u32::try_from(read_unsigned(buf, 5)?).ok()?;
    Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
}

/// Reads a varlong of at most 10 bytes and drops it from `buf`; `None` when cut short or too long.
pub(super) fn read_i64(buf: &mut &[u8]) -> Option<i64> {
    let raw = read_unsigned(buf, 10)?;
    Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
}

fn read_unsigned(buf: &mut &[u8], bytes_max: u32) -> Option<u64> {
    let mut value = 0u64;
    for i in 0..bytes_max {
        let (&byte, rest) = buf.split_first()?;
        *buf = rest;
        // The tenth byte holds the 64th bit alone.
        if i == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

pub(super) fn write_i64(out: &mut impl BufMut, value: i64) {
    let mut raw = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while raw >= 0x80 {
        out.put_u8((raw & 0x7f) as u8 | 0x80);
        raw >>= 7;
    }
    out.put_u8(raw as u8);
}

/// A length of something in memory; -1 stands for null.
pub(super) fn write_len(out: &mut impl BufMut, len: Option<usize>) {
    write_i64(
        out,
        len.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX)),
    );
}

pub(super) fn size_i64(value: i64) -> usize {
    let raw = ((value << 1) ^ (value >> 63)).cast_unsigned();
    (64 - (raw | 1).leading_zeros() as usize).div_ceil(7)
}
