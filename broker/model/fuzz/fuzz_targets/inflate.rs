//! Any payload of any codec (the first byte), held to its bound: `cargo +nightly fuzz run inflate corpus
//! fuzz/seeds/inflate` in `broker/model`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../src/partition/inflate.rs"]
#[allow(dead_code)]
mod inflate;

const BYTES_MAX: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((codec, payload)) = data.split_first() else {
        return;
    };
    if let Ok(inflated) = inflate::inflate(*codec % 6, payload, BYTES_MAX) {
        assert!(inflated.len() <= BYTES_MAX);
    }
});
