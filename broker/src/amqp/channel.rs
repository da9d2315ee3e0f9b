//! What one channel remembers between methods.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use machine::metadata::image::Queue;

use super::confirms::Confirms;
use super::connection::Queued;
use super::direct_reply::Registration;
use super::transaction::Transaction;
use super::unacked::Unacked;
use crate::queue::{ChannelId, Consumer, Delivery};

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) id: ChannelId,
    /// The queue that an empty name stands for: the last one declared here.
    pub(super) last_queue: Option<Arc<str>>,
    /// `basic.qos` for consumers that come later; 0 = no limit.
    pub(super) prefetch: u16,
    /// `basic.qos` with `global`: deliveries that the whole channel may hold; 0 = no limit.
    pub(super) window: u16,
    pub(super) mode: Mode,
    pub(super) consumers: HashMap<Consumer, Tag>,
    /// A consumer whose host has not answered yet, and whether its client wants consume-ok.
    pub(super) attaching: Option<(Consumer, Tag, Answer)>,
    /// Its consumer of direct replies.
    pub(super) replies: Option<ReplyConsumer>,
    /// Auto-delete queues that had a consumer of this channel.
    pub(super) auto_delete: Vec<Arc<Queue>>,
    pub(super) unacked: Unacked,
    /// Deliveries that wait for room in `window`.
    pub(super) held: VecDeque<(Consumer, Delivery)>,
    /// Exchange and routing key of the last publish, shared by messages that have the same.
    pub(super) last_address: (Arc<str>, Arc<str>),
    pub(super) queued: Queued,
}

/// A consumer as its client knows it.
#[derive(Clone, Debug)]
pub(super) struct Tag {
    pub(super) tag: Arc<str>,
    pub(super) no_ack: bool,
    /// `basic.cancel` came, and whether it wants an answer.
    pub(super) cancel: Option<Answer>,
}

/// A consumer of `amq.rabbitmq.reply-to`.
#[derive(Debug)]
pub(super) struct ReplyConsumer {
    pub(super) tag: Arc<str>,
    pub(super) registration: Registration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Wanted,
    /// `no_wait`.
    Unwanted,
}

#[derive(Debug)]
pub(super) enum Mode {
    Plain,
    Confirm(Confirms),
    Transaction(Transaction),
}

impl Channel {
    pub(super) fn new(id: ChannelId) -> Self {
        let empty: Arc<str> = Arc::from("");
        Self {
            id,
            last_queue: None,
            prefetch: 0,
            window: 0,
            mode: Mode::Plain,
            consumers: HashMap::new(),
            attaching: None,
            replies: None,
            auto_delete: Vec::new(),
            unacked: Unacked::default(),
            held: VecDeque::new(),
            last_address: (empty.clone(), empty),
            queued: Queued::default(),
        }
    }

    /// May another delivery that needs an acknowledgement go out?
    pub(super) fn has_room(&self) -> bool {
        self.window == 0 || self.unacked.len() < usize::from(self.window)
    }

    pub(super) fn consumer_by_tag(&self, tag: &str) -> Option<Consumer> {
        let mut consumers = self.consumers.iter();
        let (consumer, _) = consumers.find(|(_, known)| &*known.tag == tag)?;
        Some(*consumer)
    }
}
