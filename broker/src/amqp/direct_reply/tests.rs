use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::frame::Received;
use super::*;
use crate::peer::{self, Address, Identity};

fn text(text: &str) -> Message {
    Message {
        body: Bytes::copy_from_slice(text.as_bytes()),
        ..Message::default()
    }
}

#[test]
fn a_token_is_read_as_it_is_written_and_nothing_else_is_one() {
    let token = Token::draw(BrokerId(3));
    assert_eq!(Token::parse(&token.to_string()), Some(token));
    let key = "0123456789abcdef0123456789abcdef";
    for wrong in [
        NAME.to_owned(),
        format!("{NAME}."),
        format!("{NAME}.3.{key}0"),
        format!("{NAME}.+3.{key}"),
        format!("{NAME}.03.{key}"),
        format!("{NAME}.99999999999.{key}"),
        format!("{NAME}.3.{}", key.to_uppercase()),
        format!("{NAME}.3.{{01234567-89ab-cdef-0123-456789abcdef}}"),
        format!("{NAME}.3.{key}."),
        format!("amq.{key}"),
    ] {
        assert_eq!(Token::parse(&wrong), None, "{wrong}");
    }
}

#[test]
fn a_frame_of_a_peer_that_ends_early_is_refused() {
    let key = Uuid::from_u128(7);
    let whole = Frame::Reply {
        vhost: "/",
        key,
        routing_key: "key",
        properties: Bytes::from_static(&[0, 0]),
        body: Bytes::from_static(b"body"),
    };
    let whole = whole.encode();
    let expected = Received::Reply {
        vhost: "/".into(),
        key,
        routing_key: "key".into(),
        properties: Bytes::from_static(&[0, 0]),
        body: Bytes::from_static(b"body"),
    };
    assert_eq!(frame::decode(&mut whole.clone()), Some(expected));
    // Any length is one for the body, but not for what comes before it.
    for end in 0..whole.len() - "body".len() {
        assert_eq!(frame::decode(&mut whole.slice(..end)), None, "{end}");
    }
}

#[tokio::test]
async fn a_reply_reaches_its_requester_only_while_there_is_room_and_in_its_vhost() {
    let metrics = Metrics::default();
    let replies = Replies::start(Mesh::alone(BrokerId(0)), metrics.clone());
    let (mut session, _events) =
        crate::queue::Queues::detached(BrokerId(0), crate::queue::Config::default()).open();
    let inbox = Arc::new(Inbox::new(1));
    let channel = session.open_channel();
    let registration = replies.register(&"/".into(), channel, &inbox);
    let token = registration.token;

    replies.publish("other", token, &text("other vhost"));
    replies.publish("/", Token::draw(BrokerId(0)), &text("guessed"));
    replies.publish("/", Token::draw(BrokerId(9)), &text("no such broker"));
    replies.publish("/", token, &text("first"));
    replies.publish("/", token, &text("no room"));
    let bodies = |replies: Vec<Reply>| {
        let bodies = replies.into_iter().map(|reply| reply.message.body);
        bodies.collect::<Vec<_>>()
    };
    assert_eq!(bodies(inbox.take().await), ["first"]);
    replies.publish("/", token, &text("second"));
    assert_eq!(bodies(inbox.take().await), ["second"]);
    assert_eq!(metrics.replies_dropped.get(), 4);

    assert!(replies.exists("/", token).await);
    assert!(!replies.exists("other", token).await);
    drop(registration);
    assert!(!replies.exists("/", token).await);
}

async fn mesh(broker: BrokerId) -> (Mesh, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = Address {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    let identity = Identity {
        broker,
        cluster_id: "test".to_owned(),
        incarnation: Uuid::nil(),
    };
    let mesh = Mesh::start(identity, peer::Config::default(), vec![listener]);
    (mesh, address)
}

#[tokio::test]
async fn a_reply_finds_its_requester_on_another_broker() {
    let (here, there) = (BrokerId(1), BrokerId(2));
    let (mesh_here, address) = mesh(here).await;
    let (mesh_there, _) = mesh(there).await;
    let requesters = Replies::start(mesh_here, Metrics::default());
    let server = Replies::start(mesh_there.clone(), Metrics::default());
    mesh_there.set_peers(BTreeMap::from([(here, address)]));
    let mut alive = mesh_there.alive();
    let answers = alive.wait_for(|alive| alive.is_alive(here));
    answers.await.unwrap();

    let (mut session, _events) =
        crate::queue::Queues::detached(here, crate::queue::Config::default()).open();
    let inbox = Arc::new(Inbox::new(1024));
    let registration = requesters.register(&"/".into(), session.open_channel(), &inbox);
    let token = registration.token;
    assert!(server.exists("/", token).await);
    let reply = Message {
        routing_key: token.to_string().into(),
        properties: Bytes::from_static(&[0, 0]),
        ..text("pong")
    };
    server.publish("/", token, &reply);
    let received = inbox.take().await;
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].message, reply);
    assert!(token.has_key(received[0].key));
    drop(registration);
    assert!(!server.exists("/", token).await);
}
