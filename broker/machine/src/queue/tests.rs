//! What a queue does, as RabbitMQ does it (its guides on queues, TTL, queue length, consumer
//! priorities, dead letters and quorum queues).
#![allow(clippy::unwrap_used)]

use super::*;

const NOW: i64 = 1_000_000;

fn key(number: u32) -> ConsumerKey {
    ConsumerKey {
        broker: 0,
        session: 7,
        number,
    }
}

/// A queue and what it has said since last asked.
struct Scene {
    machine: Machine,
    effects: Vec<Effect>,
    now_ms: i64,
}

impl Scene {
    fn new(kind: Kind, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(kind);
        change(&mut config);
        Self {
            machine: Machine::new(config, NOW),
            effects: Vec::new(),
            now_ms: NOW,
        }
    }

    fn classic() -> Self {
        Self::new(Kind::Classic, |_| {})
    }

    fn quorum() -> Self {
        Self::new(Kind::Quorum, |_| {})
    }

    fn put(&mut self, positions: impl IntoIterator<Item = u64>) -> &mut Self {
        for position in positions {
            self.enqueue(position, None, None);
        }
        self
    }

    fn enqueue(&mut self, position: u64, ttl: Option<u64>, priority: Option<u8>) -> Enqueued {
        let effects = &mut self.effects;
        self.machine
            .enqueue(self.now_ms, position, 10, ttl, priority, effects)
    }

    fn attach(&mut self, number: u32, prefetch: u32) -> &mut Self {
        self.attach_with(number, prefetch, 0)
    }

    fn attach_with(&mut self, number: u32, prefetch: u32, priority: i32) -> &mut Self {
        let attach = Attach {
            key: key(number),
            exclusive: false,
            prefetch,
            window: 0,
            window_bytes: 0,
            priority,
        };
        self.machine
            .attach(self.now_ms, attach, &mut self.effects)
            .unwrap();
        self
    }

    fn settle(&mut self, number: u32, positions: &[u64], outcome: Outcome) -> &mut Self {
        let effects = &mut self.effects;
        self.machine
            .settle(self.now_ms, key(number), positions, outcome, effects);
        self
    }

    fn leave(&mut self, number: u32) -> &mut Self {
        let effects = &mut self.effects;
        self.machine.leave(self.now_ms, key(number), true, effects);
        self
    }

    fn cancel(&mut self, number: u32) -> &mut Self {
        let effects = &mut self.effects;
        self.machine.cancel(self.now_ms, key(number), effects);
        self
    }

    fn tick(&mut self, now_ms: i64) -> &mut Self {
        self.now_ms = now_ms;
        self.machine.tick(now_ms, &mut self.effects);
        self
    }

    /// Effects since the last look, short: `1<5` delivers 5 to consumer 1, `1<5r2` redelivered for the
    /// second time, `5ok` settled, `5!expired` died, `-1` cancelled, `unused`.
    #[track_caller]
    fn says(&mut self, expected: &str) -> &mut Self {
        let said = std::mem::take(&mut self.effects);
        let said: Vec<String> = said.iter().map(short).collect();
        assert_eq!(said.join(" "), expected);
        self
    }
}

fn short(effect: &Effect) -> String {
    match effect {
        Effect::Deliver {
            consumer,
            position,
            redelivered,
            delivery_count,
        } => {
            let again = match (redelivered, delivery_count) {
                (false, _) => String::new(),
                (true, 0) => "r".to_owned(),
                (true, count) => format!("r{count}"),
            };
            format!("{}<{position}{again}", consumer.number)
        }
        Effect::Settled { position } => format!("{position}ok"),
        Effect::Died { position, reason } => {
            format!("{position}!{}", format!("{reason:?}").to_lowercase())
        }
        Effect::Purged { positions } => format!("purged{positions:?}"),
        Effect::Cancelled { consumer } => format!("-{}", consumer.number),
        Effect::Unused => "unused".to_owned(),
    }
}

#[test]
fn consumers_of_one_priority_take_turns() {
    let mut scene = Scene::classic();
    scene.attach(1, 0).attach(2, 0).attach(3, 0).put(1..=5);
    scene.says("1<1 2<2 3<3 1<4 2<5");
}

#[test]
fn prefetch_bounds_what_a_consumer_holds() {
    let mut scene = Scene::classic();
    scene.put(1..=5).attach(1, 2).says("1<1 1<2");
    scene.settle(1, &[1], Outcome::Ack).says("1ok 1<3");
    scene.attach(2, 1).says("2<4");
    assert_eq!(
        (scene.machine.ready_len(), scene.machine.unacked_len()),
        (1, 3)
    );
    scene.settle(1, &[2, 3], Outcome::Ack).says("2ok 3ok 1<5");
}

#[test]
fn higher_consumer_priority_is_served_first_while_it_has_credit() {
    let mut scene = Scene::classic();
    scene.attach_with(1, 0, 0).attach_with(2, 2, 10).put(1..=4);
    scene.says("2<1 2<2 1<3 1<4");
    scene
        .settle(2, &[1], Outcome::Ack)
        .says("1ok")
        .put([5])
        .says("2<5");
}

#[test]
fn classic_requeue_goes_to_the_original_position() {
    let mut scene = Scene::classic();
    scene
        .put(1..=5)
        .attach(1, 3)
        .says("1<1 1<2 1<3")
        .cancel(1)
        .says("-1");
    for position in [2, 1, 3] {
        scene.settle(1, &[position], Outcome::Requeue);
    }
    scene.attach(2, 0).says("2<1r 2<2r 2<3r 2<4 2<5");
}

#[test]
fn quorum_requeue_goes_ahead_in_return_order() {
    let mut scene = Scene::quorum();
    scene
        .put(1..=5)
        .attach(1, 3)
        .says("1<1 1<2 1<3")
        .cancel(1)
        .says("-1");
    for position in [2, 1, 3] {
        scene.settle(1, &[position], Outcome::Requeue);
    }
    scene.attach(2, 0).says("2<2r1 2<1r1 2<3r1 2<4 2<5");
}

#[test]
fn quorum_without_limit_requeues_to_the_tail_but_a_lost_channel_to_the_head() {
    let unlimited = |config: &mut Config| config.delivery_limit = None;
    let mut scene = Scene::new(Kind::Quorum, unlimited);
    scene
        .put(1..=5)
        .attach(1, 3)
        .says("1<1 1<2 1<3")
        .cancel(1)
        .says("-1");
    for position in [2, 1, 3] {
        scene.settle(1, &[position], Outcome::Requeue);
    }
    scene.attach(2, 0).says("2<4 2<5 2<2r1 2<1r1 2<3r1");
    scene.leave(2).attach(3, 0);
    scene.says("3<4r1 3<5r1 3<2r2 3<1r2 3<3r2");
}

#[test]
fn lost_consumer_gives_back_in_delivery_order() {
    let mut scene = Scene::quorum();
    scene.enqueue(1, None, Some(0));
    scene.enqueue(2, None, Some(9));
    scene.enqueue(3, None, None);
    scene.attach(1, 0).says("1<2 1<3 1<1");
    scene.leave(1).attach(2, 0).says("2<2r1 2<3r1 2<1r1");
}

#[test]
fn delivery_limit_n_means_n_plus_one_deliveries() {
    let limit = |config: &mut Config| config.delivery_limit = Some(3);
    let mut scene = Scene::new(Kind::Quorum, limit);
    scene.put([1]).attach(1, 1).says("1<1");
    for again in ["1<1r1", "1<1r2", "1<1r3"] {
        scene.settle(1, &[1], Outcome::Requeue).says(again);
    }
    scene
        .settle(1, &[1], Outcome::Requeue)
        .says("1!deliverylimit");
    assert_eq!(
        (scene.machine.ready_len(), scene.machine.unacked_len()),
        (0, 0)
    );
}

#[test]
fn a_moved_attachment_does_not_count_towards_the_limit() {
    let limit = |config: &mut Config| config.delivery_limit = Some(0);
    let mut scene = Scene::new(Kind::Quorum, limit);
    scene.put([1]).attach(1, 1).says("1<1");
    let effects = &mut scene.effects;
    scene.machine.leave(NOW, key(1), false, effects);
    scene
        .attach(2, 1)
        .says("2<1r")
        .leave(2)
        .says("1!deliverylimit");
}

#[test]
fn reject_dies_in_the_order_asked() {
    let mut scene = Scene::classic();
    scene.put(1..=3).attach(1, 0).says("1<1 1<2 1<3");
    scene.settle(1, &[3, 1, 2], Outcome::Reject);
    scene.says("3!rejected 1!rejected 2!rejected");
}

#[test]
fn settling_what_is_not_held_changes_nothing() {
    let mut scene = Scene::classic();
    scene.put([1]).attach(1, 0).attach(2, 0).says("1<1");
    scene
        .settle(2, &[1], Outcome::Ack)
        .settle(1, &[9], Outcome::Ack)
        .says("");
    scene.settle(1, &[1, 1], Outcome::Ack).says("1ok");
}

#[test]
fn cancelled_consumer_keeps_what_it_holds_until_it_leaves() {
    let mut scene = Scene::classic();
    scene
        .put(1..=3)
        .attach(1, 2)
        .says("1<1 1<2")
        .cancel(1)
        .says("-1");
    assert_eq!(scene.machine.consumer_count(), 0);
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.leave(1).attach(2, 0).says("2<2r 2<3");
}

#[test]
fn windowed_consumer_waits_for_its_socket() {
    let mut scene = Scene::classic();
    let attach = Attach {
        key: key(1),
        exclusive: false,
        prefetch: 0,
        window: 2,
        window_bytes: 0,
        priority: 0,
    };
    scene
        .machine
        .attach(NOW, attach, &mut scene.effects)
        .unwrap();
    scene.put(1..=4).says("1<1 1<2");
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.machine.written(NOW, key(1), 2, &mut scene.effects);
    scene.says("1<3 1<4");
}

/// A consumer with a window of 25 bytes; messages of the scene have 10.
fn attach_windowed(scene: &mut Scene, prefetch: u32, window: u32) {
    let attach = Attach {
        key: key(1),
        exclusive: false,
        prefetch,
        window,
        window_bytes: 25,
        priority: 0,
    };
    let effects = &mut scene.effects;
    scene.machine.attach(NOW, attach, effects).unwrap();
}

#[test]
fn a_window_in_bytes_is_left_by_the_delivery_that_exceeds_it() {
    let mut scene = Scene::classic();
    attach_windowed(&mut scene, 0, 100);
    scene.put(1..=6).says("1<1 1<2 1<3");
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.machine.written(NOW, key(1), 1, &mut scene.effects);
    scene.says("1<4");
    scene.machine.written(NOW, key(1), 3, &mut scene.effects);
    scene.says("1<5 1<6");
}

#[test]
fn a_consumer_without_acks_is_bounded_by_the_bytes_it_has_not_written() {
    let mut scene = Scene::classic();
    attach_windowed(&mut scene, 100, 0);
    scene.put(1..=5).says("1<1 1<2 1<3");
    scene.settle(1, &[1, 2, 3], Outcome::Ack);
    scene.says("1ok 2ok 3ok 1<4 1<5");
}

#[test]
fn deliveries_that_were_lost_on_the_way_leave_the_window() {
    let mut scene = Scene::classic();
    attach_windowed(&mut scene, 0, 2);
    scene.put(1..=3).says("1<1 1<2");
    let effects = &mut scene.effects;
    scene.machine.resume(NOW, key(1), &[], effects);
    scene.says("1<1r 1<2r");
}

#[test]
fn a_withdrawn_message_is_not_delivered_and_its_neighbours_keep_their_times() {
    let mut scene = Scene::classic();
    scene.put(1..=2);
    scene.now_ms += 5;
    scene.enqueue(3, Some(10), None);
    scene.put([4]);
    assert!(scene.machine.withdraw(3));
    assert!(scene.machine.withdraw(1));
    assert!(!scene.machine.withdraw(3));
    assert_eq!(
        (scene.machine.ready_len(), scene.machine.ready_bytes()),
        (2, 20)
    );
    assert_eq!(scene.machine.next_deadline_ms(), None);
    assert_eq!(scene.machine.oldest_ready_ms(), Some(NOW));
    scene.attach(1, 1).says("1<2");
    assert_eq!(scene.machine.oldest_ready_ms(), Some(NOW + 5));
    assert!(!scene.machine.withdraw(2), "a consumer has it");
}

#[test]
fn exclusive_consumer_admits_no_other() {
    let mut scene = Scene::classic();
    scene.attach(1, 0);
    let exclusive = Attach {
        key: key(2),
        exclusive: true,
        prefetch: 0,
        window: 0,
        window_bytes: 0,
        priority: 0,
    };
    let effects = &mut scene.effects;
    assert_eq!(
        scene.machine.attach(NOW, exclusive, effects),
        Err(ExclusiveInUse)
    );
    scene.machine.cancel(NOW, key(1), effects);
    assert_eq!(scene.machine.attach(NOW, exclusive, effects), Ok(()));
    let second = Attach {
        key: key(3),
        exclusive: false,
        ..exclusive
    };
    assert_eq!(
        scene.machine.attach(NOW, second, effects),
        Err(ExclusiveInUse)
    );
}

#[test]
fn single_active_consumer_is_followed_by_the_next() {
    let single = |config: &mut Config| config.single_active_consumer = true;
    let mut scene = Scene::new(Kind::Classic, single);
    scene
        .attach(1, 1)
        .attach(2, 1)
        .attach(3, 1)
        .put(1..=3)
        .says("1<1");
    scene.leave(1).says("2<1r");
    scene.settle(2, &[1], Outcome::Ack).says("1ok 2<2");
    scene.cancel(2).says("-2 3<3");
}

#[test]
fn quorum_single_active_consumer_drains_for_a_higher_priority() {
    let single = |config: &mut Config| config.single_active_consumer = true;
    let mut scene = Scene::new(Kind::Quorum, single);
    scene.attach_with(1, 2, 0).put(1..=4).says("1<1 1<2");
    scene.attach_with(2, 1, 5).says("");
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.settle(1, &[2], Outcome::Ack).says("2ok 2<3");
}

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
fn classic_priorities_clamp_and_default_to_zero() {
    let mut scene = Scene::new(Kind::Classic, |config| config.priorities = 5);
    scene.enqueue(1, None, None);
    scene.enqueue(2, None, Some(9));
    scene.enqueue(3, None, Some(5));
    scene.enqueue(4, None, Some(1));
    scene.attach(1, 0).says("1<2 1<3 1<4 1<1");
}

#[test]
fn get_takes_one_and_says_how_many_are_left() {
    let mut scene = Scene::classic();
    scene.put(1..=3);
    let got = scene.machine.get(NOW, key(9), false, &mut scene.effects);
    assert_eq!(got.map(|got| (got.position, got.left)), Some((1, 2)));
    let got = scene.machine.get(NOW, key(9), true, &mut scene.effects);
    assert_eq!(got.map(|got| (got.position, got.left)), Some((2, 1)));
    scene.says("2ok").leave(9).attach(1, 0).says("1<1r 1<3");
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
fn auto_delete_fires_after_the_last_of_some_consumers() {
    let mut scene = Scene::new(Kind::Classic, |config| config.auto_delete = true);
    scene.tick(NOW).says("");
    scene.attach(1, 0).attach(2, 0).cancel(1).says("-1");
    scene.leave(2).says("unused");
}

#[test]
fn unused_queue_expires_and_use_resets_the_clock() {
    let mut scene = Scene::new(Kind::Classic, |config| config.expires_ms = Some(100));
    scene.tick(NOW + 60).says("");
    scene
        .machine
        .get(NOW + 60, key(9), true, &mut scene.effects);
    scene.tick(NOW + 159).says("");
    assert_eq!(scene.machine.next_deadline_ms(), Some(NOW + 160));
    scene.tick(NOW + 160).says("unused");
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

#[test]
fn a_never_delivered_message_costs_sixteen_bytes() {
    assert_eq!(ready::SLOT_BYTES, 16);
}
