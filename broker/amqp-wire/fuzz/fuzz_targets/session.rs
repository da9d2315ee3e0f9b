//! A whole connection: the first byte says into which pieces the rest is cut, and the handshake is
//! played first so that the bytes reach the channels.
#![no_main]

use amqp_wire::frame;
use amqp_wire::method::{self, channel, connection};
use amqp_wire::session::{Config, Event, Session};
use bytes::{Bytes, BytesMut};

fn drive(session: &mut Session, input: &mut BytesMut) {
    while let Some(event) = session.receive(input).or_else(|| session.close()) {
        match event {
            Event::Login(_) => session.accept_login(),
            Event::Open { .. } => session.accept_open(),
            Event::ChannelClose { channel } => session.close_channel_ok(channel),
            Event::ChannelError { channel, error } => drop(session.fail(channel, error)),
            Event::Close { .. } => session.close_ok(),
            _ => {}
        }
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&cut, data)) = data.split_first() else {
        return;
    };
    let mut session = Session::new(Config::default(), 0);
    let mut input = BytesMut::new();
    if cut % 2 == 0 {
        input.extend_from_slice(&frame::PROTOCOL_HEADER);
        let start_ok = connection::StartOk {
            mechanism: "PLAIN".into(),
            response: Bytes::from_static(b"\0a\0b"),
            ..Default::default()
        };
        method::write(&mut input, 0, &start_ok);
        let tune_ok = connection::TuneOk { channel_max: 10, frame_max: 8192, heartbeat: 1 };
        method::write(&mut input, 0, &tune_ok);
        method::write(&mut input, 0, &connection::Open::default());
        method::write(&mut input, 1, &channel::Open::default());
        drive(&mut session, &mut input);
        assert!(session.is_open(1));
    }
    for piece in data.chunks(usize::from(cut) + 1) {
        input.extend_from_slice(piece);
        drive(&mut session, &mut input);
        if session.is_closed() {
            return;
        }
        session.output().clear();
    }
});
