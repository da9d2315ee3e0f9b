//! Any frame: `cargo +nightly fuzz run request` in `broker/kafka-wire`.
#![no_main]

use bytes::Bytes;
use kafka_wire::frame::RequestHeader;
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/registry.rs"]
#[allow(dead_code)]
mod registry;

fuzz_target!(|frame: &[u8]| {
    let Ok((header, body)) = RequestHeader::parse(Bytes::copy_from_slice(frame)) else {
        return;
    };
    if !header.key.versions().contains(header.version) {
        return;
    }
    let prefix = format!("{:03}-", header.key.code());
    let body = Bytes::copy_from_slice(&frame[frame.len() - body.remaining()..]);
    for (_, _, recode) in registry::MESSAGES
        .iter()
        .filter(|(table, side, _)| table.starts_with(&prefix) && *side == "Request")
    {
        if let Ok(bytes) = recode(body.clone(), header.version) {
            let again = recode(bytes.clone(), header.version);
            assert_eq!(again.as_ref(), Ok(&bytes), "decoding is not stable");
        }
    }
});
