//! What sessions ask of hosts and what hosts answer. The same for a thread next door and for another
//! broker; `protocol/codec.rs` is its form on the mesh and in the shards' Raft log.

pub(crate) mod codec;

use std::sync::Arc;

use model::BrokerId;

use super::message::Message;

/// One connection, over all brokers and all restarts: `number` is drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    pub broker: BrokerId,
    pub number: u64,
}

/// Id of a queue: `machine::metadata::image::Queue::id`.
pub type QueueId = u64;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub queue: QueueId,
    pub op: Op,
}

impl Request {
    /// What the message takes in memory that it carries; 0 without one.
    pub(crate) fn memory_bytes(&self) -> usize {
        match &self.op {
            Op::Publish { message, .. } => message.memory_bytes(),
            _ => 0,
        }
    }
}

/// How a consumer is attached. `consumer` numbers the consumers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    pub consumer: u32,
    /// It gets nothing more, it only holds: cancelled, or stands for gets.
    pub holding: bool,
    pub no_ack: bool,
    pub exclusive: bool,
    /// 0 = no limit.
    pub prefetch: u32,
    pub priority: i32,
}

/// How a delivery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ack,
    /// nack or reject with requeue.
    Requeue,
    /// nack or reject without: dead-lettered, else dropped.
    Reject,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `publish` numbers the publishes of a session from 1.
    Publish {
        publish: u64,
        message: Arc<Message>,
    },
    /// Attaches; the answer goes to the call of that number.
    Consume(Resume, u64),
    /// What was under way may be lost: attaches if the host does not know the consumer, and gives back
    /// what it holds there but for these positions.
    Resume(Resume, Vec<u64>),
    /// No more deliveries; what is unacknowledged stays so.
    Cancel {
        consumer: u32,
    },
    /// The channel is gone: as cancel, and what is unacknowledged goes back.
    Leave {
        consumer: u32,
    },
    Settle {
        consumer: u32,
        positions: Vec<u64>,
        outcome: Outcome,
    },
    /// Deliveries written to the socket: opens the consumer's window.
    Written {
        consumer: u32,
        count: u32,
    },
    Get {
        consumer: u32,
        call: u64,
        no_ack: bool,
    },
    Purge {
        call: u64,
    },
    Stats {
        call: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The host holds these as durably as the queue and the message ask.
    Confirmed {
        publishes: Vec<u64>,
    },
    /// The queue refused these (`reject-publish`) or cannot be reached.
    Refused {
        publishes: Vec<u64>,
    },
    Deliver {
        consumer: u32,
        deliveries: Vec<Delivered>,
    },
    /// Last word on a consumer: after `Cancel`, or because the queue went away.
    Cancelled {
        consumer: u32,
        by_client: bool,
    },
    Called {
        call: u64,
        reply: Reply,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    pub position: u64,
    pub redelivered: bool,
    /// Times it came back before, where the queue counts (quorum).
    pub delivery_count: u32,
    pub message: Arc<Message>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Consuming,
    ExclusiveInUse,
    SingleActiveConsumer,
    /// `None`: empty.
    Got(Option<(Delivered, u64)>),
    Purged(u64),
    Stats(Stats),
    NotFound,
    Unavailable,
    /// The host has the queue, but cannot read its log.
    Crashed,
}

/// What a queue holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub ready: u64,
    pub unacked: u64,
    pub consumers: u32,
    pub ready_bytes: u64,
    /// Milliseconds since the oldest ready message came in; 0 when empty.
    pub oldest_ready_age_ms: u64,
}
