//! Replies that wait for one connection.

use parking_lot::Mutex;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::queue::{ChannelId, Message};

/// What each waiting reply counts beside its properties and body.
const REPLY_BYTES: usize = 256;

/// One reply and whom it is for: `key` tells a consumer of now from an earlier one of the channel.
#[derive(Debug)]
pub(in crate::amqp) struct Reply {
    pub(in crate::amqp) channel: ChannelId,
    pub(in crate::amqp) key: Uuid,
    pub(in crate::amqp) message: Message,
}

/// Bounded: a reply for which there is no room is not taken.
#[derive(Debug)]
pub(in crate::amqp) struct Inbox {
    bytes_max: usize,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    replies: Vec<Reply>,
    bytes: usize,
}

impl Inbox {
    pub(in crate::amqp) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            waiting: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    /// Whether the reply was taken.
    pub(super) fn put(&self, reply: Reply) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.bytes >= self.bytes_max {
            return false;
        }
        waiting.bytes += reply.message.size() + REPLY_BYTES;
        waiting.replies.push(reply);
        drop(waiting);
        self.arrived.notify_one();
        true
    }

    /// Everything that waits; waits for the first. Cancel-safe.
    pub(in crate::amqp) async fn take(&self) -> Vec<Reply> {
        loop {
            let waiting = std::mem::take(&mut *self.waiting.lock());
            if !waiting.replies.is_empty() {
                return waiting.replies;
            }
            self.arrived.notified().await;
        }
    }
}
