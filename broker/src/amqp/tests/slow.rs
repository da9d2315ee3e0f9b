//! Clients that stop in the middle of a message, or do not read.

use std::time::Duration;

use amqp_wire::method::{Method, basic, confirm, connection, queue};
use amqp_wire::{Properties, content};
use bytes::BytesMut;
use model::BrokerId;

use super::client::Client;
use super::{Config, Fixture};

fn publish() -> basic::Publish {
    basic::Publish {
        routing_key: "q".into(),
        ..basic::Publish::default()
    }
}

/// Sends the beginning of a message of a megabyte.
async fn begin(client: &mut Client) {
    let mut out = BytesMut::new();
    let body = vec![7; 1 << 20];
    content::write(&mut out, 1, 131_072, &publish(), &[0, 0], &body);
    client.raw(&out[..300 << 10]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_in_the_middle_of_a_message_is_let_go() {
    let config = Config {
        contents_stall: Duration::from_millis(50),
        ..Config::default()
    };
    let fixture = Fixture::with(config).await;
    let mut client = fixture.client().await;
    begin(&mut client).await;
    assert!(client.frame().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_begun_and_not_ended_hold_up_nobody() {
    let config = Config {
        contents_bytes_max: 1,
        full_stall: Duration::from_millis(100),
        ..Config::default()
    };
    let fixture = Fixture::with(config).await;
    let mut silent = Vec::new();
    for _ in 0..4 {
        let mut client = fixture.client().await;
        begin(&mut client).await;
        silent.push(client);
    }
    let mut client = fixture.client().await;
    client.ask(confirm::Select::default()).await;
    let body = vec![7; 1 << 20];
    client
        .publish(publish(), &Properties::default(), &body)
        .await;
    let ack = client.hear().await;
    assert!(
        matches!(ack, Method::Basic(basic::Method::Ack(_))),
        "{ack:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_let_go_when_memory_is_short() {
    let config = Config {
        full_stall: Duration::from_millis(100),
        ..Config::default()
    };
    let small = crate::queue::Config {
        memory_bytes_max: 1 << 20,
        disk_free_bytes_min: 1,
        ..crate::queue::Config::default()
    };
    let fixture = Fixture::with_queues(config, small).await;
    fixture.register(BrokerId(0)).await;
    let mut publisher = fixture.client().await;
    let (mut reader, served) = fixture.served_alone().await;
    let declare = queue::Declare {
        queue: "q".into(),
        durable: true,
        arguments: amqp_wire::Table(vec![("x-queue-type".into(), "quorum".into())]),
        ..queue::Declare::default()
    };
    publisher.ask(declare).await;
    publisher.ask(confirm::Select::default()).await;
    let body = vec![7; 100 << 10];
    for _ in 0..8 {
        publisher
            .publish(publish(), &Properties::default(), &body)
            .await;
        publisher.hear().await;
    }
    // More than the sockets between take, of messages that go back each time.
    for tag in 1..=120 {
        let get = basic::Get {
            queue: "q".into(),
            ..basic::Get::default()
        };
        reader.say(1, get).await;
        let back = basic::Nack {
            delivery_tag: tag,
            requeue: true,
            ..basic::Nack::default()
        };
        reader.say(1, back).await;
    }
    // What the sockets still take ends the shortage: it is brought about until the reader is gone.
    let publishing = tokio::spawn(async move {
        loop {
            publisher
                .publish(publish(), &Properties::default(), &body)
                .await;
            while let Method::Connection(connection::Method::Blocked(_)) = publisher.hear().await {
                publisher.hear().await;
            }
        }
    });
    tokio::time::timeout(Duration::from_secs(60), served)
        .await
        .expect("the reader is let go")
        .unwrap();
    publishing.abort();
}
