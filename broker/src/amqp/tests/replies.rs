//! Direct reply-to between clients of one broker.

use amqp_wire::Properties;
use amqp_wire::method::{Method, basic, channel, confirm, queue};

use super::{Client, Fixture};

const NAME: &str = "amq.rabbitmq.reply-to";

fn to(queue: &str) -> basic::Publish {
    basic::Publish {
        routing_key: queue.into(),
        mandatory: true,
        ..basic::Publish::default()
    }
}

fn request() -> Properties {
    Properties {
        reply_to: Some(NAME.into()),
        correlation_id: Some("7".into()),
        ..Properties::default()
    }
}

/// Declares the service's queue.
async fn serve(server: &mut Client) {
    let declare = queue::Declare {
        queue: "service".into(),
        ..queue::Declare::default()
    };
    server.ask(declare).await;
}

/// Takes the next request; the answer is where its reply goes.
async fn next_request(server: &mut Client) -> String {
    let get = basic::Get {
        queue: "service".into(),
        no_ack: true,
        ..basic::Get::default()
    };
    match server.ask(get).await {
        Method::Basic(basic::Method::GetOk(_)) => {}
        other => panic!("expected get-ok, got {other:?}"),
    }
    let properties = Properties::parse(server.content().await.properties).unwrap();
    properties.reply_to.unwrap().to_string()
}

fn consume() -> basic::Consume {
    basic::Consume {
        queue: NAME.into(),
        consumer_tag: "replies".into(),
        no_ack: true,
        ..basic::Consume::default()
    }
}

fn passive(name: &str) -> queue::Declare {
    queue::Declare {
        queue: name.into(),
        passive: true,
        ..queue::Declare::default()
    }
}

#[tokio::test]
async fn a_reply_finds_the_channel_of_its_request() {
    let fixture = Fixture::new().await;
    let (mut requester, mut server) = (fixture.client().await, fixture.client().await);
    serve(&mut server).await;
    server.ask(confirm::Select::default()).await;
    requester.ask(consume()).await;
    requester.publish(to("service"), &request(), b"ping").await;
    // Behind the publish on its channel.
    requester.ask(passive("service")).await;

    let token = next_request(&mut server).await;
    assert!(token.starts_with("amq.rabbitmq.reply-to.0."), "{token}");
    let Method::Queue(queue::Method::DeclareOk(ok)) = server.ask(passive(&token)).await else {
        panic!("expected declare-ok");
    };
    assert_eq!((ok.message_count, ok.consumer_count), (0, 1));
    let reply = Properties {
        correlation_id: Some("7".into()),
        ..Properties::default()
    };
    server.publish(to(&token), &reply, b"pong").await;
    let ack = basic::Ack {
        delivery_tag: 1,
        multiple: false,
    };
    assert_eq!(server.hear().await, ack.into());
    let (deliver, content) = requester.delivery().await;
    assert_eq!(deliver.consumer_tag.as_str(), "replies");
    assert_eq!(
        (deliver.exchange.as_str(), deliver.routing_key.as_str()),
        ("", &*token)
    );
    assert_eq!(&content.body[..], b"pong");
    assert_eq!(Properties::parse(content.properties), Ok(reply.clone()));

    // Once it has cancelled, its token is nobody's: replies are taken and go nowhere.
    let cancel = basic::Cancel {
        consumer_tag: "replies".into(),
        no_wait: false,
    };
    requester.ask(cancel).await;
    server.publish(to(&token), &reply, b"late").await;
    let ack = basic::Ack {
        delivery_tag: 2,
        multiple: false,
    };
    assert_eq!(server.hear().await, ack.into());
    requester.ask(consume()).await;
    requester.publish(to("service"), &request(), b"again").await;
    requester.ask(passive("service")).await;
    assert_ne!(next_request(&mut server).await, token);
    let Method::Channel(channel::Method::Close(close)) = server.ask(passive(&token)).await else {
        panic!("expected a close");
    };
    assert_eq!(
        close.reply_text.as_str(),
        format!("NOT_FOUND - no queue '{token}' in vhost '/'")
    );
}

#[tokio::test]
async fn a_made_up_token_is_unroutable() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.ask(confirm::Select::default()).await;
    let key = "0123456789abcdef0123456789abcdef";
    for name in [
        format!("{NAME}.77.{key}"),
        format!("{NAME}.0.x"),
        NAME.into(),
    ] {
        client
            .publish(to(&name), &Properties::default(), b"?")
            .await;
        let Method::Basic(basic::Method::Return(returned)) = client.hear().await else {
            panic!("expected a return");
        };
        assert_eq!(returned.reply_code, 312);
        client.content().await;
        client.hear().await;
    }
}
