//! A table that parses is written and parsed again, to equal bytes.
#![no_main]

use amqp_wire::field::{Field, Writer};
use amqp_wire::table;
use bytes::{Bytes, BytesMut};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(parsed) = table::parse_entries(Bytes::copy_from_slice(data)) {
        let mut once = BytesMut::new();
        parsed.write(&mut Writer::new(&mut once));
        let again = table::parse_entries(once.clone().freeze().slice(4..)).unwrap();
        let mut twice = BytesMut::new();
        again.write(&mut Writer::new(&mut twice));
        assert_eq!(once, twice);
    }
});
