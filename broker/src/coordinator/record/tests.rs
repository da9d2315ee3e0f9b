use super::*;

fn offset(expire_ms: Option<i64>) -> Record {
    Record::Offset {
        key: OffsetKey {
            group: "g".into(),
            topic: "flights".into(),
            partition: 3,
        },
        value: Some(Committed {
            offset: 42,
            leader_epoch: 1,
            metadata: "m".into(),
            commit_ms: 1_000,
            expire_ms,
            topic_id: TopicId::default(),
        }),
    }
}

fn group() -> Record {
    Record::Group {
        group: "g".into(),
        value: Some(Generation {
            protocol_type: Some("consumer".into()),
            generation: 7,
            protocol: Some("range".into()),
            leader: Some("a".into()),
            since_ms: Some(5),
            members: vec![StoredMember {
                id: "a".into(),
                instance_id: Some("i".into()),
                client_id: "c".into(),
                client_host: "/127.0.0.1".into(),
                rebalance_timeout_ms: 60_000,
                session_timeout_ms: 10_000,
                subscription: Bytes::from_static(b"sub"),
                assignment: Bytes::from_static(b"asg"),
            }],
        }),
    }
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let removed = Record::Group {
        group: "g".into(),
        value: None,
    };
    let expired = match offset(None) {
        Record::Offset { key, .. } => Record::Offset { key, value: None },
        other => other,
    };
    for record in [offset(None), group(), removed, expired] {
        let (key, value) = encode(&record).unwrap();
        let back = decode(Some(&key), value.as_ref()).unwrap();
        assert_eq!(back, Some(record));
    }
}

#[test]
fn an_expiry_is_kept_at_the_price_of_the_leader_epoch() {
    let (key, value) = encode(&offset(Some(9))).unwrap();
    let Some(Record::Offset { value: Some(v), .. }) = decode(Some(&key), value.as_ref()).unwrap()
    else {
        panic!("an offset");
    };
    assert_eq!((v.expire_ms, v.leader_epoch), (Some(9), -1));
}

#[test]
fn bytes_are_those_of_kafka() {
    let (key, value) = encode(&offset(Some(9))).unwrap();
    assert_eq!(&key[..], b"\0\x01\0\x01g\0\x07flights\0\0\0\x03");
    let value = value.unwrap();
    assert_eq!(
        &value[..],
        b"\0\x01\0\0\0\0\0\0\0\x2a\0\x01m\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\0\x09"
    );
    let (key, value) = encode(&group()).unwrap();
    assert_eq!(&key[..], b"\0\x02\0\x01g");
    assert_eq!(&value.unwrap()[..14], b"\0\x03\0\x08consumer\0\0");
}

#[test]
fn keys_of_other_kinds_are_passed_over() {
    let newer = Bytes::from_static(b"\0\x03\0\x01g");
    assert_eq!(decode(Some(&newer), None).unwrap(), None);
}

#[test]
fn a_mangled_record_is_an_error_and_no_more() {
    let (key, value) = encode(&group()).unwrap();
    let value = value.unwrap();
    for cut in 0..value.len() {
        assert!(
            decode(Some(&key), Some(&value.slice(..cut))).is_err(),
            "cut at {cut}"
        );
    }
    for cut in 0..key.len() {
        assert!(
            decode(Some(&key.slice(..cut)), None).is_err(),
            "cut at {cut}"
        );
    }
    assert!(matches!(decode(None, None), Err(Unreadable::NoKey)));
    let future = Bytes::from_static(b"\0\x09");
    assert!(matches!(
        decode(Some(&key), Some(&future)),
        Err(Unreadable::Version(9))
    ));
}
