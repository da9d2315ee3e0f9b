//! The ends of channels and connections, by either side and by both at once.

use super::*;
use crate::exception::Exception;
use crate::frame::Kind;
use crate::method::{channel, connection, queue};

#[test]
fn a_failed_channel_is_deaf_until_close_ok_and_then_free() {
    let mut client = Client::running();
    let error =
        Exception::new(ReplyCode::NotFound, "no queue 'q' in vhost '/'").caused_by_ids(50, 10);
    let event = client.session.fail(1, error.clone());
    assert_eq!(event, Some(Event::ChannelFailed { channel: 1, error }));
    let heard = client.heard();
    let [Heard::Method(1, Method::Channel(channel::Method::Close(close)))] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert_eq!(
        close.reply_text.as_str(),
        "NOT_FOUND - no queue 'q' in vhost '/'"
    );

    assert_eq!(client.say(1, queue::Declare::default()), []);
    assert_eq!(client.say(1, basic::Publish::default()), []);
    assert_eq!(client.frame(Kind::Header, 1, &header(60, 3)), []);
    assert_eq!(client.frame(Kind::Body, 1, b"abc"), []);
    client.session.send(1, &queue::DeclareOk::default());
    assert_eq!(client.heard(), []);

    let heard = client.say(1, channel::CloseOk {});
    assert_eq!(heard, [Heard::Event(Event::ChannelClosed { channel: 1 })]);
    let heard = client.say(1, channel::Open::default());
    assert_eq!(
        heard.first(),
        Some(&Heard::Event(Event::ChannelOpened { channel: 1 }))
    );
}

#[test]
fn a_close_is_answered_when_the_broker_says_so_and_nothing_is_heard_before() {
    let mut client = Client::running();
    let heard = client.say(1, channel::Close::default());
    assert_eq!(heard, [Heard::Event(Event::ChannelClose { channel: 1 })]);
    assert_eq!(client.say(1, queue::Declare::default()), []);
    // What was asked before may still be answered.
    client.session.send(1, &queue::DeclareOk::default());
    client.session.close_channel_ok(1);
    let answers = [
        Heard::Method(1, queue::DeclareOk::default().into()),
        Heard::Method(1, channel::CloseOk {}.into()),
    ];
    assert_eq!(client.heard(), answers);
    client.say(1, channel::Open::default());

    let close = connection::Close {
        reply_code: 200,
        reply_text: "bye".into(),
        ..Default::default()
    };
    let asked = Event::Close {
        code: 200,
        text: "bye".into(),
    };
    assert_eq!(client.say(0, close), [Heard::Event(asked)]);
    assert_eq!(client.say(1, queue::Declare::default()), []);
    client.session.close_ok();
    let answer = Heard::Method(0, connection::CloseOk {}.into());
    assert_eq!(client.heard(), [answer]);
    assert!(client.session.is_closed());
}

#[test]
fn an_error_on_a_channel_that_its_client_closes_ends_it() {
    let mut client = Client::running();
    client.say(1, channel::Close::default());
    let error = Exception::new(ReplyCode::NotFound, "no queue 'q' in vhost '/'");
    let event = client.session.fail(1, error.clone());
    assert_eq!(event, Some(Event::ChannelFailed { channel: 1, error }));
    let heard = client.heard();
    assert_eq!(closed_with(&heard), Some((1, 404, (0, 0))));
    assert_eq!(
        heard.last(),
        Some(&Heard::Method(1, channel::CloseOk {}.into()))
    );
    // The client's answer to our close, and the number is free.
    assert_eq!(client.say(1, channel::CloseOk {}), []);
    let heard = client.say(1, channel::Open::default());
    assert_eq!(
        heard.first(),
        Some(&Heard::Event(Event::ChannelOpened { channel: 1 }))
    );
}

#[test]
fn a_connection_error_waits_for_close_ok() {
    let mut client = Client::running();
    let error = Exception::new(ReplyCode::NotImplemented, "prefetch_size!=0 (1)");
    assert_eq!(client.session.fail(1, error.clone()), None);
    assert_eq!(client.session.close(), None);
    client.heard();
    assert_eq!(client.say(1, queue::Declare::default()), []);
    let heard = client.say(0, connection::CloseOk {});
    let expected = Event::Closed {
        reason: Closed::ByServer(error),
        linger_ms: 0,
    };
    assert_eq!(heard, [Heard::Event(expected)]);
}

#[test]
fn an_error_of_the_connection_comes_behind_the_answers_before_it() {
    let mut client = Client::running();
    client.input.put_slice(&[0; 16]);
    assert_eq!(client.session.receive(&mut client.input), None);
    let later = Exception::new(ReplyCode::NotImplemented, "a second one is not told");
    assert_eq!(client.session.fail(1, later), None);
    client.session.send(1, &queue::DeclareOk::default());
    let answer = Heard::Method(1, queue::DeclareOk::default().into());
    assert_eq!(client.heard(), [answer]);
    assert!(matches!(client.session.close(), Some(Event::Closed { .. })));
    assert_eq!(closed_with(&client.heard()), Some((0, 501, (0, 0))));
}

#[test]
fn an_error_on_a_channel_comes_behind_the_answers_before_it() {
    for closes in [false, true] {
        let mut client = Client::running();
        client.say(1, basic::Publish::default());
        frame::write(&mut client.input, Kind::Header, 1, |out| {
            out.put_slice(&header(60, 1 << 62));
        });
        let Some(Event::ChannelError { channel: 1, error }) =
            client.session.receive(&mut client.input)
        else {
            panic!("expected an error");
        };
        assert_eq!(client.frame(Kind::Body, 1, b"x"), []);
        assert_eq!(client.say(1, queue::Declare::default()), []);
        if closes {
            assert_eq!(client.say(1, channel::Close::default()), []);
        }
        client.session.send(1, &queue::DeclareOk::default());
        let answer = Heard::Method(1, queue::DeclareOk::default().into());
        assert_eq!(client.heard(), [answer]);
        assert!(client.session.fail(1, error).is_some());
        let heard = client.heard();
        assert_eq!(closed_with(&heard), Some((1, 406, (60, 40))));
        let close_ok = Heard::Method(1, channel::CloseOk {}.into());
        assert_eq!(heard.contains(&close_ok), closes);
    }
}
