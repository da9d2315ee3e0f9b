//! How long a message may stay, and how many.

use super::*;

#[test]
fn message_expires_at_the_head_only() {
    let mut scene = Scene::classic();
    scene.enqueue(1, Some(100), None);
    scene.enqueue(2, Some(10), None);
    assert_eq!(scene.machine.next_deadline_ms(), Some(NOW + 100));
    scene.tick(NOW + 50).says("");
    scene.tick(NOW + 100).says("1!expired 2!expired");
    assert_eq!(scene.machine.next_deadline_ms(), None);
}

#[test]
fn expired_message_is_never_delivered() {
    let mut scene = Scene::new(Kind::Classic, |config| config.message_ttl_ms = Some(10));
    scene.put([1]);
    scene.now_ms = NOW + 10;
    scene.put([2]).attach(1, 0).says("1!expired 1<2");
}

#[test]
fn ttl_zero_lives_only_if_it_can_be_delivered_now() {
    let mut scene = Scene::classic();
    scene.enqueue(1, Some(0), None);
    scene.says("1!expired").attach(1, 0);
    scene.enqueue(2, Some(0), None);
    scene.says("1<2");
}

#[test]
fn requeue_keeps_the_deadline() {
    let mut scene = Scene::classic();
    scene.enqueue(1, Some(100), None);
    scene.attach(1, 1).says("1<1").cancel(1).says("-1");
    scene.now_ms = NOW + 60;
    scene.settle(1, &[1], Outcome::Requeue).says("");
    scene.tick(NOW + 100).says("1!expired");
}

#[test]
fn lower_of_queue_and_message_ttl_counts() {
    let mut scene = Scene::new(Kind::Classic, |config| config.message_ttl_ms = Some(50));
    scene.enqueue(1, Some(100), None);
    scene.enqueue(2, Some(60), None);
    scene.tick(NOW + 50).says("1!expired 2!expired");
}

#[test]
fn ttl_of_a_century_is_exact() {
    let century = 100 * 365 * 86_400_000;
    let mut scene = Scene::classic();
    scene.enqueue(1, Some(century), None);
    let deadline = NOW + i64::try_from(century).unwrap();
    assert_eq!(scene.machine.next_deadline_ms(), Some(deadline));
}

#[test]
fn full_queue_drops_its_head() {
    let mut scene = Scene::new(Kind::Classic, |config| config.length_max = Some(2));
    scene.put(1..=4).says("1!maxlen 2!maxlen");
    let mut scene = Scene::new(Kind::Classic, |config| config.length_bytes_max = Some(25));
    scene.put(1..=4).says("1!maxlen 2!maxlen");
}

#[test]
fn length_counts_ready_messages_only() {
    let mut scene = Scene::new(Kind::Classic, |config| config.length_max = Some(1));
    scene.attach(1, 2).put(1..=3).says("1<1 1<2");
    scene.put([4]).says("3!maxlen");
}

#[test]
fn reject_publish_refuses_what_does_not_fit() {
    let mut scene = Scene::new(Kind::Classic, |config| {
        config.length_max = Some(1);
        config.overflow = Overflow::RejectPublish;
    });
    assert_eq!(scene.enqueue(1, None, None), Enqueued::Accepted);
    let refused = Enqueued::Refused { dead_letter: false };
    assert_eq!(scene.enqueue(2, None, None), refused);
    scene.attach(1, 1).says("1<1");
    assert_eq!(scene.enqueue(3, None, None), Enqueued::Accepted);
}

#[test]
fn purge_takes_the_ready_ones_only() {
    let mut scene = Scene::classic();
    scene.attach(1, 1).put(1..=3).says("1<1");
    assert_eq!(scene.machine.purge(&mut scene.effects), 2);
    scene
        .says("purged[2, 3]")
        .settle(1, &[1], Outcome::Ack)
        .says("1ok");
}

#[test]
fn a_never_delivered_message_costs_sixteen_bytes() {
    assert_eq!(ready::SLOT_BYTES, 16);
}

#[test]
fn arguments_are_checked_as_rabbitmq_does() {
    use crate::value::{Table, Value};
    let one = |name: &str, value: Value| Table::from([(name.to_owned(), value)]);
    let refused = [
        (Kind::Classic, one("x-expires", Value::Int(0))),
        (Kind::Classic, one("x-message-ttl", Value::Int(-1))),
        (
            Kind::Classic,
            one("x-max-length", Value::String("9".to_owned())),
        ),
        (Kind::Classic, one("x-max-priority", Value::Int(256))),
        (Kind::Classic, one("x-delivery-limit", Value::Int(3))),
        (Kind::Quorum, one("x-max-priority", Value::Int(3))),
        (
            Kind::Classic,
            one("x-dead-letter-routing-key", Value::String(String::new())),
        ),
        (
            Kind::Classic,
            one("x-overflow", Value::String("drop-tail".to_owned())),
        ),
    ];
    for (kind, arguments) in refused {
        let config = Config::from_arguments(kind, &arguments);
        assert!(config.is_err(), "{kind:?} takes {arguments:?}");
    }
    let config = Config::from_arguments(Kind::Quorum, &one("x-delivery-limit", Value::Int(-1)));
    assert_eq!(config.unwrap().delivery_limit, None);
    let config = Config::from_arguments(Kind::Classic, &one("x-anything", Value::Int(1)));
    assert_eq!(config.unwrap(), Config::new(Kind::Classic));
}
