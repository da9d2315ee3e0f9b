//! Death histories: what they keep of a message that dies again and again, and where it is stopped.

use std::sync::Arc;

use machine::metadata::image::{Queue, QueueKind};
use machine::queue::{Config, Kind, Reason};
use machine::value::Table;
use model::BrokerId;

use super::{cycles, letter};
use crate::queue::testing::message;
use crate::queue::{Death, Message};

fn die(message: &Message, queue: &str, reason: Reason) -> Message {
    let queue = Queue {
        vhost: "/".into(),
        name: queue.into(),
        id: 1,
        kind: QueueKind::Classic { home: BrokerId(1) },
        durable: true,
        auto_delete: false,
        exclusive: None,
        arguments: Table::new(),
    };
    let exchange: Arc<str> = "dead".into();
    letter(
        &queue,
        &Config::new(Kind::Classic),
        &exchange,
        message,
        reason,
        1,
    )
}

#[test]
fn a_message_rejected_round_and_round_keeps_one_death_per_queue_and_reason() {
    let mut poison = message("poison");
    for _ in 0..50 {
        poison = die(&poison, "a", Reason::Rejected);
        poison = die(&poison, "b", Reason::Rejected);
        assert!(!cycles(&poison, "a"), "somebody rejects it each time");
    }
    let deaths = poison.deaths.as_ref().map(|d| d.entries.as_slice());
    let count = |death: &Death| (death.queue.to_string(), death.count);
    let deaths: Vec<_> = deaths.unwrap_or_default().iter().map(count).collect();
    assert_eq!(deaths, [("b".to_owned(), 50), ("a".to_owned(), 50)]);
}

#[test]
fn a_message_that_nobody_rejects_does_not_come_to_a_queue_twice() {
    for reason in [Reason::Expired, Reason::MaxLen, Reason::DeliveryLimit] {
        let letter = die(&message("old"), "a", reason);
        assert!(cycles(&letter, "a") && !cycles(&letter, "b"));
        let letter = die(&letter, "b", reason);
        assert!(cycles(&letter, "a"));
        let rejected = die(&letter, "c", Reason::Rejected);
        assert!(!cycles(&rejected, "a"));
        assert!(cycles(&die(&rejected, "c", reason), "c"));
    }
}
