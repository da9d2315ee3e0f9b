//! One queue, classic or quorum: what is ready, who holds what, and who gets the next message.
//!
//! Commands are methods; what has to happen outside comes back as [`Effect`]s in order. The machine
//! holds *positions* and sizes, never bodies. It is deterministic: time is passed in, consumers are
//! served in an order that depends on the commands alone, so every member of a shard that applies the
//! same log has the same state.
//!
//! Invariants: a message is in exactly one of ready, taken by one consumer, or gone; it is gone by
//! exactly one of [`Effect::Settled`], [`Effect::Died`], [`Effect::Purged`]; a consumer never holds more
//! than its prefetch; with a single active consumer at most one gets messages.

pub mod config;
mod consumers;
mod disuse;
mod limits;
mod ready;
mod snapshot;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use config::{Config, InvalidArgument, Kind, Overflow};
use consumers::{Consumer, Consumers};
use disuse::Disuse;
use ready::Ready;
pub use ready::{Message, NEVER};
pub use snapshot::Corrupt;

/// One attachment of a consumer. A consumer that attaches again is another one: its number differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConsumerKey {
    pub broker: i32,
    pub session: u64,
    pub number: u32,
}

/// Why a message left the queue unconsumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    Rejected,
    Expired,
    MaxLen,
    DeliveryLimit,
}

impl Reason {
    /// As `x-death` and the metrics call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::MaxLen => "maxlen",
            Self::DeliveryLimit => "delivery_limit",
        }
    }
}

/// How a consumer ends a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Ack,
    Requeue,
    Reject,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Deliver {
        consumer: ConsumerKey,
        position: u64,
        redelivered: bool,
        /// Times it came back, where the queue counts (quorum).
        delivery_count: u32,
    },
    /// Acknowledged: the body may go.
    Settled { position: u64 },
    /// To the dead-letter exchange, if there is one; the body may go after that.
    Died { position: u64, reason: Reason },
    /// Dropped by a purge.
    Purged { positions: Vec<u64> },
    /// The consumer's cancel has taken effect: nothing more is delivered to it.
    Cancelled { consumer: ConsumerKey },
    /// An auto-delete queue lost its last consumer, or `x-expires` has run out: delete it. Said again
    /// after a while if it is still there and unused.
    Unused,
}

/// What became of an enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    Accepted,
    /// `reject-publish`: the publisher gets a nack.
    Refused {
        /// `reject-publish-dlx`: the message also goes to the dead-letter exchange (`maxlen`).
        dead_letter: bool,
    },
}

/// What a `get` took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Got {
    pub position: u64,
    pub redelivered: bool,
    pub delivery_count: u32,
    /// Ready messages behind it.
    pub left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach {
    pub key: ConsumerKey,
    pub exclusive: bool,
    /// Deliveries that may be unsettled at a time; 0 = no limit.
    pub prefetch: u32,
    /// Deliveries that may be unwritten at a time (see [`Machine::written`]); 0 = no limit.
    pub window: u32,
    /// Bytes that may be unwritten at a time, or with no window in deliveries: unsettled. One delivery may
    /// exceed it; 0 = no limit.
    pub window_bytes: u64,
    /// `x-priority`: higher ones are served first while they have credit.
    pub priority: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queue in exclusive use")]
pub struct ExclusiveInUse;

/// The queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    config: Config,
    ready: Ready,
    consumers: Consumers,
    /// Orders deliveries over all consumers, for returns "in delivery order".
    deliveries: u64,
    disuse: Disuse,
}

impl Machine {
    pub fn new(config: Config, now_ms: i64) -> Self {
        Self {
            ready: Ready::new(config.priorities),
            consumers: Consumers::new(config.single_active_consumer),
            config,
            deliveries: 0,
            disuse: Disuse::new(now_ms),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Messages that nobody holds.
    pub fn ready_len(&self) -> u64 {
        self.ready.len()
    }

    pub fn ready_bytes(&self) -> u64 {
        self.ready.bytes()
    }

    /// Messages delivered and not settled.
    pub fn unacked_len(&self) -> u64 {
        self.consumers.taken_len()
    }

    /// Consumers attached and not cancelled.
    pub fn consumer_count(&self) -> usize {
        self.consumers.active_len()
    }

    /// When the message that is delivered next came in, in milliseconds since 1970.
    pub fn oldest_ready_ms(&self) -> Option<i64> {
        self.ready.oldest_ms()
    }

    /// Consumers of one broker, for when it is gone.
    pub fn consumers_of(&self, broker: i32) -> Vec<ConsumerKey> {
        let consumers = self.consumers.iter();
        let keys = consumers.map(|(consumer, _)| consumer.attach.key);
        keys.filter(|key| key.broker == broker).collect()
    }

    /// Every consumer, also those that only hold.
    pub fn consumers(&self) -> Vec<ConsumerKey> {
        let consumers = self.consumers.iter();
        consumers.map(|(consumer, _)| consumer.attach.key).collect()
    }

    /// Every position that the queue still needs, ready or taken, in no particular order.
    pub fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.ready.positions().chain(self.consumers.positions())
    }

    /// Adds a message. `position` is greater than all before; `expiration` in milliseconds.
    pub fn enqueue(
        &mut self,
        now_ms: i64,
        position: u64,
        size: u32,
        expiration: Option<u64>,
        priority: Option<u8>,
        effects: &mut Vec<Effect>,
    ) -> Enqueued {
        if self.would_overflow(size) {
            match self.config.overflow {
                Overflow::DropHead => {}
                Overflow::RejectPublish => return Enqueued::Refused { dead_letter: false },
                Overflow::RejectPublishDlx => return Enqueued::Refused { dead_letter: true },
            }
        }
        let ttl = match (expiration, self.config.message_ttl_ms) {
            (Some(own), Some(queue)) => Some(own.min(queue)),
            (own, queue) => own.or(queue),
        };
        let message = Message {
            position,
            size,
            enqueued_ms: now_ms,
            deadline_ms: ttl.map_or(NEVER, |ttl| {
                now_ms.saturating_add(i64::try_from(ttl).unwrap_or(NEVER))
            }),
            priority: self.config.priority_of(priority),
            delivery_count: 0,
            redelivered: false,
        };
        self.ready.push(message);
        self.advance(now_ms, effects);
        Enqueued::Accepted
    }

    /// A message that was ready when its log was written: no limit or consumer is looked at.
    pub fn restore(&mut self, mut message: Message) {
        message.priority = message.priority.min(self.config.priorities);
        self.ready.push(message);
    }

    /// Takes back an enqueue whose publisher is told that it failed. False when the message has been
    /// delivered, or has gone, already. For classic queues: their positions are in order.
    pub fn withdraw(&mut self, position: u64) -> bool {
        self.ready.withdraw(position)
    }

    pub fn attach(
        &mut self,
        now_ms: i64,
        attach: Attach,
        effects: &mut Vec<Effect>,
    ) -> Result<(), ExclusiveInUse> {
        let heeds_exclusive = self.config.kind == Kind::Classic;
        if self.consumers.is_consuming(attach.key) {
            self.advance(now_ms, effects);
            return Ok(());
        }
        if heeds_exclusive && !self.consumers.admits(attach.exclusive) {
            return Err(ExclusiveInUse);
        }
        self.disuse.attached(now_ms);
        let drains = self.config.kind == Kind::Quorum;
        self.consumers.attach(Consumer::new(attach), drains);
        self.advance(now_ms, effects);
        Ok(())
    }

    /// No more deliveries; what it holds stays with it until settled or [`Self::leave`].
    pub fn cancel(&mut self, now_ms: i64, key: ConsumerKey, effects: &mut Vec<Effect>) {
        let was_active = self.consumers.cancel(key);
        effects.push(Effect::Cancelled { consumer: key });
        self.after_loss(now_ms, was_active, effects);
    }

    /// The consumer is gone: what it holds goes back in delivery order. `counted`: towards the delivery
    /// limit (a lost channel or connection); not when only its attachment moved.
    pub fn leave(
        &mut self,
        now_ms: i64,
        key: ConsumerKey,
        counted: bool,
        effects: &mut Vec<Effect>,
    ) {
        let (was_active, mut taken) = self.consumers.remove(key);
        taken.sort_unstable_by_key(|(delivery, _)| *delivery);
        for (_, message) in taken {
            self.put_back(message, counted, true, effects);
        }
        self.after_loss(now_ms, was_active, effects);
    }

    /// Gives back, uncounted, what the consumer holds but for `held`: its other deliveries may have been
    /// lost on the way. A consumer that is not there changes nothing.
    pub fn resume(
        &mut self,
        now_ms: i64,
        key: ConsumerKey,
        held: &[u64],
        effects: &mut Vec<Effect>,
    ) {
        let mut lost = self.consumers.lost(key, held);
        lost.sort_unstable_by_key(|(delivery, _)| *delivery);
        for (_, message) in lost {
            self.put_back(message, false, true, effects);
        }
        self.consumers.settled(key);
        self.advance(now_ms, effects);
    }

    /// Ends deliveries. Positions that the consumer does not hold are ignored.
    pub fn settle(
        &mut self,
        now_ms: i64,
        key: ConsumerKey,
        positions: &[u64],
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) {
        for position in positions {
            let Some(message) = self.consumers.release(key, *position) else {
                continue;
            };
            match outcome {
                Outcome::Ack => effects.push(Effect::Settled {
                    position: message.position,
                }),
                Outcome::Reject => effects.push(Effect::Died {
                    position: message.position,
                    reason: Reason::Rejected,
                }),
                Outcome::Requeue => self.put_back(message, true, false, effects),
            }
        }
        self.consumers.settled(key);
        self.advance(now_ms, effects);
    }

    /// `count` deliveries of a windowed consumer have reached its socket.
    pub fn written(
        &mut self,
        now_ms: i64,
        key: ConsumerKey,
        count: u32,
        effects: &mut Vec<Effect>,
    ) {
        self.consumers.written(key, count);
        self.advance(now_ms, effects);
    }

    /// Takes the next message for `key`, which need not be attached; settled at once with `no_ack`.
    pub fn get(
        &mut self,
        now_ms: i64,
        key: ConsumerKey,
        no_ack: bool,
        effects: &mut Vec<Effect>,
    ) -> Option<Got> {
        self.disuse.used(now_ms);
        self.expire(now_ms, effects);
        let message = self.ready.pop()?;
        let got = Got {
            position: message.position,
            redelivered: message.redelivered,
            delivery_count: message.delivery_count,
            left: self.ready.len(),
        };
        if no_ack {
            effects.push(Effect::Settled {
                position: message.position,
            });
        } else {
            self.deliveries += 1;
            self.consumers.hold(key, self.deliveries, message);
        }
        Some(got)
    }

    /// Drops every ready message; the answer is how many.
    pub fn purge(&mut self, effects: &mut Vec<Effect>) -> u64 {
        let positions: Vec<u64> = self.ready.positions().collect();
        self.ready.clear();
        let count = positions.len() as u64;
        if count > 0 {
            effects.push(Effect::Purged { positions });
        }
        count
    }

    /// When [`Self::tick`] has something to do, in milliseconds since 1970.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let unused = self
            .disuse
            .next_ms(&self.config, self.consumers.active_len());
        let next = self.ready.next_deadline_ms().min(unused);
        (next != NEVER).then_some(next)
    }

    /// Expires what is due at the heads, and the queue itself.
    pub fn tick(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        self.advance(now_ms, effects);
        self.say_if_unused(now_ms, effects);
    }

    fn put_back(
        &mut self,
        mut message: Message,
        counted: bool,
        lost: bool,
        effects: &mut Vec<Effect>,
    ) {
        message.redelivered = true;
        if self.config.kind == Kind::Classic {
            self.ready.put_back(message);
            return;
        }
        message.delivery_count += u32::from(counted);
        match self.config.delivery_limit {
            Some(limit) if message.delivery_count > limit => effects.push(Effect::Died {
                position: message.position,
                reason: Reason::DeliveryLimit,
            }),
            None if !lost => self.ready.put_last(message),
            _ => self.ready.put_first(message),
        }
    }

    fn after_loss(&mut self, now_ms: i64, was_active: bool, effects: &mut Vec<Effect>) {
        if was_active && self.consumers.active_len() == 0 {
            self.disuse.left(now_ms);
            self.say_if_unused(now_ms, effects);
        }
        self.advance(now_ms, effects);
    }

    fn say_if_unused(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        if self
            .disuse
            .next_ms(&self.config, self.consumers.active_len())
            <= now_ms
        {
            self.disuse.said(now_ms);
            effects.push(Effect::Unused);
        }
    }

    /// Delivers while someone has credit, then expires and trims what is left.
    fn advance(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        while !self.ready.is_empty() {
            // A message with TTL 0 lives for this very moment: it may go to a waiting consumer.
            self.expire_before(now_ms, effects);
            let Some(consumer) = self.consumers.next() else {
                break;
            };
            let Some(message) = self.ready.pop() else {
                break;
            };
            self.deliveries += 1;
            effects.push(Effect::Deliver {
                consumer,
                position: message.position,
                redelivered: message.redelivered,
                delivery_count: message.delivery_count,
            });
            self.consumers.hold(consumer, self.deliveries, message);
        }
        self.expire(now_ms, effects);
        self.trim(effects);
    }
}
