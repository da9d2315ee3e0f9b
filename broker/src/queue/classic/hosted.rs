//! One classic queue in its driver: the machine, the bodies, and the confirms that wait for the disk.

use std::path::PathBuf;
use std::sync::Arc;

use commitlog::SyncTask;
use machine::metadata::image::{Image, Queue};
use machine::queue::{Config, Effect, Enqueued, Kind, Machine, NEVER, Reason};
use model::BrokerId;

use super::Context;
use crate::queue::dead_letter::Publisher;
use crate::queue::host::{self, Answer};
use crate::queue::outbox::Outbox;
use crate::queue::message::Message;
use crate::queue::metrics::Labels;
use crate::queue::protocol::{Delivered, Op, Reply, Response, SessionKey};
use crate::queue::store::{self, Store};

pub(super) struct Hosted {
    queue: Arc<Queue>,
    machine: Machine,
    /// `None` once the disk has failed: the queue answers that it is unavailable.
    store: Option<Store>,
    window: u32,
    effects: Vec<Effect>,
    /// Confirms that wait for the next sync.
    unsynced: Vec<(SessionKey, u64)>,
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
        let ttl = config.message_ttl_ms;
        let mut machine = Machine::new(config, now_ms);
        if !queue.durable
            && let Err(error) = store::remove(&dir)
        {
            tracing::error!(queue = %queue.name, %error, "left over files cannot be removed");
        }
        let store = Store::open(store::Config {
            dir,
            opened_after: context.opened_after,
            cache_bytes_max: context.links.config().cache_bytes_max,
        });
        let store = match store {
            Ok((store, messages)) => {
                for mut message in messages {
                    if let Some(ttl) = ttl {
                        let ttl = i64::try_from(ttl).unwrap_or(NEVER);
                        let deadline = message.enqueued_ms.saturating_add(ttl);
                        message.deadline_ms = message.deadline_ms.min(deadline);
                    }
                    machine.restore(message);
                }
                Some(store)
            }
            Err(error) => {
                tracing::error!(queue = %queue.name, %error, "queue cannot be opened");
                None
            }
        };
        Self {
            labels: Labels::of(&queue),
            queue,
            machine,
            store,
            window: context.links.config().consumer_unwritten_max,
            effects: Vec::new(),
            unsynced: Vec::new(),
            timer: NEVER,
        }
    }

    /// Carries out a request; what it causes waits for [`Self::settle_effects`].
    pub(super) fn take(&mut self, session: SessionKey, op: Op, now_ms: i64, outbox: &mut Outbox) {
        let Some(store) = &mut self.store else {
            return unavailable(session, &op, outbox);
        };
        if let Op::Publish { publish, message } = op {
            return self.publish(session, publish, message, now_ms, outbox);
        }
        let effects = &mut self.effects;
        let answer = host::apply(
            &mut self.machine,
            session,
            &op,
            self.window,
            now_ms,
            effects,
        );
        match answer {
            Answer::Nothing => {}
            Answer::Called(call, reply) => outbox.call(session, call, reply),
            Answer::Got(call, None) => outbox.call(session, call, Reply::Got(None)),
            Answer::Got(call, Some(got)) => {
                let reply = match store.get(got.position) {
                    Ok(Some(message)) => Reply::Got(Some((
                        Delivered {
                            position: got.position,
                            redelivered: got.redelivered,
                            delivery_count: 0,
                            message,
                        },
                        got.left,
                    ))),
                    Ok(None) => Reply::Unavailable,
                    Err(error) => {
                        self.fail(&error, outbox);
                        Reply::Unavailable
                    }
                };
                outbox.call(session, call, reply);
            }
        }
    }

    fn publish(
        &mut self,
        session: SessionKey,
        publish: u64,
        message: Arc<Message>,
        now_ms: i64,
        outbox: &mut Outbox,
    ) {
        let Some(store) = &mut self.store else {
            return outbox.refuse(session, publish);
        };
        let enqueued = self.machine.enqueue(
            now_ms,
            store.next(),
            host::size_of(&message),
            message.expiration,
            message.priority,
            &mut self.effects,
        );
        match enqueued {
            Enqueued::Accepted => {
                let durable = self.queue.durable && message.persistent;
                store.put(now_ms, message, durable);
                if durable {
                    self.unsynced.push((session, publish));
                } else {
                    outbox.confirm(session, publish);
                }
            }
            Enqueued::Refused { dead_letter } => {
                if dead_letter {
                    // Kept for the moment that its dead letter takes.
                    let position = store.next();
                    store.put(now_ms, message, false);
                    self.effects.push(Effect::Died {
                        position,
                        reason: Reason::MaxLen,
                    });
                }
                outbox.refuse(session, publish);
            }
        }
    }

    /// Carries out what the machine has decided.
    pub(super) fn settle_effects(
        &mut self,
        now_ms: i64,
        context: &Context,
        image: &Image,
        letters: &mut Publisher,
        outbox: &mut Outbox,
    ) {
        for effect in std::mem::take(&mut self.effects) {
            let Some(store) = &mut self.store else {
                return;
            };
            match effect {
                Effect::Deliver {
                    consumer,
                    position,
                    redelivered,
                    delivery_count,
                } => match store.get(position) {
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
                        tracing::error!(queue = %self.queue.name, position, "message has no body");
                    }
                    Err(error) => self.fail(&error, outbox),
                },
                Effect::Settled { position } => store.settle(position),
                Effect::Purged { positions } => {
                    for position in positions {
                        store.settle(position);
                    }
                }
                Effect::Died { position, reason } => {
                    let config = self.machine.config();
                    if config.dead_letter_exchange.is_some()
                        && let Ok(Some(message)) = store.get(position)
                    {
                        let queue = &self.queue;
                        letters.publish(image, queue, config, &message, reason, now_ms);
                        context.metrics.dead_lettered(&self.labels, reason);
                    }
                    store.settle(position);
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

    /// Writes what has gathered. What must reach the disk before its confirm is in the answer.
    pub(super) fn write(
        &mut self,
        outbox: &mut Outbox,
    ) -> Option<(SyncTask, Vec<(SessionKey, u64)>)> {
        let store = self.store.as_mut()?;
        let written = store.append().and_then(|_| {
            if self.unsynced.is_empty() {
                Ok(None)
            } else {
                store.begin_sync()
            }
        });
        match written {
            Ok(Some(task)) => return Some((task, std::mem::take(&mut self.unsynced))),
            Ok(None) => {
                for (session, publish) in self.unsynced.drain(..) {
                    outbox.confirm(session, publish);
                }
            }
            Err(error) => self.fail(&error, outbox),
        }
        None
    }

    pub(super) fn tick(&mut self, now_ms: i64) {
        self.timer = NEVER;
        self.machine.tick(now_ms, &mut self.effects);
    }

    pub(super) fn next_timer(&self) -> i64 {
        self.machine.next_deadline_ms().unwrap_or(NEVER)
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

    pub(super) fn observe(&self, context: &Context, now_ms: i64) {
        let stats = host::stats(&self.machine, now_ms);
        context.metrics.observe(&self.labels, &stats);
    }

    /// The queue is gone from the image: confirms what waits, tells its consumers, removes its files.
    pub(super) fn delete(self, outbox: &mut Outbox, context: &Context) {
        for (session, publish) in self.unsynced {
            outbox.confirm(session, publish);
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
        if let Some(store) = self.store
            && let Err(error) = store.delete()
        {
            tracing::error!(queue = %self.queue.name, %error, "files of a deleted queue remain");
        }
    }

    /// False when the files are not those of a clean shutdown.
    pub(super) fn close(self) -> bool {
        let Some(store) = self.store else {
            // It could not be opened, or has failed: a recovery is still due.
            return false;
        };
        let closed = store.close();
        if let Err(error) = &closed {
            tracing::error!(queue = %self.queue.name, %error, "queue did not close cleanly");
        }
        closed.is_ok()
    }

    /// The disk has failed: nothing that this queue says can be relied on any more.
    fn fail(&mut self, error: &store::Error, outbox: &mut Outbox) {
        tracing::error!(queue = %self.queue.name, %error, "queue has failed");
        self.store = None;
        self.effects.clear();
        for (session, publish) in self.unsynced.drain(..) {
            outbox.refuse(session, publish);
        }
    }
}

fn unavailable(session: SessionKey, op: &Op, outbox: &mut Outbox) {
    match op {
        Op::Publish { publish, .. } => outbox.refuse(session, *publish),
        Op::Consume(_, call) | Op::Get { call, .. } | Op::Purge { call } | Op::Stats { call } => {
            outbox.call(session, *call, Reply::Unavailable);
        }
        Op::Cancel { consumer } => outbox.push(
            session,
            Response::Cancelled {
                consumer: *consumer,
                by_client: true,
            },
        ),
        Op::Resume(..) | Op::Leave { .. } | Op::Settle { .. } | Op::Written { .. } => {}
    }
}
