//! Which mistake costs what: reply code, scope, offending method and RabbitMQ's text.

use amqp_wire::method::{Method, basic, channel, confirm, connection, exchange, queue, tx};
use amqp_wire::{Properties, Table, Value};

use super::{Client, Fixture};

/// Says `methods` on channel 1 one after the other and returns the close that ends them:
/// `channel|connection code class.method text`.
async fn check(client: &mut Client, methods: Vec<Method>, expected: &str) {
    let last = methods.last().map(Method::ids);
    for method in methods {
        client.say(1, method).await;
    }
    let (scope, code, text, class_id, method_id) = loop {
        match client.hear().await {
            Method::Channel(channel::Method::Close(c)) => {
                break (
                    "channel",
                    c.reply_code,
                    c.reply_text,
                    c.class_id,
                    c.method_id,
                );
            }
            Method::Connection(connection::Method::Close(c)) => {
                break (
                    "connection",
                    c.reply_code,
                    c.reply_text,
                    c.class_id,
                    c.method_id,
                );
            }
            _ => {}
        }
    };
    assert_eq!(format!("{scope} {code} {text}"), expected);
    assert_eq!(Some((class_id, method_id)), last, "{expected}");
}

fn declare(name: &str) -> queue::Declare {
    queue::Declare {
        queue: name.into(),
        ..queue::Declare::default()
    }
}

fn declare_with(name: &str, argument: &str, value: Value) -> Method {
    queue::Declare {
        arguments: Table(vec![(argument.into(), value)]),
        ..declare(name)
    }
    .into()
}

fn exchange(name: &str, kind: &str) -> exchange::Declare {
    exchange::Declare {
        exchange: name.into(),
        kind: kind.into(),
        ..exchange::Declare::default()
    }
}

fn bind(queue: &str, exchange: &str) -> queue::Bind {
    queue::Bind {
        queue: queue.into(),
        exchange: exchange.into(),
        ..queue::Bind::default()
    }
}

fn consume(queue: &str, tag: &str) -> basic::Consume {
    basic::Consume {
        queue: queue.into(),
        consumer_tag: tag.into(),
        ..basic::Consume::default()
    }
}

#[tokio::test]
async fn every_mistake_gets_rabbitmqs_answer() {
    let fixture = Fixture::new().await;
    let quorum = || Value::from("quorum");
    let cases: Vec<(Vec<Method>, &str)> = vec![
        (
            vec![
                queue::Declare {
                    passive: true,
                    ..declare("none")
                }
                .into(),
            ],
            "channel 404 NOT_FOUND - no queue 'none' in vhost '/'",
        ),
        (
            vec![consume("none", "").into()],
            "channel 404 NOT_FOUND - no queue 'none' in vhost '/'",
        ),
        (
            vec![
                basic::Get {
                    queue: "none".into(),
                    ..basic::Get::default()
                }
                .into(),
            ],
            "channel 404 NOT_FOUND - no queue 'none' in vhost '/'",
        ),
        (
            vec![bind("none", "amq.direct").into()],
            "channel 404 NOT_FOUND - no queue 'none' in vhost '/'",
        ),
        (
            vec![declare("q").into(), bind("q", "none").into()],
            "channel 404 NOT_FOUND - no exchange 'none' in vhost '/'",
        ),
        (
            vec![queue::Purge::default().into()],
            "channel 404 NOT_FOUND - no previously declared queue",
        ),
        (
            vec![
                exchange::Declare {
                    passive: true,
                    ..exchange("none", "")
                }
                .into(),
            ],
            "channel 404 NOT_FOUND - no exchange 'none' in vhost '/'",
        ),
        (
            vec![declare("amq.q").into()],
            "channel 403 ACCESS_REFUSED - queue name 'amq.q' contains reserved prefix 'amq.*'",
        ),
        (
            vec![exchange("amq.x", "direct").into()],
            "channel 403 ACCESS_REFUSED - exchange name 'amq.x' contains reserved prefix 'amq.*'",
        ),
        (
            vec![exchange("", "direct").into()],
            "channel 403 ACCESS_REFUSED - operation not permitted on the default exchange",
        ),
        (
            vec![declare("q").into(), bind("q", "").into()],
            "channel 403 ACCESS_REFUSED - operation not permitted on the default exchange",
        ),
        (
            vec![
                exchange::Delete {
                    exchange: "amq.topic".into(),
                    ..exchange::Delete::default()
                }
                .into(),
            ],
            "channel 403 ACCESS_REFUSED - deletion of system exchange 'amq.topic' in vhost '/' not allowed",
        ),
        (
            vec![exchange("x", "odd").into()],
            "channel 406 PRECONDITION_FAILED - invalid exchange type 'odd'",
        ),
        (
            vec![
                exchange("x", "direct").into(),
                exchange("x", "topic").into(),
            ],
            "channel 406 PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'x' in vhost '/': received 'topic' but current is 'direct'",
        ),
        (
            vec![
                declare("q").into(),
                queue::Declare {
                    durable: true,
                    ..declare("q")
                }
                .into(),
            ],
            "channel 406 PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'",
        ),
        (
            vec![
                declare_with("ttl", "x-message-ttl", Value::I32(1)),
                declare_with("ttl", "x-message-ttl", Value::I64(2)),
            ],
            "channel 406 PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'ttl' in vhost '/': received '2' but current is '1'",
        ),
        (
            vec![declare("ttl").into()],
            "channel 406 PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'ttl' in vhost '/': received none but current is the value '1' of type 'signedint'",
        ),
        (
            vec![
                queue::Declare {
                    exclusive: true,
                    ..declare("q")
                }
                .into(),
            ],
            "channel 405 RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.",
        ),
        (
            vec![declare_with("new", "x-queue-type", quorum())],
            "channel 406 PRECONDITION_FAILED - invalid property 'non-durable' for queue 'new' in vhost '/'",
        ),
        (
            vec![declare_with("new", "x-delivery-limit", Value::I32(3))],
            "channel 406 PRECONDITION_FAILED - invalid arg 'x-delivery-limit' for queue 'new' in vhost '/': for quorum queues only",
        ),
        (
            vec![
                queue::Bind {
                    arguments: Table(vec![("x-match".into(), "odd".into())]),
                    ..bind("q", "amq.headers")
                }
                .into(),
            ],
            "channel 406 PRECONDITION_FAILED - Invalid x-match field value \"odd\"; expected all, any, all-with-x, or any-with-x",
        ),
        (
            vec![
                consume("q", "a").into(),
                basic::Consume {
                    exclusive: true,
                    ..consume("q", "b")
                }
                .into(),
            ],
            "channel 403 ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use",
        ),
        (
            vec![
                consume("q", "a").into(),
                queue::Delete {
                    queue: "q".into(),
                    if_unused: true,
                    ..queue::Delete::default()
                }
                .into(),
            ],
            "channel 406 PRECONDITION_FAILED - queue 'q' in vhost '/' in use",
        ),
        (
            vec![
                basic::Ack {
                    delivery_tag: 7,
                    multiple: false,
                }
                .into(),
            ],
            "channel 406 PRECONDITION_FAILED - unknown delivery tag 7",
        ),
        (
            vec![
                basic::Nack {
                    delivery_tag: 7,
                    multiple: true,
                    requeue: true,
                }
                .into(),
            ],
            "channel 406 PRECONDITION_FAILED - unknown delivery tag 7",
        ),
        (
            vec![tx::Commit {}.into()],
            "channel 406 PRECONDITION_FAILED - channel is not transactional",
        ),
        (
            vec![
                tx::Select {}.into(),
                confirm::Select { no_wait: false }.into(),
            ],
            "channel 406 PRECONDITION_FAILED - cannot switch from tx to confirm mode",
        ),
        (
            vec![
                confirm::Select { no_wait: false }.into(),
                tx::Select {}.into(),
            ],
            "channel 406 PRECONDITION_FAILED - cannot switch from confirm to tx mode",
        ),
        (
            vec![consume("q", "a").into(), consume("q", "a").into()],
            "connection 530 NOT_ALLOWED - attempt to reuse consumer tag 'a'",
        ),
        (
            vec![
                basic::Qos {
                    prefetch_size: 1,
                    ..basic::Qos::default()
                }
                .into(),
            ],
            "connection 540 NOT_IMPLEMENTED - prefetch_size!=0 (1)",
        ),
        (
            vec![consume("amq.rabbitmq.reply-to", "").into()],
            "channel 406 PRECONDITION_FAILED - reply consumer cannot acknowledge",
        ),
        (
            vec![
                basic::Consume {
                    no_ack: true,
                    ..consume("amq.rabbitmq.reply-to", "a")
                }
                .into(),
                basic::Consume {
                    no_ack: true,
                    ..consume("amq.rabbitmq.reply-to", "b")
                }
                .into(),
            ],
            "channel 406 PRECONDITION_FAILED - reply consumer already set",
        ),
        (
            vec![basic::Recover { requeue: false }.into()],
            "connection 540 NOT_IMPLEMENTED - requeue=false",
        ),
    ];
    for (methods, expected) in cases {
        let mut client = fixture.client().await;
        check(&mut client, methods, expected).await;
    }
}

#[tokio::test]
async fn every_claim_of_a_message_is_checked() {
    let fixture = Fixture::new().await;
    let to_nowhere = basic::Publish {
        exchange: "none".into(),
        ..basic::Publish::default()
    };
    let user = Properties {
        user_id: Some("you".into()),
        ..Properties::default()
    };
    let soon = Properties {
        expiration: Some("soon".into()),
        ..Properties::default()
    };
    let past = Properties {
        expiration: Some("-1".into()),
        ..Properties::default()
    };
    let copies = Table(vec![("CC".into(), "q".into())]);
    let copies = Properties {
        headers: Some(copies),
        ..Properties::default()
    };
    let request = Properties {
        reply_to: Some("amq.rabbitmq.reply-to".into()),
        ..Properties::default()
    };
    let cases = [
        (
            basic::Publish::default(),
            request,
            "PRECONDITION_FAILED - fast reply consumer does not exist",
        ),
        (
            to_nowhere,
            Properties::default(),
            "NOT_FOUND - no exchange 'none' in vhost '/'",
        ),
        (
            basic::Publish::default(),
            user,
            "PRECONDITION_FAILED - user_id property set to 'you' but authenticated user was 'guest'",
        ),
        (
            basic::Publish::default(),
            soon,
            "PRECONDITION_FAILED - invalid expiration 'soon': no_integer",
        ),
        (
            basic::Publish::default(),
            past,
            "PRECONDITION_FAILED - invalid expiration '-1': {value_negative,-1}",
        ),
        (
            basic::Publish::default(),
            copies,
            "PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,\"CC\"}",
        ),
    ];
    for (publish, properties, expected) in cases {
        let mut client = fixture.client().await;
        client.publish(publish, &properties, b"x").await;
        let Method::Channel(channel::Method::Close(close)) = client.hear().await else {
            panic!("{expected}");
        };
        assert_eq!(close.reply_text.as_str(), expected);
        assert_eq!((close.class_id, close.method_id), (60, 40));
    }
}

#[tokio::test]
async fn an_exclusive_queue_is_locked_to_others_and_goes_with_its_connection() {
    let fixture = Fixture::new().await;
    let (mut owner, mut other) = (fixture.client().await, fixture.client().await);
    let exclusive = queue::Declare {
        exclusive: true,
        ..declare("mine")
    };
    owner.ask(exclusive.clone()).await;
    let passive = queue::Declare {
        passive: true,
        ..declare("mine")
    };
    check(&mut other, vec![passive.into()],
        "channel 405 RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'mine' in vhost '/'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.").await;
    owner.say(0, connection::Close::default()).await;
    assert_eq!(owner.hear().await, connection::CloseOk {}.into());
    assert!(fixture.front.metadata.image().vhosts["/"].queues.is_empty());
}

#[tokio::test]
async fn a_wrong_password_is_told_without_saying_what_was_wrong() {
    let fixture = Fixture::new().await;
    let mut client = Client::log_in(fixture.address, "wrong", true).await;
    let Method::Connection(connection::Method::Close(close)) = client.hear().await else {
        panic!("expected a close");
    };
    assert_eq!(close.reply_code, 403);
    assert_eq!(
        close.reply_text.as_str(),
        "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."
    );
    assert_eq!(fixture.front.metrics.logins_refused.get(), 1);
}

#[tokio::test]
async fn hostile_bytes_cost_their_connection_only() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.raw(&[0; 64]).await;
    let Method::Connection(connection::Method::Close(close)) = client.hear().await else {
        panic!("expected a close");
    };
    assert_eq!(close.reply_code, 501);
    assert_eq!(client.frame().await, None);
    fixture.client().await;
}

#[tokio::test]
async fn a_stop_closes_connections_with_320() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    fixture.stop.cancel();
    let Method::Connection(connection::Method::Close(close)) = client.hear().await else {
        panic!("expected a close");
    };
    assert_eq!(close.reply_code, 320);
    client.say(0, connection::CloseOk {}).await;
    assert_eq!(client.frame().await, None);
}
