use super::*;
use crate::table::Value;

#[test]
fn all_properties_survive_a_round_trip() {
    let properties = Properties {
        content_type: Some("text/plain".into()),
        content_encoding: Some("utf-8".into()),
        headers: Some(Table(vec![("n".into(), Value::I32(1))])),
        delivery_mode: Some(2),
        priority: Some(9),
        correlation_id: Some("c".into()),
        reply_to: Some("r".into()),
        expiration: Some("1000".into()),
        message_id: Some("m".into()),
        timestamp: Some(1_700_000_000),
        kind: Some("t".into()),
        user_id: Some("guest".into()),
        app_id: Some("a".into()),
        cluster_id: Some("x".into()),
    };
    assert_eq!(Properties::parse(properties.to_bytes()), Ok(properties));
}

#[test]
fn each_property_alone_survives_a_round_trip() {
    let alone = [
        Properties::default(),
        Properties {
            delivery_mode: Some(1),
            ..Properties::default()
        },
        Properties {
            cluster_id: Some("x".into()),
            ..Properties::default()
        },
    ];
    for properties in alone {
        assert_eq!(Properties::parse(properties.to_bytes()), Ok(properties));
    }
}

#[test]
fn flags_that_continue_are_refused() {
    let bytes = Bytes::from_static(&[0, 1, 0, 0]);
    assert_eq!(Properties::parse(bytes), Err(Invalid::PropertyFlags));
}

#[test]
fn bytes_after_the_last_property_are_refused() {
    let bytes = Bytes::from_static(&[0x10, 0, 2, 7]);
    assert_eq!(
        Properties::parse(bytes),
        Err(Invalid::Trailing { count: 1 })
    );
}
