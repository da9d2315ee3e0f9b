//! What one channel waits for, and what that costs others: nothing.

use std::time::Duration;

use amqp_wire::Properties;
use amqp_wire::method::{Method, basic, channel, connection, queue};
use bytes::BytesMut;
use machine::metadata::command::Command;
use model::BrokerId;

use super::{Client, Config, Fixture};

const HERE: BrokerId = BrokerId(0);
/// Nobody answers there.
const ELSEWHERE: BrokerId = BrokerId(9);

fn declare(name: &str) -> queue::Declare {
    queue::Declare {
        queue: name.into(),
        durable: true,
        ..queue::Declare::default()
    }
}

fn declare_quorum(name: &str) -> queue::Declare {
    queue::Declare {
        arguments: amqp_wire::Table(vec![("x-queue-type".into(), "quorum".into())]),
        ..declare(name)
    }
}

fn consume(queue: &str) -> basic::Consume {
    basic::Consume {
        queue: queue.into(),
        ..basic::Consume::default()
    }
}

/// Code and text of the close that comes next, and whether it is the channel's.
async fn close(client: &mut Client) -> (bool, String) {
    match client.hear().await {
        Method::Channel(channel::Method::Close(close)) => (true, close.reply_text.to_string()),
        Method::Connection(connection::Method::Close(close)) => {
            (false, close.reply_text.to_string())
        }
        other => panic!("expected a close, got {other:?}"),
    }
}

#[tokio::test]
async fn a_channel_that_waits_holds_up_itself_only_and_keeps_its_order() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.open(2).await;
    // Waits until a broker has registered that could carry the queue.
    client.say(1, declare_quorum("quorum")).await;
    client.say(1, declare("after")).await;
    let publish = basic::Publish {
        routing_key: "after".into(),
        ..basic::Publish::default()
    };
    client.publish(publish, &Properties::default(), b"m").await;
    client.say(1, channel::Close::default()).await;

    client.say(2, declare("other")).await;
    let Method::Queue(queue::Method::DeclareOk(ok)) = client.hear().await else {
        panic!("expected declare-ok");
    };
    assert_eq!(ok.queue.as_str(), "other");

    fixture.register(HERE).await;
    for expected in ["quorum", "after"] {
        let Method::Queue(queue::Method::DeclareOk(ok)) = client.hear().await else {
            panic!("expected declare-ok");
        };
        assert_eq!(ok.queue.as_str(), expected);
    }
    assert_eq!(client.hear().await, channel::CloseOk {}.into());
    client.say(2, declare("after")).await;
    let Method::Queue(queue::Method::DeclareOk(ok)) = client.hear().await else {
        panic!("expected declare-ok");
    };
    assert_eq!(ok.message_count, 1);
}

#[tokio::test]
async fn the_error_of_a_bad_frame_comes_behind_the_answers_of_methods_before_it() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.open(2).await;
    // Waits until a broker has registered that could carry the queue.
    client.say(1, declare_quorum("quorum")).await;
    let mut bytes = BytesMut::new();
    Method::from(declare("after")).write(&mut bytes, 1);
    Method::from(declare("other")).write(&mut bytes, 2);
    bytes.extend_from_slice(&[0; 8]);
    client.raw(&bytes).await;
    // Answered by the time that the bad frame was read.
    for expected in ["other", "quorum", "after"] {
        let Method::Queue(queue::Method::DeclareOk(ok)) = client.hear().await else {
            panic!("expected declare-ok");
        };
        assert_eq!(ok.queue.as_str(), expected);
        if expected == "other" {
            fixture.register(HERE).await;
        }
    }
    let (of_channel, text) = close(&mut client).await;
    assert!(!of_channel && text.starts_with("FRAME_ERROR"), "{text}");
}

#[tokio::test]
async fn a_socket_is_not_read_while_too_much_waits_behind_a_method() {
    let fixture = Fixture::with(Config {
        waiting_bytes_max: 1,
        ..Config::default()
    })
    .await;
    let mut client = fixture.client().await;
    client.open(2).await;
    client.say(1, declare_quorum("quorum")).await;
    client.say(1, declare("after")).await;
    client.say(2, declare("other")).await;
    fixture.register(HERE).await;
    // Read, the third would have been answered first.
    let Method::Queue(queue::Method::DeclareOk(ok)) = client.hear().await else {
        panic!("expected declare-ok");
    };
    assert_eq!(ok.queue.as_str(), "quorum");
    client.hear().await;
    client.hear().await;
}

#[tokio::test]
async fn a_classic_queue_whose_home_is_down_costs_the_channel() {
    let fixture = Fixture::new().await;
    let away = Command::DeclareQueue {
        vhost: "/".into(),
        name: "away".into(),
        quorum: false,
        home: ELSEWHERE,
        durable: true,
        auto_delete: false,
        exclusive: None,
        arguments: Default::default(),
    };
    fixture.front.metadata.submit(away).await.unwrap();
    let mut client = fixture.client().await;
    let asked: [Method; 3] = [
        declare("away").into(),
        consume("away").into(),
        queue::Purge {
            queue: "away".into(),
            ..queue::Purge::default()
        }
        .into(),
    ];
    for method in asked {
        client.say(1, method).await;
        let text = "NOT_FOUND - home node '9' of durable queue 'away' in vhost '/' is down or inaccessible";
        assert_eq!(close(&mut client).await, (true, text.into()));
        client.say(1, channel::CloseOk {}).await;
        client.open(1).await;
    }
}

#[tokio::test]
async fn a_quorum_queue_without_majority_costs_its_consumers_the_connection_after_a_while() {
    let fixture = Fixture::with(Config {
        operation_timeout: Duration::from_millis(50),
        ..Config::default()
    })
    .await;
    fixture.register(ELSEWHERE).await;
    let mut client = fixture.client().await;
    let unasked = queue::Declare {
        no_wait: true,
        ..declare_quorum("q")
    };
    client.say(1, unasked).await;
    client.say(1, consume("q")).await;
    let text = "INTERNAL_ERROR - timed out consuming from quorum queue 'q' in vhost '/'";
    assert_eq!(close(&mut client).await, (false, text.into()));
}

#[tokio::test]
async fn an_auto_delete_queue_is_gone_before_close_ok() {
    let fixture = Fixture::new().await;
    let auto_delete = |name: &str| queue::Declare {
        auto_delete: true,
        ..declare(name)
    };
    let there = |name: &str| {
        fixture.front.metadata.image().vhosts["/"]
            .queues
            .contains_key(name)
    };
    for _ in 0..20 {
        let mut client = fixture.client().await;
        client.ask(auto_delete("by channel")).await;
        client.ask(consume("by channel")).await;
        let ok = client.ask(channel::Close::default()).await;
        assert_eq!(ok, channel::CloseOk {}.into());
        assert!(!there("by channel"));

        client.open(1).await;
        client.ask(auto_delete("by connection")).await;
        client.ask(consume("by connection")).await;
        client.say(0, connection::Close::default()).await;
        assert_eq!(client.hear().await, connection::CloseOk {}.into());
        assert!(!there("by connection"));
    }
}
