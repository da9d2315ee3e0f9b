#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;

use super::{
    validate::{Rejected, Rules, Timestamps, Walked},
    *,
};

const NOW: i64 = 1_700_000_000_000;

fn rules() -> Rules {
    Rules {
        batch_bytes_max: 1_048_588,
        inflated_record_bytes_max: usize::MAX,
        keys_required: false,
        timestamps: Timestamps::Create {
            now_ms: NOW,
            before_max_ms: i64::MAX,
            after_max_ms: 3_600_000,
        },
        allow_control: false,
        delivery: None,
    }
}

fn three() -> Bytes {
    let mut b = Builder::default();
    b.push(NOW, Some(b"k0"), Some(b"v0"));
    b.push(NOW + 5, Some(b"k1"), None);
    b.push_with_headers(
        NOW + 2,
        Some(b""),
        Some(b"v2"),
        &[(b"h", Some(b"x")), (b"n", None)],
    );
    b.build().unwrap()
}

/// Changes bytes and, unless told not to, seals anew.
fn altered(batch: &Bytes, at: usize, with: &[u8]) -> Bytes {
    let mut b = BytesMut::from(batch.as_ref());
    b[at..at + with.len()].copy_from_slice(with);
    let crc = crc_of(&b);
    (&mut b[17..21]).put_u32(crc);
    b.freeze()
}

fn check(bytes: &Bytes, rules: &Rules) -> Result<Walked, Rejected> {
    let batch = validate::envelope(bytes, rules)?;
    validate::records(&batch.header, validate::payload(&batch), rules)
}

#[test]
fn built_batch_gives_its_records_back() {
    let batch = Batch::parse(&three()).unwrap();
    assert_eq!(batch.header.last_offset(), Offset(2));
    assert_eq!(batch.header.max_timestamp, NOW + 5);
    batch.verify_crc().unwrap();
    let records: Vec<Record> = batch.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 3);
    assert_eq!(records[1].key.as_deref(), Some(&b"k1"[..]));
    assert_eq!(records[1].value, None);
    assert_eq!(records[2].timestamp, NOW + 2);
    assert_eq!(records[2].headers.len(), 2);
    assert_eq!(records[2].headers[1], (Bytes::from_static(b"n"), None));
}

#[test]
fn placing_a_batch_keeps_its_seal() {
    let placed = place(three(), Offset(77), Epoch(4));
    let batch = Batch::parse(&placed).unwrap();
    batch.verify_crc().unwrap();
    assert_eq!(batch.header.base_offset, Offset(77));
    assert_eq!(batch.header.leader_epoch, Epoch(4));
    assert_eq!(batch.records().last().unwrap().unwrap().offset, Offset(79));
}

#[test]
fn placing_a_shared_batch_leaves_the_other_holder_alone() {
    let original = three();
    let placed = place(original.clone(), Offset(5), Epoch(1));
    assert_eq!(Header::parse(&original).unwrap().base_offset, Offset(0));
    assert_eq!(Header::parse(&placed).unwrap().base_offset, Offset(5));
}

#[test]
fn log_append_time_holds_for_every_record() {
    let batch = Batch::parse(&set_max_timestamp(three(), 42, true)).unwrap();
    batch.verify_crc().unwrap();
    assert!(batch.header.is_log_append_time());
    assert!(batch.records().all(|r| r.unwrap().timestamp == 42));
    // Taken back, the producer's own are there again.
    let batch = Batch::parse(&set_max_timestamp(batch.bytes, 42, false)).unwrap();
    assert!(!batch.header.is_log_append_time());
}

#[test]
fn split_cuts_a_run_and_names_what_is_left_over() {
    let mut run = BytesMut::new();
    run.put(three());
    run.put(place(three(), Offset(3), Epoch(0)));
    let batches = split(run.clone().freeze()).unwrap();
    assert_eq!(batches.len(), 2);
    assert_eq!(batches[1].header.base_offset, Offset(3));
    run.put_u8(0);
    assert!(matches!(
        split(run.freeze()),
        Err(Invalid::Truncated { .. })
    ));
}

#[test]
fn good_batch_passes_and_tells_its_newest_timestamp() {
    assert_eq!(check(&three(), &rules()).unwrap().max_timestamp, NOW + 5);
}

#[test]
fn faults_of_a_produced_batch_are_told_apart() {
    let good = three();
    let malformed = |b: &Bytes| matches!(check(b, &rules()), Err(Rejected::Malformed(_)));
    let corrupt = |b: &Bytes| matches!(check(b, &rules()), Err(Rejected::Corrupt(_)));
    let no_batch = |b: &Bytes| matches!(check(b, &rules()), Err(Rejected::NotOneBatch(_)));

    assert!(no_batch(&Bytes::new()), "empty");
    assert!(no_batch(&good.slice(..good.len() - 1)), "truncated");
    assert!(no_batch(&good.slice(..20)), "cut in the header");
    assert!(no_batch(&altered(&good, 16, &[0])), "magic 0");
    assert!(no_batch(&altered(&good, 16, &[1])), "magic 1");
    assert!(corrupt(&altered(&good, 16, &[3])), "magic 3");
    let mut two = BytesMut::from(good.as_ref());
    two.put(good.clone());
    assert!(no_batch(&two.freeze()), "two batches");
    let mut flipped = BytesMut::from(good.as_ref());
    flipped[70] ^= 1;
    assert!(corrupt(&flipped.freeze()), "bad CRC");
    assert!(
        malformed(&altered(&good, 0, &7i64.to_be_bytes())),
        "base offset"
    );
    assert!(
        malformed(&altered(&good, 23, &5i32.to_be_bytes())),
        "last offset delta"
    );
    assert!(
        malformed(&altered(&good, 57, &2i32.to_be_bytes())),
        "record count"
    );
    assert!(
        malformed(&altered(&good, 57, &0i32.to_be_bytes())),
        "no records"
    );
    assert!(malformed(&altered(&good, 22, &[0x20])), "control");
    assert!(malformed(&altered(&good, 22, &[5])), "codec 5");
    let both = altered(
        &altered(&good, 57, &4i32.to_be_bytes()),
        23,
        &3i32.to_be_bytes(),
    );
    assert!(malformed(&both), "one record fewer than stated");
    let fewer = altered(
        &altered(&good, 57, &2i32.to_be_bytes()),
        23,
        &1i32.to_be_bytes(),
    );
    assert!(malformed(&fewer), "one record more than stated");
    let small = Rules {
        batch_bytes_max: good.len() - 1,
        ..rules()
    };
    assert!(matches!(
        check(&good, &small),
        Err(Rejected::TooLarge { .. })
    ));
}

#[test]
fn keyless_record_is_refused_by_a_compacted_topic_with_its_index() {
    let mut b = Builder::default();
    b.push(NOW, Some(b""), Some(b"v"))
        .push(NOW, None, Some(b"v"));
    let bytes = b.build().unwrap();
    let compacted = Rules {
        keys_required: true,
        ..rules()
    };
    assert!(check(&bytes, &rules()).is_ok());
    assert!(matches!(
        check(&bytes, &compacted),
        Err(Rejected::Records { indexes, .. }) if indexes == [1]
    ));
}

#[test]
fn record_of_a_compressed_batch_is_held_to_its_own_limit() {
    let mut b = Builder::default();
    b.push(NOW, None, Some(b"v"));
    let bytes = b.build().unwrap();
    let header = |attributes| Header {
        attributes,
        ..Header::parse(&bytes).unwrap()
    };
    // One record with a length of one byte in front.
    let payload = Batch::parse(&bytes).unwrap().payload();
    let largest = payload.len() - 1;
    let limited = |inflated_record_bytes_max| Rules {
        inflated_record_bytes_max,
        ..rules()
    };
    assert!(validate::records(&header(3), &payload, &limited(largest)).is_ok());
    let refused = validate::records(&header(3), &payload, &limited(largest - 1));
    assert!(
        matches!(refused, Err(Rejected::Malformed(_))),
        "{refused:?}"
    );
    assert!(validate::records(&header(0), &payload, &limited(largest - 1)).is_ok());
}

#[test]
fn timestamp_too_far_ahead_is_refused_unless_the_broker_sets_it() {
    let mut b = Builder::default();
    b.push(-1, None, None).push(NOW + 3_600_001, None, None);
    let bytes = b.build().unwrap();
    assert!(matches!(
        check(&bytes, &rules()),
        Err(Rejected::Timestamps { indexes, .. }) if indexes == [1]
    ));
    let append = Rules {
        timestamps: Timestamps::LogAppend,
        ..rules()
    };
    assert!(check(&bytes, &append).is_ok());
}

#[test]
fn compressed_batch_gives_no_records_by_itself() {
    let bytes = altered(&three(), 22, &[3]);
    let mut records = Batch::parse(&bytes).unwrap().records();
    assert_eq!(records.next(), Some(Err(Invalid::Compressed(3))));
    assert_eq!(records.next(), None);
}

fn any_record() -> impl Strategy<Value = Record> {
    let some = || proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40));
    let headers =
        proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..9), some()), 0..4);
    (any::<i64>(), some(), some(), headers).prop_map(|(timestamp, key, value, headers)| Record {
        offset: Offset(0),
        timestamp,
        key: key.map(Bytes::from),
        value: value.map(Bytes::from),
        headers: headers
            .into_iter()
            .map(|(k, v)| (Bytes::from(k), v.map(Bytes::from)))
            .collect(),
    })
}

proptest! {
    #[test]
    fn any_records_survive_building_and_reading(records in proptest::collection::vec(any_record(), 1..20)) {
        let mut b = Builder::new(Offset(10));
        for r in &records {
            b.push_record(r);
        }
        let batch = Batch::parse(&b.build().unwrap()).unwrap();
        let read: Vec<Record> = batch.records().map(Result::unwrap).collect();
        let expected: Vec<Record> = records
            .into_iter()
            .enumerate()
            .map(|(i, r)| Record { offset: Offset(10 + i as i64), ..r })
            .collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn bytes_of_any_kind_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..120, with in any::<u8>()) {
        drop(split(Bytes::from(bytes)));
        let mut bent = BytesMut::from(three().as_ref());
        let at = at % bent.len();
        bent[at] = with;
        if let Ok(batch) = Batch::parse(&bent.freeze()) {
            let _ = batch.records().count();
            drop(validate::records(&batch.header, validate::payload(&batch), &rules()));
        }
    }
}
