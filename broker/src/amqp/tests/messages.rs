//! Messages through the front: confirms, returns, deliveries, settlements, transactions.

use amqp_wire::method::{Method, basic, channel, confirm, queue, tx};
use amqp_wire::{Properties, Table, Value};

use super::{Client, Fixture};

async fn declare(client: &mut Client, name: &str) {
    let declare = queue::Declare {
        queue: name.into(),
        durable: true,
        ..queue::Declare::default()
    };
    client.ask(declare).await;
}

/// Ready messages and consumers of a queue.
async fn counts(client: &mut Client, name: &str) -> (u32, u32) {
    let passive = queue::Declare {
        queue: name.into(),
        passive: true,
        ..queue::Declare::default()
    };
    match client.ask(passive).await {
        Method::Queue(queue::Method::DeclareOk(ok)) => (ok.message_count, ok.consumer_count),
        other => panic!("expected declare-ok, got {other:?}"),
    }
}

fn to(queue: &str) -> basic::Publish {
    basic::Publish {
        routing_key: queue.into(),
        ..basic::Publish::default()
    }
}

fn persistent() -> Properties {
    Properties {
        delivery_mode: Some(2),
        ..Properties::default()
    }
}

fn consume(queue: &str) -> basic::Consume {
    basic::Consume {
        queue: queue.into(),
        consumer_tag: "tag".into(),
        ..basic::Consume::default()
    }
}

#[tokio::test]
async fn a_persistent_message_is_confirmed_delivered_and_acknowledged() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    client.ask(confirm::Select::default()).await;
    client.publish(to("q"), &persistent(), b"hello").await;
    let ack = basic::Ack {
        delivery_tag: 1,
        multiple: false,
    };
    assert_eq!(client.hear().await, ack.clone().into());

    client.ask(consume("q")).await;
    let (deliver, content) = client.delivery().await;
    assert_eq!((deliver.delivery_tag, deliver.redelivered), (1, false));
    assert_eq!(deliver.routing_key.as_str(), "q");
    assert_eq!(&content.body[..], b"hello");
    assert_eq!(Properties::parse(content.properties), Ok(persistent()));
    client.say(1, ack).await;
    assert_eq!(counts(&mut client, "q").await, (0, 1));
    assert_eq!(fixture.front.metrics.messages_acknowledged.get(), 1);
}

#[tokio::test]
async fn a_body_of_many_frames_comes_back_whole() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    let body: Vec<u8> = (0..3_000_000u32)
        .map(|i| u8::try_from(i % 251).unwrap())
        .collect();
    client.publish(to("q"), &Properties::default(), &body).await;
    client.ask(consume("q")).await;
    let (_, content) = client.delivery().await;
    assert!(content.body == body);
}

#[tokio::test]
async fn a_mandatory_message_that_reaches_nobody_is_returned_before_its_confirm() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.ask(confirm::Select::default()).await;
    let publish = basic::Publish {
        mandatory: true,
        ..to("nobody")
    };
    client.publish(publish, &persistent(), b"x").await;
    let Method::Basic(basic::Method::Return(returned)) = client.hear().await else {
        panic!("expected a return");
    };
    assert_eq!(
        (returned.reply_code, returned.reply_text.as_str()),
        (312, "NO_ROUTE")
    );
    assert_eq!(&client.content().await.body[..], b"x");
    assert!(matches!(
        client.hear().await,
        Method::Basic(basic::Method::Ack(_))
    ));
}

#[tokio::test]
async fn a_megabyte_and_more_of_waiting_messages_all_come() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    for _ in 0..60 {
        client
            .publish(to("q"), &Properties::default(), &[7; 50_000])
            .await;
    }
    client.ask(consume("q")).await;
    for tag in 1..=60 {
        assert_eq!(client.delivery().await.0.delivery_tag, tag);
    }
}

#[tokio::test]
async fn copies_go_to_the_keys_in_cc_and_bcc_and_bcc_is_not_shown() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for name in ["a", "b", "c"] {
        declare(&mut client, name).await;
    }
    let keys = |key: &'static str| Value::Array(vec![key.into()]);
    let headers = Table(vec![("CC".into(), keys("b")), ("BCC".into(), keys("c"))]);
    let properties = Properties {
        headers: Some(headers),
        ..Properties::default()
    };
    client.publish(to("a"), &properties, b"x").await;
    client.ask(consume("c")).await;
    let (_, content) = client.delivery().await;
    let seen = Properties::parse(content.properties)
        .unwrap()
        .headers
        .unwrap();
    assert_eq!(seen, Table(vec![("CC".into(), keys("b"))]));
    assert_eq!(counts(&mut client, "a").await, (1, 0));
    assert_eq!(counts(&mut client, "b").await, (1, 0));
}

#[tokio::test]
async fn prefetch_bounds_what_a_consumer_holds() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    for _ in 0..3 {
        client.publish(to("q"), &Properties::default(), b"x").await;
    }
    let qos = basic::Qos {
        prefetch_count: 2,
        ..basic::Qos::default()
    };
    client.ask(qos).await;
    client.ask(consume("q")).await;
    client.delivery().await;
    client.delivery().await;
    assert_eq!(counts(&mut client, "q").await, (1, 1));
    let ack = basic::Ack {
        delivery_tag: 2,
        multiple: true,
    };
    client.say(1, ack).await;
    assert_eq!(client.delivery().await.0.delivery_tag, 3);
}

#[tokio::test]
async fn a_window_of_the_channel_bounds_all_its_consumers_together() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for name in ["a", "b"] {
        declare(&mut client, name).await;
        client.publish(to(name), &Properties::default(), b"x").await;
    }
    let qos = basic::Qos {
        prefetch_count: 1,
        global: true,
        ..basic::Qos::default()
    };
    client.ask(qos).await;
    client.ask(consume("a")).await;
    client.delivery().await;
    let second = basic::Consume {
        consumer_tag: "other".into(),
        ..consume("b")
    };
    // The answers to these would come after a delivery that is not held back.
    client.ask(second).await;
    assert_eq!(counts(&mut client, "b").await, (0, 1));
    let ack = basic::Ack {
        delivery_tag: 1,
        multiple: false,
    };
    client.say(1, ack).await;
    let (deliver, _) = client.delivery().await;
    assert_eq!(
        (deliver.consumer_tag.as_str(), deliver.delivery_tag),
        ("other", 2)
    );
}

#[tokio::test]
async fn what_a_closed_channel_held_comes_again_as_redelivered() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    client.publish(to("q"), &Properties::default(), b"x").await;
    client.ask(consume("q")).await;
    client.delivery().await;
    client.ask(channel::Close::default()).await;
    client.open(1).await;
    client.ask(consume("q")).await;
    let (deliver, _) = client.delivery().await;
    assert!(deliver.redelivered);
}

#[tokio::test]
async fn cancel_ok_is_the_last_word_and_keeps_what_is_unacknowledged() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    client.publish(to("q"), &Properties::default(), b"x").await;
    client.ask(consume("q")).await;
    client.delivery().await;
    let cancel = basic::Cancel {
        consumer_tag: "tag".into(),
        no_wait: false,
    };
    let answer = client.ask(cancel).await;
    assert!(matches!(answer, Method::Basic(basic::Method::CancelOk(_))));
    assert_eq!(counts(&mut client, "q").await, (0, 0));
    let reject = basic::Reject {
        delivery_tag: 1,
        requeue: true,
    };
    client.say(1, reject).await;
    assert_eq!(counts(&mut client, "q").await, (1, 0));
}

#[tokio::test]
async fn a_deleted_queue_cancels_its_consumers() {
    let fixture = Fixture::new().await;
    let (mut client, mut other) = (fixture.client().await, fixture.client().await);
    declare(&mut client, "q").await;
    client.ask(consume("q")).await;
    let delete = queue::Delete {
        queue: "q".into(),
        ..queue::Delete::default()
    };
    other.ask(delete).await;
    let expected = basic::Cancel {
        consumer_tag: "tag".into(),
        no_wait: true,
    };
    assert_eq!(client.hear().await, expected.into());
}

#[tokio::test]
async fn a_transaction_does_nothing_before_its_commit() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    client.ask(tx::Select {}).await;
    client.publish(to("q"), &persistent(), b"rolled back").await;
    client.ask(tx::Rollback {}).await;
    client.publish(to("q"), &persistent(), b"committed").await;
    assert_eq!(counts(&mut client, "q").await, (0, 0));
    assert_eq!(client.ask(tx::Commit {}).await, tx::CommitOk {}.into());
    assert_eq!(counts(&mut client, "q").await, (1, 0));

    client.ask(consume("q")).await;
    let (deliver, content) = client.delivery().await;
    assert_eq!(&content.body[..], b"committed");
    let ack = basic::Ack {
        delivery_tag: deliver.delivery_tag,
        multiple: false,
    };
    client.say(1, ack.clone()).await;
    client.ask(tx::Rollback {}).await;
    // The acknowledgement was taken back, so it can be given again.
    client.say(1, ack).await;
    assert_eq!(client.ask(tx::Commit {}).await, tx::CommitOk {}.into());
    client.ask(channel::Close::default()).await;
    client.open(1).await;
    assert_eq!(counts(&mut client, "q").await, (0, 0));
}

#[tokio::test]
async fn get_takes_one_message_and_says_how_many_are_left() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    declare(&mut client, "q").await;
    for body in [b"1", b"2"] {
        client.publish(to("q"), &Properties::default(), body).await;
    }
    let get = basic::Get {
        queue: "q".into(),
        no_ack: true,
        ..basic::Get::default()
    };
    let Method::Basic(basic::Method::GetOk(ok)) = client.ask(get.clone()).await else {
        panic!("expected get-ok");
    };
    assert_eq!((ok.delivery_tag, ok.message_count), (1, 1));
    assert_eq!(&client.content().await.body[..], b"1");
    client.ask(get.clone()).await;
    client.content().await;
    let empty = basic::GetEmpty::default();
    assert_eq!(client.ask(get).await, empty.into());
}
