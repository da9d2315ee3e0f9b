//! `connection.blocked`: who publishes while memory is short, and who does not.

use amqp_wire::Properties;
use amqp_wire::method::{Method, basic, confirm, connection, queue};
use model::BrokerId;

use super::{Config, Fixture};

#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_is_told_that_it_waits_and_is_not_read_until_consumers_have_made_room() {
    let small = crate::queue::Config {
        memory_bytes_max: 1 << 20,
        // Whatever disk the tests run on.
        disk_free_bytes_min: 1,
        ..crate::queue::Config::default()
    };
    let fixture = Fixture::with_queues(Config::default(), small).await;
    fixture.register(BrokerId(0)).await;
    let (mut publisher, mut consumer) = (fixture.client().await, fixture.client().await);
    let declare = queue::Declare {
        queue: "q".into(),
        durable: true,
        arguments: amqp_wire::Table(vec![("x-queue-type".into(), "quorum".into())]),
        ..queue::Declare::default()
    };
    publisher.ask(declare.clone()).await;
    publisher.ask(confirm::Select::default()).await;
    let publish = basic::Publish {
        routing_key: "q".into(),
        ..basic::Publish::default()
    };
    let mut published = 0;
    let reason = loop {
        let body = vec![7; 100 << 10];
        publisher
            .publish(publish.clone(), &Properties::default(), &body)
            .await;
        published += 1;
        match publisher.hear().await {
            Method::Basic(basic::Method::Ack(_)) => {}
            Method::Connection(connection::Method::Blocked(blocked)) => break blocked.reason,
            other => panic!("expected an ack or blocked, got {other:?}"),
        }
    };
    assert_eq!(reason.as_str(), "low on memory");
    publisher.say(1, declare).await;

    let get = basic::Get {
        queue: "q".into(),
        no_ack: true,
        ..basic::Get::default()
    };
    for _ in 0..published {
        consumer.ask(get.clone()).await;
        consumer.content().await;
    }
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(publisher.hear().await);
    }
    // The last ack may come at any time; the declare was read after the block only.
    heard.retain(|method| !matches!(method, Method::Basic(_)));
    assert_eq!(heard[0], connection::Unblocked {}.into());
    assert!(matches!(
        heard[1],
        Method::Queue(queue::Method::DeclareOk(_))
    ));
}
