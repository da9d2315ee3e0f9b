//! Any bytes where batches are expected: `cargo +nightly fuzz run batch corpus fuzz/seeds/batch` in
//! `broker/model`.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use model::batch::{
    Batch, Header, Kept, Records, set_max_timestamp, split,
    validate::{self, Rules, Timestamps},
};

const RULES: Rules = Rules {
    batch_bytes_max: 1 << 20,
    inflated_record_bytes_max: 1 << 20,
    keys_required: false,
    timestamps: Timestamps::LogAppend,
    allow_control: true,
    delivery: None,
};

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let header = Header::parse(&bytes);
    if let Ok(batches) = split(bytes.clone()) {
        let sizes = batches.iter().map(|batch| batch.bytes.len());
        assert_eq!(sizes.sum::<usize>(), bytes.len());
        for batch in &batches {
            let _sealed = batch.verify_crc();
            batch.records().for_each(drop);
        }
    }
    // With a fresh seal, so that what lies behind the check of it is reached.
    if let Ok(header) = header {
        produced(set_max_timestamp(bytes, header.max_timestamp, false));
    }
});

/// What is accepted from a producer can be read again, record by record.
fn produced(bytes: Bytes) {
    let Ok(batch) = validate::envelope(&bytes, &RULES) else {
        return;
    };
    let Batch { header, .. } = batch;
    let payload = batch.payload();
    if validate::records(&header, &payload, &RULES).is_ok() {
        compacted(header, &payload);
        let records = Records::of_payload(header, payload).map(|record| record.expect("checked"));
        assert_eq!(records.count(), usize::try_from(header.record_count).expect("checked"));
    }
}

/// What compaction leaves of it is what it was, record by record.
fn compacted(header: Header, payload: &Bytes) {
    let even = |offset: i64| offset % 2 == 0;
    let kept = Kept::of(&header, payload, |record| even(record.offset.0)).expect("checked");
    let kept = kept.with_horizon(header.max_timestamp).expect("checked");
    let left = kept.payload().to_vec();
    let batch = Batch::parse(&kept.build(&left)).expect("built");
    batch.verify_crc().expect("sealed");
    assert_eq!(batch.header.last_offset(), header.last_offset());
    let records = |header, payload| {
        Records::of_payload(header, payload).map(|record| record.expect("checked"))
    };
    let before = records(header, payload.clone()).filter(|record| even(record.offset.0));
    let after: Vec<_> = records(batch.header, left.into()).collect();
    // The broker's own time is the batch's, whose newest record may be gone.
    if !header.is_log_append_time() {
        assert_eq!(before.collect::<Vec<_>>(), after);
    }
}
