//! A short, deterministic sample of what `fuzz/` does for longer: valid streams, damaged.

use bytes::{BufMut, Bytes, BytesMut};

use crate::content::{self, Header};
use crate::frame::{self, Kind};
use crate::method::{Method, basic, channel, connection};
use crate::properties::Properties;
use crate::session::{Config, Event, Session};
use crate::table::{self, Table, Value};

/// xorshift64*: the same damage on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap() % bound.max(1)
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            let byte = u8::try_from(self.next() & 0xff).unwrap();
            match self.below(4) {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
    }
}

/// Handshake, channel, every method, a publish of two body frames.
fn conversation() -> Vec<u8> {
    let mut out = BytesMut::from(&frame::PROTOCOL_HEADER[..]);
    let start_ok = connection::StartOk {
        mechanism: "PLAIN".into(),
        response: Bytes::from_static(b"\0guest\0guest"),
        ..Default::default()
    };
    crate::method::write(&mut out, 0, &start_ok);
    let tune_ok = connection::TuneOk {
        channel_max: 10,
        frame_max: 4096,
        heartbeat: 1,
    };
    crate::method::write(&mut out, 0, &tune_ok);
    crate::method::write(&mut out, 0, &connection::Open::default());
    crate::method::write(&mut out, 1, &channel::Open::default());
    let properties = Properties {
        headers: Some(Table(vec![(
            "a".into(),
            Value::Array(vec![Value::Void, "b".into()]),
        )])),
        ..Default::default()
    };
    content::write(
        &mut out,
        1,
        4096,
        &basic::Publish::default(),
        &properties.to_bytes(),
        &[7; 5000],
    );
    for method in Method::every() {
        if !matches!(method, Method::Connection(_)) {
            method.write(&mut out, 1);
        }
    }
    out.to_vec()
}

/// Plays `bytes` in pieces; the session may refuse, but not panic, and must not swallow input forever.
fn play(bytes: &[u8], random: &mut Random) {
    let mut session = Session::new(Config::default(), 0);
    let mut input = BytesMut::new();
    for piece in bytes.chunks(1 + random.below(2000)) {
        input.put_slice(piece);
        while let Some(event) = session.receive(&mut input).or_else(|| session.close()) {
            match event {
                Event::Login(_) => session.accept_login(),
                Event::Open { .. } => session.accept_open(),
                Event::ChannelClose { channel } => session.close_channel_ok(channel),
                Event::ChannelError { channel, error } => drop(session.fail(channel, error)),
                Event::Close { .. } => session.close_ok(),
                Event::Publish { content, .. } => drop(Properties::parse(content.properties)),
                _ => {}
            }
        }
        assert!(session.is_closed() || input.len() <= 8192 + 8 + piece.len() + session.frame_max());
    }
}

#[test]
fn damaged_conversations_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let whole = conversation();
    play(&whole, &mut random);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        random.damage(&mut bytes);
        play(&bytes, &mut random);
    }
}

#[test]
fn random_payloads_never_panic_any_parser() {
    let mut random = Random(42);
    for _ in 0..50_000 {
        let len = random.below(64);
        let bytes: Bytes = (0..len)
            .map(|_| u8::try_from(random.next() & 0xff).unwrap())
            .collect();
        drop(Method::parse(bytes.clone()));
        drop(Properties::parse(bytes.clone()));
        drop(Header::parse(bytes.clone()));
        drop(table::parse_entries(bytes));
    }
}

#[test]
fn zero_frames_of_a_port_scanner_are_refused() {
    let mut session = Session::new(Config::default(), 0);
    let mut input = BytesMut::from(&[0u8; 64][..]);
    assert!(matches!(
        session.receive(&mut input),
        Some(Event::Closed { .. })
    ));
    assert_eq!(session.receive(&mut input), None);
}

#[test]
fn an_empty_method_frame_is_refused() {
    let mut session = Session::new(Config::default(), 0);
    let mut input = BytesMut::from(&frame::PROTOCOL_HEADER[..]);
    frame::write(&mut input, Kind::Method, 0, |_| {});
    assert_eq!(session.receive(&mut input), None);
    assert!(session.is_closing());
}
