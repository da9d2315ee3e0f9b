//! Properties that parse are written and parsed again, to equal bytes.
#![no_main]

use amqp_wire::Properties;
use bytes::Bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(properties) = Properties::parse(Bytes::copy_from_slice(data)) {
        let once = properties.to_bytes();
        let twice = Properties::parse(once.clone()).unwrap().to_bytes();
        assert_eq!(once, twice);
    }
});
