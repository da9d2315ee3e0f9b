//! Bytes that no honest client sends: they are refused, or mean something else, and never more.

use bytes::Bytes;

use crate::round_trip::for_each_value;
use crate::vectors::Seed;

/// What decodes must also encode, and then decode to the same: a lax reading must not pass.
fn check(recode: crate::registry::Recode, version: i16, damaged: Vec<u8>) {
    if let Ok(bytes) = recode(Bytes::from(damaged), version) {
        assert_eq!(recode(bytes.clone(), version).unwrap(), bytes);
    }
}

#[test]
fn messages_with_flipped_bits_never_panic() {
    let mut seed = Seed::new(7);
    for_each_value(|_, _, version, recode, bytes| {
        if bytes.is_empty() {
            return;
        }
        for _ in 0..8 {
            let mut damaged = bytes.clone();
            for _ in 0..=seed.below(3) {
                let at = seed.below(damaged.len());
                damaged[at] ^= 1 << seed.below(8);
            }
            check(recode, version, damaged);
        }
    });
}

#[test]
fn lengths_of_two_gigabytes_never_panic_or_allocate() {
    let fixed = i32::MAX.to_be_bytes();
    let compact = [0xff, 0xff, 0xff, 0xff, 0x0f];
    for_each_value(|_, _, version, recode, bytes| {
        let step = bytes.len() / 48 + 1;
        for at in (0..bytes.len()).step_by(step) {
            for length in [&fixed[..], &compact[..]] {
                let mut damaged = bytes.clone();
                damaged.truncate(at);
                damaged.extend(length);
                damaged.extend(bytes.iter().skip(at + length.len()));
                check(recode, version, damaged);
            }
        }
    });
}
