//! Frames split off a stream, and what is in them: a method that parses is written and parsed again.
#![no_main]

use amqp_wire::frame::{self, Kind};
use amqp_wire::method::Method;
use bytes::BytesMut;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut input = BytesMut::from(data);
    while let Ok(Some(frame)) = frame::split(&mut input, 131_072) {
        if frame.kind != Kind::Method {
            continue;
        }
        if let Ok(method) = Method::parse(frame.payload) {
            let mut out = BytesMut::new();
            method.write(&mut out, frame.channel);
            let again = frame::split(&mut out, usize::MAX).unwrap().unwrap();
            let again = Method::parse(again.payload).unwrap();
            // Not `==`: a table may hold NaN.
            assert_eq!(again.ids(), method.ids());
        }
    }
});
