//! Quorum queues through sessions, over groups of one that live in memory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::Cursor;

use bytes::Bytes;
use machine::metadata::command::Command as Metadata;
use machine::metadata::image::Image;
use machine::value::Value;

use super::command::encode_batch;
use super::*;
use crate::queue::protocol::{Outcome as Ends, Request, Resume};
use crate::queue::testing::{Broker, message, text};
use crate::queue::{self, Outcome};

/// Applies an entry whose commands this build knows.
fn apply(shard: &mut Shard, entry: &Entry) -> Vec<Bytes> {
    shard.apply(entry).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_delivered_in_order_and_acked() {
    let broker = Broker::new();
    let queue = broker.declare_quorum("q", &[]).await;
    let mut client = broker.client();
    for number in 0..500 {
        client.send(&queue, message(&number.to_string()));
    }
    client.session.flush();
    client.hear(|client| client.confirms.len() == 500).await;
    assert!(client.confirms.values().all(|ack| *ack));
    client.consume(&queue, 0).await;
    let expected: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(client.bodies(500).await, expected);
    client.settle_all(Outcome::Ack);
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!((stats.ready, stats.unacked, stats.consumers), (0, 0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_message_is_dead_lettered_after_its_limit() {
    let broker = Broker::new();
    let dead = broker.declare("dead", true, &[]).await;
    let arguments = [
        ("x-delivery-limit", Value::Int(2)),
        ("x-dead-letter-exchange", Value::String(String::new())),
        (
            "x-dead-letter-routing-key",
            Value::String("dead".to_owned()),
        ),
    ];
    let queue = broker.declare_quorum("q", &arguments).await;
    let mut client = broker.client();
    client.put(&queue, message("poison")).await;
    client.consume(&queue, 1).await;
    for count in [0, 1, 2] {
        assert_eq!(client.bodies(1).await, ["poison"]);
        assert_eq!(client.deliveries[0].delivery_count, count);
        client.settle_all(Outcome::Requeue);
    }
    let mut other = broker.client();
    other.consume(&dead, 1).await;
    assert_eq!(other.bodies(1).await, ["poison"]);
    let headers = other.deliveries[0]
        .message
        .deaths
        .as_ref()
        .unwrap()
        .headers();
    let reason = Value::String("delivery_limit".to_owned());
    assert_eq!(headers["x-last-death-reason"], reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_expire_without_anyone_asking() {
    let broker = Broker::new();
    let dead = broker.declare("dead", true, &[]).await;
    let arguments = [
        ("x-message-ttl", Value::Int(5)),
        ("x-dead-letter-exchange", Value::String(String::new())),
        (
            "x-dead-letter-routing-key",
            Value::String("dead".to_owned()),
        ),
    ];
    let queue = broker.declare_quorum("q", &arguments).await;
    let mut client = broker.client();
    client.put(&queue, message("old")).await;
    client.consume(&dead, 1).await;
    assert_eq!(client.bodies(1).await, ["old"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn get_and_channel_close_work_as_on_classic_queues() {
    let broker = Broker::new();
    let queue = broker.declare_quorum("q", &[]).await;
    let mut client = broker.client();
    for body in ["1", "2"] {
        client.put(&queue, message(body)).await;
    }
    let (got, left) = client.get(&queue).await.unwrap();
    assert_eq!((text(&got.message).as_str(), left), ("1", 1));
    let channel = client.channel;
    client.session.close_channel(channel);
    let mut other = broker.client();
    other.consume(&queue, 0).await;
    assert_eq!(other.bodies(2).await, ["1", "2"]);
    assert!(other.deliveries[0].redelivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_queue_cancels_its_consumers() {
    let broker = Broker::new();
    let queue = broker.declare_quorum("q", &[]).await;
    let mut client = broker.client();
    let consumer = client.consume(&queue, 0).await;
    let delete = Metadata::DeleteQueue {
        vhost: "/".to_owned(),
        name: "q".to_owned(),
    };
    broker.metadata.submit(delete).await.unwrap();
    client.hear(|client| !client.cancelled.is_empty()).await;
    assert_eq!(client.cancelled, [(consumer, false)]);
    let missing = client.session.get(client.channel, &queue, true).await;
    assert_eq!(missing.unwrap_err(), queue::Error::NotFound("q".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn publishes_that_do_not_fit_one_command_are_split_and_too_large_ones_refused() {
    let broker = Broker::with_commands_of(4_096);
    let queue = broker.declare_quorum("q", &[]).await;
    let mut client = broker.client();
    let body = |letter: &str, len| message(&letter.repeat(len));
    for letter in ["a", "b", "c", "d", "e"] {
        client.send(&queue, body(letter, 1_500));
    }
    let too_large = client.send(&queue, body("x", 4_096));
    let last = client.send(&queue, body("f", 1));
    client.session.flush();
    client.hear(|client| client.confirms.len() == 7).await;
    for (seq, ack) in &client.confirms {
        assert_eq!(*ack, *seq != too_large, "{seq}");
    }
    assert!(client.confirms[&last]);
    client.consume(&queue, 0).await;
    let bodies = client.bodies(6).await;
    let order: String = bodies.iter().map(|body| &body[..1]).collect();
    assert_eq!(order, "abcdef");
}

// === the replicated machine by itself ===

fn shard(broker: &Broker) -> Shard {
    let links = Arc::new(Links::new(
        BrokerId(1),
        queue::Config::default(),
        Some(broker.metadata.clone()),
    ));
    Shard::new(ShardId(0), links, Metrics::default(), Arc::default())
}

fn entry(index: u64, commands: Vec<Bytes>) -> Entry {
    Entry {
        index,
        term: 1,
        now_ms: 1_000 + i64::try_from(index).unwrap(),
        commands,
        leading: false,
    }
}

fn declare() -> Bytes {
    Command::Declare {
        queue: 7,
        vhost: "/".to_owned(),
        name: "q".to_owned(),
        arguments: Table::new(),
    }
    .encode()
}

fn batch(boot: u64, seq: u64, ops: Vec<Op>) -> Bytes {
    let origin = Origin {
        broker: BrokerId(2),
        boot,
        seq,
    };
    let requests = ops.into_iter().map(|op| Request { queue: 7, op });
    encode_batch(origin, &vec![(5, requests.collect())])
}

fn publish(publish: u64) -> Op {
    Op::Publish {
        publish,
        message: Arc::new(message(&publish.to_string())),
    }
}

fn consume(consumer: u32, prefetch: u32) -> Op {
    let resume = Resume {
        consumer,
        holding: false,
        no_ack: false,
        exclusive: false,
        prefetch,
        priority: 0,
    };
    Op::Consume(resume, 1)
}

fn counts(shard: &Shard) -> (u64, u64) {
    let machine = &shard.state.queues[&7].machine;
    (machine.ready_len(), machine.unacked_len())
}

fn bytes_of(shard: &Shard) -> Vec<u8> {
    let mut bytes = Vec::new();
    StateMachine::snapshot(shard)(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_batch_sent_twice_has_its_effect_once() {
    let broker = Broker::new();
    let mut shard = shard(&broker);
    apply(&mut shard, &entry(1, vec![declare()]));
    let sent = batch(1, 1, vec![publish(1), publish(2)]);
    let first = apply(&mut shard, &entry(2, vec![sent.clone()]));
    let again = apply(&mut shard, &entry(3, vec![sent]));
    assert_eq!(first, again);
    assert_eq!(counts(&shard), (2, 0));
}

#[tokio::test]
async fn restored_snapshot_goes_on_as_the_original() {
    let broker = Broker::new();
    let mut original = shard(&broker);
    apply(&mut original, &entry(1, vec![declare()]));
    let ops = vec![publish(1), publish(2), publish(3), consume(1, 2)];
    apply(&mut original, &entry(2, vec![batch(1, 1, ops)]));
    let bytes = bytes_of(&original);
    let mut restored = shard(&broker);
    restored.restore(&mut Cursor::new(&bytes)).unwrap();
    assert_eq!(bytes_of(&restored), bytes);
    let settle = Op::Settle {
        consumer: 1,
        positions: vec![1, 0],
        outcome: Ends::Requeue,
    };
    for shard in [&mut original, &mut restored] {
        apply(
            shard,
            &entry(3, vec![batch(1, 2, vec![settle.clone(), publish(4)])]),
        );
    }
    assert_eq!(bytes_of(&restored), bytes_of(&original));
    for cut in (0..bytes.len()).step_by(7) {
        assert!(
            shard(&broker)
                .restore(&mut Cursor::new(&bytes[..cut]))
                .is_err()
        );
    }
}

#[tokio::test]
async fn a_broker_that_starts_anew_has_lost_its_consumers() {
    let broker = Broker::new();
    let mut shard = shard(&broker);
    apply(&mut shard, &entry(1, vec![declare()]));
    apply(
        &mut shard,
        &entry(2, vec![batch(1, 1, vec![publish(1), consume(1, 1)])]),
    );
    assert_eq!(counts(&shard), (0, 1));
    apply(&mut shard, &entry(3, vec![batch(2, 1, vec![])]));
    assert_eq!(counts(&shard), (1, 0));
}

#[tokio::test]
async fn resumed_consumer_keeps_what_it_holds_and_gets_the_rest_again() {
    let broker = Broker::new();
    let mut shard = shard(&broker);
    apply(&mut shard, &entry(1, vec![declare()]));
    let ops = vec![publish(1), publish(2), publish(3), consume(1, 3)];
    apply(&mut shard, &entry(2, vec![batch(1, 1, ops)]));
    let Op::Consume(resume, _) = consume(1, 3) else {
        unreachable!();
    };
    shard.leading = true;
    apply(
        &mut shard,
        &entry(3, vec![batch(1, 2, vec![Op::Resume(resume, vec![1])])]),
    );
    let machine = &shard.state.queues[&7].machine;
    assert_eq!((machine.ready_len(), machine.unacked_len()), (0, 3));
    assert_eq!(machine.consumer_count(), 1);
}

#[tokio::test]
async fn malformed_commands_change_nothing() {
    let broker = Broker::new();
    let mut shard = shard(&broker);
    apply(&mut shard, &entry(1, vec![declare()]));
    let before = bytes_of(&shard);
    let whole = batch(1, 1, vec![publish(1)]);
    for cut in 0..whole.len() {
        let refused = shard.apply(&entry(2, vec![whole.slice(..cut)]));
        assert!(refused.is_err(), "cut at {cut}");
    }
    assert_eq!(bytes_of(&shard), before);
}

#[tokio::test]
async fn publish_to_a_queue_that_the_shard_never_had_is_refused() {
    let broker = Broker::new();
    let mut shard = shard(&broker);
    let replies = apply(&mut shard, &entry(1, vec![batch(1, 1, vec![publish(1)])]));
    assert_eq!(
        responses(replies),
        [Response::Refused { publishes: vec![1] }]
    );
}

#[tokio::test]
async fn publish_to_a_deleted_queue_is_confirmed_after_a_snapshot_too() {
    let broker = Broker::new();
    let mut original = shard(&broker);
    let remove = Command::Remove { queue: 7 }.encode();
    apply(&mut original, &entry(1, vec![declare(), remove]));
    let mut restored = shard(&broker);
    let bytes = bytes_of(&original);
    restored.restore(&mut Cursor::new(&bytes)).unwrap();
    for shard in [&mut original, &mut restored] {
        let replies = apply(shard, &entry(2, vec![batch(1, 1, vec![publish(1)])]));
        assert_eq!(
            responses(replies),
            [Response::Confirmed { publishes: vec![1] }]
        );
    }
}

/// Of the one session in the reply to one batch.
fn responses(replies: Vec<Bytes>) -> Vec<Response> {
    let mut reply = replies.into_iter().next().unwrap();
    assert_eq!(codec::count(&mut reply).unwrap(), 1);
    codec::session(&mut reply).unwrap();
    codec::response::responses(&mut reply).unwrap()
}

#[test]
fn an_image_before_the_declaration_of_a_queue_does_not_remove_it() {
    let image = |queues| Image {
        index: 1_000,
        next_queue_id: queues,
        ..Image::genesis()
    };
    let outlook = Outlook::default();
    outlook.update(NEVER, [7].iter());
    let changes = |queues| keeper::changes(ShardId(0), &outlook, &image(queues));
    assert_eq!(changes(7), []);
    assert_eq!(changes(8), [Command::Remove { queue: 7 }]);
}
