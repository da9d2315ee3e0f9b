mod closing;

use bytes::{BufMut, BytesMut};

use super::*;
use crate::content;
use crate::frame::Kind;
use crate::method::{channel, connection, queue};

/// A client that speaks by hand: what it writes is handed to the session, what comes back is parsed.
struct Client {
    session: Session,
    input: BytesMut,
    now_ms: u64,
}

#[derive(Debug, PartialEq)]
enum Heard {
    Event(Event),
    Method(u16, Method),
    Heartbeat,
}

impl Client {
    fn new() -> Self {
        Self {
            session: Session::new(Config::default(), 0),
            input: BytesMut::new(),
            now_ms: 0,
        }
    }

    /// Past the handshake, with channel 1 open.
    fn running() -> Self {
        let mut client = Self::new();
        client.raw(&frame::PROTOCOL_HEADER);
        client.say(0, start_ok("PLAIN", b"\0guest\0guest", false));
        client.session.accept_login();
        client.say(0, tune_ok(2047, 131_072, 60));
        client.say(0, open("/"));
        client.session.accept_open();
        client.say(1, channel::Open::default());
        client.heard();
        assert!(client.session.is_open(1));
        client
    }

    /// Errors are answered at once, since nothing waits before them.
    fn raw(&mut self, bytes: &[u8]) -> Vec<Heard> {
        self.input.put_slice(bytes);
        let mut heard = Vec::new();
        while let Some(event) = self.session.receive(&mut self.input) {
            match event {
                Event::ChannelError { channel, error } => {
                    let failed = self.session.fail(channel, error);
                    heard.extend(failed.map(Heard::Event));
                }
                event => heard.push(Heard::Event(event)),
            }
        }
        heard.extend(self.session.close().map(Heard::Event));
        heard.extend(self.heard());
        heard
    }

    fn say(&mut self, channel: u16, method: impl Into<Method>) -> Vec<Heard> {
        let mut bytes = BytesMut::new();
        method.into().write(&mut bytes, channel);
        self.raw(&bytes)
    }

    fn frame(&mut self, kind: Kind, channel: u16, payload: &[u8]) -> Vec<Heard> {
        let mut bytes = BytesMut::new();
        frame::write(&mut bytes, kind, channel, |out| out.put_slice(payload));
        self.raw(&bytes)
    }

    /// What the server wrote since the last call.
    fn heard(&mut self) -> Vec<Heard> {
        let mut output = self.session.output().split();
        let mut heard = Vec::new();
        while let Ok(Some(frame)) = frame::split(&mut output, 1 << 20) {
            heard.push(match frame.kind {
                Kind::Heartbeat => Heard::Heartbeat,
                _ => Heard::Method(frame.channel, Method::parse(frame.payload).unwrap()),
            });
        }
        heard
    }
}

fn start_ok(mechanism: &str, response: &'static [u8], capable: bool) -> connection::StartOk {
    let capabilities = Table(vec![(
        "authentication_failure_close".into(),
        Value::Bool(capable),
    )]);
    connection::StartOk {
        client_properties: Table(vec![("capabilities".into(), Value::Table(capabilities))]),
        mechanism: mechanism.into(),
        response: Bytes::from_static(response),
        locale: "en_US".into(),
    }
}

fn tune_ok(channel_max: u16, frame_max: u32, heartbeat: u16) -> connection::TuneOk {
    connection::TuneOk {
        channel_max,
        frame_max,
        heartbeat,
    }
}

fn open(vhost: &str) -> connection::Open {
    connection::Open {
        virtual_host: vhost.into(),
        ..Default::default()
    }
}

fn header(class_id: u16, body_size: u64) -> Vec<u8> {
    let mut out = BytesMut::new();
    out.put_u16(class_id);
    out.put_u16(0);
    out.put_u64(body_size);
    out.put_u16(0);
    out.to_vec()
}

/// Code and offending method of the close that was heard, and on which channel.
fn closed_with(heard: &[Heard]) -> Option<(u16, u16, (u16, u16))> {
    heard.iter().find_map(|heard| match heard {
        Heard::Method(channel, Method::Connection(connection::Method::Close(close))) => Some((
            *channel,
            close.reply_code,
            (close.class_id, close.method_id),
        )),
        Heard::Method(channel, Method::Channel(channel::Method::Close(close))) => Some((
            *channel,
            close.reply_code,
            (close.class_id, close.method_id),
        )),
        _ => None,
    })
}

#[test]
fn handshake_offers_rabbitmqs_limits() {
    let mut client = Client::new();
    let heard = client.raw(&frame::PROTOCOL_HEADER);
    let [Heard::Method(0, Method::Connection(connection::Method::Start(start)))] = &heard[..]
    else {
        panic!("{heard:?}");
    };
    assert_eq!(
        start
            .server_properties
            .get("product")
            .and_then(Value::as_text),
        Some("RabbitMQ")
    );
    assert_eq!(&start.mechanisms[..], b"PLAIN AMQPLAIN");

    let heard = client.say(0, start_ok("PLAIN", b"\0me\0secret", false));
    let expected = Credentials {
        user: "me".into(),
        password: Bytes::from_static(b"secret"),
    };
    assert_eq!(heard, [Heard::Event(Event::Login(expected))]);
    client.session.accept_login();
    let tune = connection::Tune {
        channel_max: 2047,
        frame_max: 131_072,
        heartbeat: 60,
    };
    assert_eq!(client.heard(), [Heard::Method(0, tune.into())]);
    assert_eq!(client.say(0, tune_ok(10, 4096, 0)), []);
    assert_eq!(client.session.frame_max(), 4096);
    let vhost = ShortStr::from("/");
    assert_eq!(
        client.say(0, open("/")),
        [Heard::Event(Event::Open { vhost })]
    );
}

#[test]
fn amqplain_names_user_and_password_in_a_table() {
    let mut client = Client::new();
    client.raw(&frame::PROTOCOL_HEADER);
    let response = b"\x05LOGINS\x00\x00\x00\x02me\x08PASSWORDS\x00\x00\x00\x01p";
    let heard = client.say(0, start_ok("AMQPLAIN", response, false));
    let expected = Credentials {
        user: "me".into(),
        password: Bytes::from_static(b"p"),
    };
    assert_eq!(heard, [Heard::Event(Event::Login(expected))]);
}

#[test]
fn anything_but_amqp_gets_the_header_and_the_door() {
    for hello in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"AMQP\x00\x00\x09\x00",
        b"AMQP\x00\x01\x00\x00",
        b"\x16\x03\x01",
    ] {
        let mut client = Client::new();
        client.input.put_slice(hello);
        let event = client.session.receive(&mut client.input);
        let expected = Event::Closed {
            reason: Closed::WrongProtocol,
            linger_ms: 0,
        };
        assert_eq!(event, Some(expected));
        assert_eq!(&client.session.output()[..], b"AMQP\x00\x00\x09\x01");
    }
}

#[test]
fn a_wrong_login_closes_with_403_for_those_who_understand() {
    let mut client = Client::new();
    client.raw(&frame::PROTOCOL_HEADER);
    client.say(0, start_ok("PLAIN", b"\0me\0wrong", true));
    assert_eq!(client.session.refuse_login(), None);
    assert_eq!(closed_with(&client.heard()), Some((0, 403, (0, 0))));

    let mut client = Client::new();
    client.raw(&frame::PROTOCOL_HEADER);
    client.say(0, start_ok("PLAIN", b"\0me\0wrong", false));
    let event = client.session.refuse_login();
    let expected = Event::Closed {
        reason: Closed::LoginRefused,
        linger_ms: LOGIN_REFUSED_LINGER_MS,
    };
    assert_eq!(event, Some(expected));
    assert_eq!(client.heard(), []);
}

#[test]
fn limits_may_be_lowered_but_not_raised() {
    for (channel_max, frame_max) in [
        (0, 131_072),
        (2048, 131_072),
        (1, 0),
        (1, 131_073),
        (1, 4095),
    ] {
        let mut client = Client::new();
        client.raw(&frame::PROTOCOL_HEADER);
        client.say(0, start_ok("PLAIN", b"\0a\0b", false));
        client.session.accept_login();
        client.heard();
        let heard = client.say(0, tune_ok(channel_max, frame_max, 0));
        assert_eq!(closed_with(&heard), Some((0, 530, (10, 31))));
    }
}

#[test]
fn content_of_several_frames_is_one_publish() {
    let mut client = Client::running();
    let publish = basic::Publish {
        routing_key: "k".into(),
        ..Default::default()
    };
    assert_eq!(client.say(1, publish.clone()), []);
    assert_eq!(client.frame(Kind::Header, 1, &header(60, 5)), []);
    assert_eq!(client.frame(Kind::Body, 1, b"he"), []);
    let heard = client.frame(Kind::Body, 1, b"llo");
    let content = Content {
        properties: content::NO_PROPERTIES,
        body: Bytes::from_static(b"hello"),
    };
    let expected = Event::Publish {
        channel: 1,
        publish,
        content,
    };
    assert_eq!(heard, [Heard::Event(expected)]);
}

#[test]
fn an_empty_body_needs_no_body_frame() {
    let mut client = Client::running();
    client.say(1, basic::Publish::default());
    let heard = client.frame(Kind::Header, 1, &header(60, 0));
    assert!(
        matches!(&heard[..], [Heard::Event(Event::Publish { content, .. })] if content.body.is_empty())
    );
}

/// Frames out of turn: what is sent on channel 1 (after a publish or not), and the close it gets.
#[test]
fn content_out_of_turn_closes_the_connection() {
    type Frames = fn(&mut Client) -> Vec<Heard>;
    let cases: [(&str, Frames, (u16, u16)); 8] = [
        (
            "body without publish",
            |c| c.frame(Kind::Body, 1, b"x"),
            (0, 505),
        ),
        (
            "header without publish",
            |c| c.frame(Kind::Header, 1, &header(60, 1)),
            (0, 505),
        ),
        (
            "body before header",
            |c| {
                c.say(1, basic::Publish::default());
                c.frame(Kind::Body, 1, b"x")
            },
            (0, 505),
        ),
        (
            "method before header",
            |c| {
                c.say(1, basic::Publish::default());
                c.say(1, queue::Declare::default())
            },
            (0, 505),
        ),
        (
            "header of another class",
            |c| {
                c.say(1, basic::Publish::default());
                c.frame(Kind::Header, 1, &header(50, 1))
            },
            (0, 505),
        ),
        (
            "body longer than declared",
            |c| {
                c.say(1, basic::Publish::default());
                c.frame(Kind::Header, 1, &header(60, 1));
                c.frame(Kind::Body, 1, b"xy")
            },
            (0, 501),
        ),
        (
            "heartbeat on a channel",
            |c| c.frame(Kind::Heartbeat, 1, b""),
            (0, 505),
        ),
        (
            "message of 4 EiB",
            |c| {
                c.say(1, basic::Publish::default());
                c.frame(Kind::Header, 1, &header(60, 1 << 62))
            },
            (1, 406),
        ),
    ];
    for (name, frames, (channel, code)) in cases {
        let mut client = Client::running();
        let heard = frames(&mut client);
        let closed = closed_with(&heard).map(|(channel, code, _)| (channel, code));
        assert_eq!(closed, Some((channel, code)), "{name}");
    }
}

#[test]
fn methods_out_of_place_close_the_connection() {
    type Ids = (u16, u16);
    let cases: [(&str, u16, Method, u16, Ids); 8] = [
        (
            "on a channel not opened",
            2,
            queue::Declare::default().into(),
            504,
            (50, 10),
        ),
        (
            "second open",
            1,
            channel::Open::default().into(),
            504,
            (20, 10),
        ),
        (
            "channel.open on channel 0",
            0,
            channel::Open::default().into(),
            504,
            (20, 10),
        ),
        (
            "connection method on a channel",
            1,
            connection::Close::default().into(),
            503,
            (10, 50),
        ),
        ("open twice", 0, open("/").into(), 504, (10, 40)),
        (
            "a server's method",
            1,
            basic::GetOk::default().into(),
            503,
            (60, 71),
        ),
        (
            "flow off",
            1,
            channel::Flow { active: false }.into(),
            540,
            (20, 20),
        ),
        (
            "immediate",
            1,
            basic::Publish {
                immediate: true,
                ..Default::default()
            }
            .into(),
            540,
            (60, 40),
        ),
    ];
    for (name, channel, method, code, ids) in cases {
        let mut client = Client::running();
        let heard = client.say(channel, method);
        assert_eq!(closed_with(&heard), Some((0, code, ids)), "{name}");
    }
}

#[test]
fn bytes_that_are_no_frame_close_the_connection_at_once() {
    for bytes in [
        &[0u8; 16][..],
        b"\x01\x00\x01\x00\xff\xff\xff",
        b"\x08\x00\x00\x00\x00\x00\x00\x00",
    ] {
        let mut client = Client::running();
        let heard = client.raw(bytes);
        assert_eq!(closed_with(&heard), Some((0, 501, (0, 0))));
        assert!(client.session.is_closed());
    }
}

#[test]
fn the_count_of_channels_is_limited_not_their_numbers() {
    let mut client = Client::new();
    client.raw(&frame::PROTOCOL_HEADER);
    client.say(0, start_ok("PLAIN", b"\0a\0b", false));
    client.session.accept_login();
    client.say(0, tune_ok(2, 131_072, 0));
    client.say(0, open("/"));
    client.session.accept_open();
    client.heard();
    client.say(7, channel::Open::default());
    client.say(65_535, channel::Open::default());
    let heard = client.say(8, channel::Open::default());
    assert_eq!(closed_with(&heard), Some((0, 530, (20, 10))));
}

#[test]
fn silence_is_filled_with_heartbeats_and_a_silent_client_is_given_up() {
    let mut client = Client::running();
    assert_eq!(client.session.deadline_ms(), Some(30_000));
    client.now_ms = 30_000;
    assert_eq!(client.session.tick(client.now_ms), None);
    assert_eq!(client.heard(), [Heard::Heartbeat]);
    client.session.received(50_000);
    assert_eq!(client.session.tick(169_999), None);
    let expected = Event::Closed {
        reason: Closed::HeartbeatMissed,
        linger_ms: 0,
    };
    assert_eq!(client.session.tick(170_000), Some(expected));
}
