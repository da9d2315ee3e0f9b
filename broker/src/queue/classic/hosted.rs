//! One classic queue in its driver: the machine, the bodies, and the confirms that wait for the disk.
//!
//! The machine decides at once; its effects are carried out in order, and wait where they cannot be:
//! for a body that the disk does not give, or for room among the dead letters.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use machine::metadata::image::{Image, Queue};
use machine::queue::{Config, Effect, Enqueued, Kind, Machine, NEVER, Reason};
use model::BrokerId;

use super::Context;
use super::outage::Outage;
use crate::queue::budget::Share;
use crate::queue::dead_letter::Publisher;
use crate::queue::host::{self, Answer, Window};
use crate::queue::message::Message;
use crate::queue::metrics::Labels;
use crate::queue::outbox::Outbox;
use crate::queue::protocol::{Delivered, Op, Reply, Response, SessionKey};
use crate::queue::store::{self, Store};
use crate::queue::sync::{Job, Unsynced};

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
    /// What is not carried out yet, in order. Bounded by the messages and consumers of the queue.
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

    /// Takes over what an earlier life left.
    fn restore(&mut self) -> Result<(), store::Error> {
        let messages = self.store.open()?;
        let ttl = self.machine.config().message_ttl_ms;
        let ttl = ttl.map(|ttl| i64::try_from(ttl).unwrap_or(NEVER));
        for mut message in messages {
            if let Some(ttl) = ttl {
                let deadline = message.enqueued_ms.saturating_add(ttl);
                message.deadline_ms = message.deadline_ms.min(deadline);
            }
            self.machine.restore(message);
        }
        self.restored = true;
        Ok(())
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

    /// Settled only once its body is there: one that cannot be read goes back.
    fn get(&mut self, session: SessionKey, consumer: u32, no_ack: bool, now_ms: i64) -> Reply {
        let key = host::key_of(session, consumer);
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
            Ok(Some(message)) => Reply::Got(Some((
                Delivered {
                    position: got.position,
                    redelivered: got.redelivered,
                    delivery_count: 0,
                    message,
                },
                got.left,
            ))),
            Ok(None) => {
                self.report_lost(got.position);
                Reply::Crashed
            }
            Err(error) => {
                self.fail(&error, now_ms);
                Reply::Crashed
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

    /// Carries out what the machine has decided, as far as it can be.
    pub(super) fn settle_effects(
        &mut self,
        now_ms: i64,
        context: &Context,
        image: &Image,
        letters: &mut Publisher,
        outbox: &mut Outbox,
    ) {
        self.letters_wait = false;
        loop {
            self.pending.extend(self.effects.drain(..));
            let Some(effect) = self.pending.pop_front() else {
                return;
            };
            match effect {
                Effect::Deliver {
                    consumer,
                    position,
                    redelivered,
                    delivery_count,
                } => match self.store.get(position) {
                    Ok(Some(message)) => outbox.deliver(
                        consumer,
                        Delivered {
                            position,
                            redelivered,
                            delivery_count,
                            message,
                        },
                    ),
                    Ok(None) => {
                        self.report_lost(position);
                        let (machine, effects) = (&mut self.machine, &mut self.effects);
                        let outcome = machine::queue::Outcome::Ack;
                        machine.settle(now_ms, consumer, &[position], outcome, effects);
                    }
                    Err(error) => {
                        self.pending.push_front(effect);
                        return self.fail(&error, now_ms);
                    }
                },
                Effect::Settled { position } => self.store.settle(position),
                Effect::Purged { positions } => {
                    for position in positions {
                        self.store.settle(position);
                    }
                }
                Effect::Died { position, reason } => {
                    if self.machine.config().dead_letter_exchange.is_some() {
                        if letters.is_full() {
                            self.pending.push_front(effect);
                            self.letters_wait = true;
                            return;
                        }
                        match self.store.get(position) {
                            Ok(Some(message)) => {
                                let (queue, config) = (&self.queue, self.machine.config());
                                letters.publish(image, queue, config, &message, reason, now_ms);
                                context.metrics.dead_lettered(&self.labels, reason);
                            }
                            Ok(None) => self.report_lost(position),
                            Err(error) => {
                                self.pending.push_front(effect);
                                return self.fail(&error, now_ms);
                            }
                        }
                    }
                    self.store.settle(position);
                }
                Effect::Cancelled { consumer } => outbox.push(
                    host::session_of(consumer),
                    Response::Cancelled {
                        consumer: consumer.number,
                        by_client: true,
                    },
                ),
                Effect::Unused => context.links.delete(&self.queue),
            }
        }
    }

    /// Writes what has gathered. The answer is what must be synced, and who waits for it.
    pub(super) fn write(&mut self, now_ms: i64, outbox: &mut Outbox) -> Option<Job> {
        if self.outage.is_some() {
            let unsynced = std::mem::take(&mut self.unsynced);
            self.refuse(unsynced, outbox);
            self.memory.set(self.store.held_bytes());
            return None;
        }
        let store = &mut self.store;
        let written = store.append().and_then(|_| {
            if self.unsynced.is_empty() && !store.wants_sync() {
                Ok(None)
            } else {
                store.begin_sync()
            }
        });
        let job = match written {
            Ok(Some(task)) => Some(Job {
                queue: self.queue.id,
                task,
                waiting: std::mem::take(&mut self.unsynced),
            }),
            Ok(None) => {
                for unsynced in self.unsynced.drain(..) {
                    outbox.confirm(unsynced.session, unsynced.publish);
                }
                None
            }
            Err(error) => {
                self.fail(&error, now_ms);
                let unsynced = std::mem::take(&mut self.unsynced);
                self.refuse(unsynced, outbox);
                None
            }
        };
        self.memory.set(self.store.held_bytes());
        job
    }

    /// A sync has failed that these waited for. The log may have been opened anew since.
    pub(super) fn not_synced(
        &mut self,
        unsynced: Vec<Unsynced>,
        error: &store::Error,
        now_ms: i64,
        outbox: &mut Outbox,
    ) {
        if self.store.is_broken() {
            self.fail(error, now_ms);
        }
        self.refuse(unsynced, outbox);
    }

    /// Tells publishers that their messages are not taken, and takes them back where no consumer has them
    /// already.
    fn refuse(&mut self, unsynced: Vec<Unsynced>, outbox: &mut Outbox) {
        let mut withdrawn = Vec::new();
        for unsynced in unsynced {
            outbox.refuse(unsynced.session, unsynced.publish);
            if self.machine.withdraw(unsynced.position) {
                withdrawn.push(unsynced.position);
            }
        }
        self.store.withdraw(&withdrawn);
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

    /// Tries to bring the queue back into service.
    fn recover(&mut self, now_ms: i64) {
        match self.reopen(now_ms) {
            Ok(()) => {
                tracing::info!(queue = %self.queue.name, "queue is in service again");
                self.outage = None;
            }
            Err(error) => {
                tracing::warn!(queue = %self.queue.name, %error, "queue is still out of service");
                if let Some(outage) = &mut self.outage {
                    outage.again(now_ms);
                }
            }
        }
    }

    fn reopen(&mut self, now_ms: i64) -> Result<(), store::Error> {
        if !self.restored {
            return self.restore();
        }
        if self.store.is_broken() {
            let pending = self.pending.iter().filter_map(|effect| match effect {
                Effect::Deliver { position, .. } | Effect::Died { position, .. } => Some(*position),
                _ => None,
            });
            let needed = self.machine.positions().chain(pending);
            self.store.reopen(now_ms, needed)?;
        }
        self.store.append()?;
        if let Some(Effect::Deliver { position, .. } | Effect::Died { position, .. }) =
            self.pending.front()
        {
            // The body that the disk did not give; until it does nothing goes on.
            self.store.get(*position)?;
        }
        Ok(())
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

    /// False when the files are not those of a clean shutdown.
    pub(super) fn close(mut self, now_ms: i64) -> bool {
        if self.outage.is_some() {
            // A last try: it may have been a full disk.
            self.recover(now_ms);
        }
        if self.outage.is_some() {
            return false;
        }
        let closed = self.store.close();
        if let Err(error) = &closed {
            tracing::error!(queue = %self.queue.name, %error, "queue did not close cleanly");
        }
        closed.is_ok()
    }

    /// The disk has failed. The driver's next timer tries again.
    fn fail(&mut self, error: &store::Error, now_ms: i64) {
        if self.outage.is_none() {
            tracing::error!(
                queue = %self.queue.name,
                error = error as &dyn std::error::Error,
                "the disk has failed a queue: publishes are refused until it serves again"
            );
            // An append that failed is tried again later; a log that is in doubt is opened anew now.
            self.outage = Some(Outage::new(now_ms, self.store.is_broken()));
        }
    }

    fn report_lost(&self, position: u64) {
        tracing::error!(queue = %self.queue.name, position, "message has lost its body; it is dropped");
    }
}
