use super::*;

fn joined(pieces: Vec<Bytes>) -> Vec<u8> {
    pieces.concat()
}

#[test]
fn a_frame_begins_with_its_length() {
    let mut w = Writer::frame();
    w.int16(7);
    assert_eq!(joined(w.finish_frame().unwrap()), [0, 0, 0, 2, 0, 7]);
}

#[test]
fn large_bytes_are_handed_on_uncopied() {
    let large = Bytes::from(vec![1; SHARED_BYTES_MIN]);
    let mut w = Writer::frame();
    w.bytes(Some(&large));
    w.int8(9);
    let pieces = w.finish_frame().unwrap();
    assert!(pieces.iter().any(|piece| piece.as_ptr() == large.as_ptr()));
    let frame = joined(pieces);
    assert_eq!(frame[..4], (SHARED_BYTES_MIN as i32 + 5).to_be_bytes());
    assert_eq!(frame.len(), SHARED_BYTES_MIN + 9);
    assert_eq!(frame.last(), Some(&9));
}

#[test]
fn the_first_error_is_reported_at_the_end() {
    let mut w = Writer::frame();
    w.refuse_null("name");
    w.refuse_set(true, "other");
    assert_eq!(w.finish_frame(), Err(EncodeError::Null("name")));
}
