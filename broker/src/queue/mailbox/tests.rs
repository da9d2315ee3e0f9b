use std::sync::Arc;

use bytes::Bytes;

use super::Mailbox;
use crate::queue::budget::Budget;
use crate::queue::message::Message;
use crate::queue::protocol::{Delivered, Response};

#[test]
fn deliveries_count_until_whoever_took_them_lets_go() {
    let budget = Arc::new(Budget::new(1 << 20));
    let mailbox = Mailbox::new(budget.clone());
    let message = Arc::new(Message {
        body: Bytes::from(vec![0; 1_000]),
        ..Message::default()
    });
    let bytes = message.memory_bytes();
    let delivered = Delivered {
        position: 0,
        redelivered: false,
        delivery_count: 0,
        message,
    };
    let deliveries = vec![delivered.clone(), delivered];
    mailbox.put([Response::Deliver {
        consumer: 1,
        deliveries,
    }]);
    assert_eq!(budget.used_bytes(), 2 * bytes);
    let taken = mailbox.try_take();
    assert_eq!(budget.used_bytes(), 2 * bytes);
    drop(taken);
    assert_eq!(budget.used_bytes(), 0);
}
