use bytes::BytesMut;

use super::*;
use crate::frame;

fn payload(method: &Method) -> Bytes {
    let mut out = BytesMut::new();
    method.write(&mut out, 1);
    frame::split(&mut out, 4096).unwrap().unwrap().payload
}

#[test]
fn every_method_survives_a_round_trip() {
    let methods = Method::every();
    assert_eq!(methods.len(), 66);
    for method in methods {
        assert_eq!(Method::parse(payload(&method)).as_ref(), Ok(&method));
    }
}

#[test]
fn bits_share_an_octet_lowest_first() {
    let declare = queue::Declare {
        queue: "q".into(),
        durable: true,
        auto_delete: true,
        ..Default::default()
    };
    let bytes = payload(&declare.clone().into());
    assert_eq!(
        &bytes[..],
        b"\x00\x32\x00\x0a\x00\x00\x01q\x0a\x00\x00\x00\x00"
    );
    assert_eq!(Method::parse(bytes), Ok(declare.into()));
}

#[test]
fn every_cut_of_every_method_is_refused() {
    for method in Method::every() {
        let bytes = payload(&method);
        for len in 0..bytes.len() {
            assert!(
                Method::parse(bytes.slice(..len)).is_err(),
                "{} at {len}",
                method.name()
            );
        }
        let mut longer = BytesMut::from(&bytes[..]);
        longer.put_u8(0);
        assert!(
            Method::parse(longer.freeze()).is_err(),
            "{} and a byte",
            method.name()
        );
    }
}

#[test]
fn an_unknown_method_is_named() {
    let bytes = Bytes::from_static(&[0, 60, 0, 99]);
    let expected = Invalid::Unknown {
        class_id: 60,
        method_id: 99,
    };
    assert_eq!(Method::parse(bytes), Err(expected));
}
