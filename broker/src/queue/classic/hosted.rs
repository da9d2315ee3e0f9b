//! One classic queue in its driver: the machine, the bodies, and the confirms that wait for the disk.
//!
//! The machine decides at once; its effects are carried out in order, and wait where they cannot be:
//! for a body that the disk does not give, or for room among the dead letters.

mod effects;
mod recovery;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use machine::metadata::image::Queue;
use machine::queue::{Config, Effect, Enqueued, Kind, Machine, NEVER, Reason};
use model::BrokerId;

use super::Context;
use super::outage::Outage;
use crate::queue::budget::Share;
use crate::queue::host::{self, Answer, Window};
use crate::queue::message::Message;
use crate::queue::metrics::Labels;
use crate::queue::outbox::Outbox;
use crate::queue::protocol::{Delivered, Op, Reply, Response, SessionKey};
use crate::queue::store::{self, Store};
use crate::queue::sync::Unsynced;

/// Until the dead letters are looked at again that found no room.
const LETTERS_RETRY_MS: i64 = 5;

pub(super) struct Hosted {
    queue: Arc<Queue>,
    machine: Machine,
    store: Store,
    /// What the disk holds of an earlier life is in the machine.
    restored: bool,
    outage: Option<Outage>,
    window: Window,
    /// What the machine said last.
    effects: Vec<Effect>,
    /// What is not carried out yet, in order. Counts in the memory of the queues.
    pending: VecDeque<Effect>,
    /// Why there is something pending is that dead letters have no room.
    letters_wait: bool,
    /// Confirms that wait for the next sync.
    unsynced: Vec<Unsynced>,
    memory: Share,
    labels: Labels,
    /// What the driver has set a timer for.
    pub(super) timer: i64,
}

impl Hosted {
    pub(super) fn open(queue: Arc<Queue>, dir: PathBuf, context: &Context, now_ms: i64) -> Self {
        // Arguments were checked when the queue was declared.
        let mut config = Config::from_arguments(Kind::Classic, &queue.arguments)
            .unwrap_or_else(|_| Config::new(Kind::Classic));
        config.auto_delete = queue.auto_delete;
        if !queue.durable
            && let Err(error) = store::remove(&dir)
        {
            tracing::error!(queue = %queue.name, %error, "left over files cannot be removed");
        }
        let bounds = context.links.config();
        let mut hosted = Self {
            labels: Labels::of(&queue),
            queue,
            machine: Machine::new(config, now_ms),
            store: Store::new(store::Config {
                dir,
                opened_after: context.opened_after,
                cache_bytes_max: bounds.cache_bytes_max,
            }),
            restored: false,
            outage: None,
            window: Window {
                deliveries: bounds.consumer_unwritten_max,
                bytes: bounds.consumer_unwritten_bytes_max,
            },
            effects: Vec::new(),
            pending: VecDeque::new(),
            letters_wait: false,
            unsynced: Vec::new(),
            memory: Share::of(context.links.budget()),
            timer: NEVER,
        };
        if let Err(error) = hosted.restore() {
            tracing::error!(queue = %hosted.queue.name, %error, "queue cannot be opened; it is tried again");
            hosted.outage = Some(Outage::new(now_ms, false));
        }
        hosted
    }

    /// Carries out a request; what it causes waits for [`Self::settle_effects`].
    pub(super) fn take(
        &mut self,
        session: SessionKey,
        op: Op,
        now_ms: i64,
        context: &Context,
        outbox: &mut Outbox,
    ) {
        match op {
            Op::Publish { publish, message } if self.outage.is_none() => {
                self.publish(session, publish, message, now_ms, context, outbox);
            }
            Op::Publish { publish, .. } => outbox.refuse(session, publish),
            // What it has is not known yet.
            Op::Consume(_, call)
            | Op::Get { call, .. }
            | Op::Purge { call }
            | Op::Stats { call }
                if !self.restored =>
            {
                outbox.call(session, call, Reply::Crashed);
            }
            Op::Get {
                consumer,
                call,
                no_ack,
            } => {
                let reply = self.get(session, consumer, no_ack, now_ms);
                outbox.call(session, call, reply);
            }
            op => {
                let (machine, effects) = (&mut self.machine, &mut self.effects);
                let answer = host::apply(machine, session, &op, self.window, now_ms, effects);
                if let Answer::Called(call, reply) = answer {
                    outbox.call(session, call, reply);
                }
            }
        }
    }

    /// The first that has its body, which is settled only then: one that cannot be read goes back. One
    /// without a body is dropped, as RabbitMQ drops it when it restarts the queue that crashed over it.
    fn get(&mut self, session: SessionKey, consumer: u32, no_ack: bool, now_ms: i64) -> Reply {
        let key = host::key_of(session, consumer);
        loop {
            let effects = &mut self.effects;
            let Some(got) = self.machine.get(now_ms, key, false, effects) else {
                return Reply::Got(None);
            };
            let body = self.store.get(got.position);
            let outcome = match &body {
                Ok(Some(_)) if !no_ack => None,
                Ok(_) => Some(machine::queue::Outcome::Ack),
                Err(_) => Some(machine::queue::Outcome::Requeue),
            };
            if let Some(outcome) = outcome {
                let position = [got.position];
                self.machine
                    .settle(now_ms, key, &position, outcome, effects);
            }
            match body {
                Ok(Some(message)) => {
                    let delivered = Delivered {
                        position: got.position,
                        redelivered: got.redelivered,
                        delivery_count: 0,
                        message,
                    };
                    return Reply::Got(Some((delivered, got.left)));
                }
                Ok(None) => self.report_lost(got.position),
                Err(error) => {
                    self.fail(&error, now_ms);
                    return Reply::Crashed;
                }
            }
        }
    }

    fn publish(
        &mut self,
        session: SessionKey,
        publish: u64,
        message: Arc<Message>,
        now_ms: i64,
        context: &Context,
        outbox: &mut Outbox,
    ) {
        let position = self.store.next();
        let enqueued = self.machine.enqueue(
            now_ms,
            position,
            host::size_of(&message),
            message.expiration,
            message.priority,
            &mut self.effects,
        );
        let cached = !context.links.budget().is_tight();
        match enqueued {
            Enqueued::Accepted => {
                let durable = self.queue.durable && message.persistent;
                self.store.put(now_ms, message, durable, cached);
                if durable {
                    self.unsynced.push(Unsynced {
                        session,
                        publish,
                        position,
                    });
                } else {
                    outbox.confirm(session, publish);
                }
            }
            Enqueued::Refused { dead_letter } => {
                if dead_letter {
                    // Kept for the moment that its dead letter takes.
                    self.store.put(now_ms, message, false, cached);
                    self.effects.push(Effect::Died {
                        position,
                        reason: Reason::MaxLen,
                    });
                }
                outbox.refuse(session, publish);
            }
        }
    }

    pub(super) fn tick(&mut self, now_ms: i64) {
        self.timer = NEVER;
        if self.outage.as_ref().is_some_and(|o| o.is_due(now_ms)) {
            self.recover(now_ms);
        }
        if self.restored {
            self.machine.tick(now_ms, &mut self.effects);
        }
    }

    pub(super) fn next_timer(&self, now_ms: i64) -> i64 {
        let retry = self.outage.as_ref().map_or(NEVER, |o| o.retry_at_ms);
        let letters = if self.letters_wait {
            now_ms.saturating_add(LETTERS_RETRY_MS)
        } else {
            NEVER
        };
        // Before that nothing can expire, for want of being known.
        let deadline = self.machine.next_deadline_ms().filter(|_| self.restored);
        deadline.unwrap_or(NEVER).min(retry).min(letters)
    }

    /// Consumers of that broker leave. True when there were any.
    pub(super) fn gone(&mut self, broker: BrokerId, now_ms: i64) -> bool {
        let consumers = self.machine.consumers_of(broker.0);
        for consumer in &consumers {
            let effects = &mut self.effects;
            self.machine.leave(now_ms, *consumer, true, effects);
        }
        !consumers.is_empty()
    }

    /// Gives back up to `bytes` of memory by leaving bodies to the log; how much it was.
    pub(super) fn shrink(&mut self, bytes: usize) -> usize {
        if self.outage.is_some() {
            return 0;
        }
        self.store.evict(bytes)
    }

    pub(super) fn observe(&self, context: &Context, now_ms: i64) {
        let stats = host::stats(&self.machine, now_ms);
        context.metrics.observe(&self.labels, &stats);
    }

    /// The queue is gone from the image: confirms what waits, tells its consumers, removes its files.
    pub(super) fn delete(self, outbox: &mut Outbox, context: &Context) {
        for unsynced in self.unsynced {
            outbox.confirm(unsynced.session, unsynced.publish);
        }
        for consumer in self.machine.consumers() {
            outbox.push(
                host::session_of(consumer),
                Response::Cancelled {
                    consumer: consumer.number,
                    by_client: false,
                },
            );
        }
        context.metrics.forget(&self.labels);
        if let Err(error) = self.store.delete() {
            tracing::error!(queue = %self.queue.name, %error, "files of a deleted queue remain");
        }
    }

    fn report_lost(&self, position: u64) {
        tracing::error!(queue = %self.queue.name, position, "message has lost its body; it is dropped");
    }
}
