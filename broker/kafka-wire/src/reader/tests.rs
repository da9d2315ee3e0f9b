use bytes::Bytes;

use super::*;

fn reader(bytes: &'static [u8], flexible: bool) -> Reader {
    let mut r = Reader::new(Bytes::from_static(bytes));
    r.set_flexible(flexible);
    r
}

#[test]
fn a_count_that_cannot_fit_is_refused_before_allocation() {
    let mut r = reader(&[0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4], false);
    assert_eq!(
        r.array(4, Reader::int32).unwrap_err(),
        DecodeError::TooManyElements {
            count: i32::MAX as usize,
            allowed: 1
        }
    );
}

#[test]
fn all_arrays_of_a_message_share_one_budget() {
    let half = ELEMENTS_MAX / 2 + 1;
    let mut bytes = Vec::new();
    for _ in 0..2 {
        bytes.extend((half as i32).to_be_bytes());
        bytes.resize(bytes.len() + half, 0);
    }
    let mut r = Reader::new(Bytes::from(bytes));
    assert_eq!(r.array(1, Reader::int8).unwrap().len(), half);
    assert_eq!(
        r.array(1, Reader::int8).unwrap_err(),
        DecodeError::TooManyElements {
            count: half,
            allowed: ELEMENTS_MAX - half
        }
    );
}

#[test]
fn negative_lengths_other_than_null_are_refused() {
    let mut r = reader(&[0xff, 0xfe], false);
    assert_eq!(r.nullable_string().unwrap_err(), DecodeError::Length(-2));
    assert_eq!(reader(&[0xff, 0xff], false).nullable_string(), Ok(None));
    assert_eq!(
        reader(&[0], true).string().unwrap_err(),
        DecodeError::UnexpectedNull
    );
}

#[test]
fn varints_longer_than_five_bytes_are_refused() {
    let longest = [0xff, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(
        Reader::new(Bytes::copy_from_slice(&longest)).uvarint(),
        Ok(u32::MAX)
    );
    assert_eq!(
        reader(&[0xff, 0xff, 0xff, 0xff, 0x1f], true).uvarint(),
        Err(DecodeError::Varint)
    );
    assert_eq!(
        reader(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], true).uvarint(),
        Err(DecodeError::Varint)
    );
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    let mut r = reader(&[2, 5, 2, 0xaa, 0xbb, 9, 0, 42], true);
    r.skip_tagged_fields().unwrap();
    assert_eq!(r.int8(), Ok(42));
}

#[test]
fn a_tagged_field_that_leaves_bytes_is_refused() {
    let mut r = reader(&[1, 0, 3, 1, 2, 3], true);
    let read = r.tagged_fields(|r, _| r.int16().map(|_| true));
    assert_eq!(read, Err(DecodeError::TaggedFieldSize { tag: 0, left: 1 }));
}

#[test]
fn tagged_sections_are_bounded() {
    let mut r = reader(&[0xff, 0xff, 0x7f], true);
    assert_eq!(
        r.skip_tagged_fields(),
        Err(DecodeError::TooManyTaggedFields(0x1f_ffff))
    );
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    assert_eq!(
        reader(&[0, 1, 0xff], false).string(),
        Err(DecodeError::Utf8)
    );
}
