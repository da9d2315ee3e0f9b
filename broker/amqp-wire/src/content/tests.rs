use super::*;
use crate::frame::Kind;

#[test]
fn a_body_is_cut_into_frames_of_the_negotiated_size() {
    let mut out = BytesMut::new();
    let body = vec![7; 4088 * 2 + 1];
    write(
        &mut out,
        1,
        4096,
        &basic::Publish::default(),
        &NO_PROPERTIES,
        &body,
    );
    let mut sizes = Vec::new();
    while let Some(frame) = frame::split(&mut out, 4088).unwrap() {
        if frame.kind == Kind::Body {
            sizes.push(frame.payload.len());
        }
    }
    assert_eq!(sizes, [4088, 4088, 1]);
}

#[test]
fn the_borrowed_deliver_writes_what_the_owned_one_does() {
    let owned = basic::Deliver {
        consumer_tag: "tag".into(),
        delivery_tag: 7,
        redelivered: true,
        exchange: "e".into(),
        routing_key: "k".into(),
    };
    let borrowed = Deliver {
        consumer_tag: "tag",
        delivery_tag: 7,
        redelivered: true,
        exchange: "e",
        routing_key: "k",
    };
    let (mut a, mut b) = (BytesMut::new(), BytesMut::new());
    crate::method::write(&mut a, 1, &owned);
    crate::method::write(&mut b, 1, &borrowed);
    assert_eq!(a, b);
}

#[test]
fn a_header_is_read_back() {
    let payload = Bytes::from_static(&[0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0x10, 0, 2]);
    let expected = Header {
        class_id: 60,
        body_size: 5,
        properties: Bytes::from_static(&[0x10, 0, 2]),
    };
    assert_eq!(Header::parse(payload), Ok(expected));
    assert!(Header::parse(Bytes::from_static(&[0, 60, 0, 0, 0])).is_err());
}
