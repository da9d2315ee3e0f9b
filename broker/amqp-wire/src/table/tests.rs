use bytes::{BufMut, Bytes, BytesMut};

use super::*;
use crate::field::Field;

fn encode(table: &Table) -> Bytes {
    let mut out = BytesMut::new();
    table.write(&mut Writer::new(&mut out));
    out.freeze()
}

fn parse(bytes: &Bytes) -> Result<Table, Invalid> {
    let mut from = Reader::new(bytes.clone());
    let table = from.read()?;
    from.finish()?;
    Ok(table)
}

/// `levels` tables, each the only value of the one around it.
fn nested(levels: usize) -> Bytes {
    let mut inner = encode(&Table::default());
    for _ in 1..levels {
        let mut outer = BytesMut::new();
        outer.put_u32(u32::try_from(inner.len()).unwrap() + 3);
        outer.put_slice(b"\x01aF");
        outer.put_slice(&inner);
        inner = outer.freeze();
    }
    inner
}

#[test]
fn every_type_survives_a_round_trip() {
    let values = [
        Value::Bool(true),
        Value::I8(-1),
        Value::U8(200),
        Value::I16(-300),
        Value::U16(60_000),
        Value::I32(i32::MIN),
        Value::U32(u32::MAX),
        Value::I64(i64::MIN),
        Value::F32(1.5),
        Value::F64(-2.25),
        Value::Decimal {
            scale: 2,
            unscaled: 314,
        },
        Value::Timestamp(u64::MAX),
        Value::from("text"),
        Value::Binary(Bytes::from_static(&[0, 255])),
        Value::Array(vec![Value::Void, Value::Array(vec![Value::I8(1)])]),
        Value::Table(Table(vec![("x".into(), Value::Void)])),
        Value::Void,
    ];
    let table = Table(
        values
            .into_iter()
            .enumerate()
            .map(|(i, value)| (ShortStr::from(format!("k{i}").as_str()), value))
            .collect(),
    );
    let bytes = encode(&table);
    assert_eq!(parse(&bytes).unwrap(), table);
    assert_eq!(encode(&parse(&bytes).unwrap()), bytes);
}

#[test]
fn tables_nest_32_deep_and_no_deeper() {
    assert!(parse(&nested(DEPTH_MAX)).is_ok());
    assert_eq!(parse(&nested(DEPTH_MAX + 1)), Err(Invalid::TooDeep));
    assert_eq!(parse(&nested(1300)), Err(Invalid::TooDeep));
}

#[test]
fn arrays_count_for_depth_too() {
    let mut inner = BytesMut::from(&[0, 0, 0, 0][..]);
    for _ in 0..1300 {
        let mut outer = BytesMut::new();
        outer.put_u32(u32::try_from(inner.len()).unwrap() + 1);
        outer.put_u8(b'A');
        outer.put_slice(&inner);
        inner = outer;
    }
    let mut table = BytesMut::new();
    table.put_u32(u32::try_from(inner.len()).unwrap() + 3);
    table.put_slice(b"\x01aA");
    table.put_slice(&inner);
    assert_eq!(parse(&table.freeze()), Err(Invalid::TooDeep));
}

#[test]
fn a_length_beyond_the_bytes_is_refused_before_anything_is_allocated() {
    let long_string = Bytes::from_static(b"\x00\x00\x00\x08\x01aS\xff\xff\xff\xff\x00");
    assert_eq!(
        parse(&long_string),
        Err(Invalid::Truncated {
            field: "long string",
            missing: 0xffff_ffff - 1
        })
    );
    let table = Bytes::from_static(b"\xff\xff\xff\xff");
    assert!(matches!(parse(&table), Err(Invalid::Truncated { .. })));
}

#[test]
fn an_unknown_type_is_named() {
    let table = Bytes::from_static(b"\x00\x00\x00\x03\x01aZ");
    assert_eq!(parse(&table), Err(Invalid::UnknownTag { tag: b'Z' }));
}
