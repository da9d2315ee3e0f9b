//! Quorum queues: one [`Shard`] per Raft group, many queues each, the same on every member.
//!
//! A shard applies committed commands to the machines of its queues. Everything that can be seen from
//! outside (deliveries, dead letters, gauges) is done by the leader alone. A batch of requests comes from
//! one broker at a time and is answered with the reply to its command; the shard remembers the last
//! reply per broker, so a batch that is sent again after a lost answer has its effect once.
//!
//! Bodies are in memory, on every member, until their message is settled, and a snapshot holds them:
//! live bytes of a shard are bounded by the members' memory. They count in each member's `budget`.

mod bodies;
pub(crate) mod command;
pub(crate) mod keeper;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use machine::metadata::image::{Queue, QueueKind};
use machine::queue::{Config, Effect, Enqueued, Kind, Machine, NEVER, Reason};
use machine::value::Table;
use model::{BrokerId, ShardId};

use self::bodies::Bodies;
use self::command::{Command, Origin};
use self::keeper::Outlook;
use super::budget::Share;
use super::dead_letter::Publisher;
use super::host::{self, Answer, UNLIMITED_PREFETCH, Window};
use super::links::Links;
use super::message::Message;
use super::metrics::{Labels, Metrics};
use super::outbox::Outbox;
use super::protocol::codec;
use super::protocol::{Delivered, Op, QueueId, Reply, Response, SessionKey};
use crate::raft::{Entry, Snapshot, StateMachine, UnknownCommand};

/// Deleted queues that a shard remembers: a publish that comes late to one of them is confirmed, to an
/// older one refused.
const REMOVED_MAX: usize = 4_096;

pub(crate) struct Shard {
    id: ShardId,
    state: State,
    leading: bool,
    links: Arc<Links>,
    metrics: Metrics,
    letters: Publisher,
    outlook: Arc<Outlook>,
    outbox: Outbox,
    touched: BTreeSet<QueueId>,
    memory: Share,
}

/// What is replicated.
#[derive(Clone, Default)]
struct State {
    queues: BTreeMap<QueueId, Hosted>,
    bodies: Bodies,
    next: u64,
    origins: BTreeMap<BrokerId, Last>,
    /// The newest queues that were here and were deleted, at most [`REMOVED_MAX`].
    removed: BTreeSet<QueueId>,
}

/// The newest batch of one broker.
#[derive(Clone)]
struct Last {
    boot: u64,
    seq: u64,
    reply: Bytes,
}

#[derive(Clone)]
struct Hosted {
    queue: Arc<Queue>,
    labels: Labels,
    machine: Machine,
}

impl Shard {
    pub(crate) fn new(
        id: ShardId,
        links: Arc<Links>,
        metrics: Metrics,
        outlook: Arc<Outlook>,
    ) -> Self {
        Self {
            id,
            state: State::default(),
            leading: false,
            memory: Share::of(links.budget()),
            letters: Publisher::new(Arc::clone(&links)),
            links,
            metrics,
            outlook,
            outbox: Outbox::default(),
            touched: BTreeSet::new(),
        }
    }

    fn carry_out(&mut self, command: Bytes, now_ms: i64) -> Result<Bytes, UnknownCommand> {
        let command =
            Command::decode(command).map_err(|error| UnknownCommand(error.to_string()))?;
        match command {
            Command::Batch(origin, batches) => return Ok(self.batch(origin, batches, now_ms)),
            Command::Declare {
                queue,
                vhost,
                name,
                arguments,
            } => self.declare(queue, &vhost, &name, arguments, now_ms),
            Command::Remove { queue } => self.remove(queue),
            Command::Tick => self.tick(now_ms),
            Command::Gone { broker } => self.gone(broker, false, now_ms),
        }
        Ok(Bytes::new())
    }

    fn batch(
        &mut self,
        origin: Origin,
        batches: Vec<(u64, Vec<super::protocol::Request>)>,
        now_ms: i64,
    ) -> Bytes {
        match self.state.origins.get(&origin.broker) {
            Some(last) if last.boot == origin.boot && origin.seq <= last.seq => {
                return last.reply.clone();
            }
            Some(last) if last.boot != origin.boot => {
                // The broker has started anew: its former connections are gone.
                self.gone(origin.broker, true, now_ms);
            }
            _ => {}
        }
        let mut answers = Outbox::default();
        for (number, requests) in batches {
            let session = SessionKey {
                broker: origin.broker,
                number,
            };
            for request in requests {
                self.request(session, request.queue, request.op, now_ms, &mut answers);
            }
        }
        let mut reply = BytesMut::new();
        let answers: BTreeMap<SessionKey, Vec<Response>> = answers.drain().collect();
        codec::put_uint(&mut reply, answers.len() as u64);
        for (session, responses) in answers {
            codec::put_session(&mut reply, session);
            codec::response::put_responses(&mut reply, &responses);
        }
        let reply = reply.freeze();
        let last = Last {
            boot: origin.boot,
            seq: origin.seq,
            reply: reply.clone(),
        };
        self.state.origins.insert(origin.broker, last);
        reply
    }

    fn request(
        &mut self,
        session: SessionKey,
        id: QueueId,
        op: Op,
        now_ms: i64,
        answers: &mut Outbox,
    ) {
        let Some(hosted) = self.state.queues.get_mut(&id) else {
            let deleted = self.state.removed.contains(&id);
            host::missing(session, &op, deleted, answers);
            return;
        };
        let mut effects = Vec::new();
        if let Op::Publish {
            publish,
            mut message,
        } = op
        {
            if let Some(message) = Arc::get_mut(&mut message) {
                // A command carries many.
                message.detach(usize::MAX);
            }
            let position = self.state.next;
            self.state.next += 1;
            let enqueued = hosted.machine.enqueue(
                now_ms,
                position,
                host::size_of(&message),
                message.expiration,
                message.priority,
                &mut effects,
            );
            match enqueued {
                Enqueued::Accepted => {
                    self.state.bodies.insert(position, message);
                    answers.confirm(session, publish);
                }
                Enqueued::Refused { .. } => answers.refuse(session, publish),
            }
        } else if matches!(op, Op::Get { .. }) && hosted.machine.config().single_active_consumer {
            if let Op::Get { call, .. } = op {
                answers.call(session, call, Reply::SingleActiveConsumer);
            }
        } else {
            let op = capped(op);
            let machine = &mut hosted.machine;
            let answer = host::apply(
                machine,
                session,
                &op,
                Window::default(),
                now_ms,
                &mut effects,
            );
            match answer {
                Answer::Nothing => {}
                Answer::Called(call, reply) => answers.call(session, call, reply),
                Answer::Got(call, got) => {
                    let reply = got.and_then(|got| {
                        let message = self.state.bodies.get(got.position)?.clone();
                        let delivered = Delivered {
                            position: got.position,
                            redelivered: got.redelivered,
                            delivery_count: got.delivery_count,
                            message,
                        };
                        Some((delivered, got.left))
                    });
                    answers.call(session, call, Reply::Got(reply));
                }
            }
        }
        self.carry_effects(id, effects, now_ms);
    }

    fn carry_effects(&mut self, id: QueueId, effects: Vec<Effect>, now_ms: i64) {
        self.touched.insert(id);
        for effect in effects {
            match effect {
                Effect::Deliver {
                    consumer,
                    position,
                    redelivered,
                    delivery_count,
                } => {
                    if self.leading
                        && let Some(message) = self.state.bodies.get(position)
                    {
                        let delivered = Delivered {
                            position,
                            redelivered,
                            delivery_count,
                            message: message.clone(),
                        };
                        self.outbox.deliver(consumer, delivered);
                    }
                }
                Effect::Settled { position } => {
                    self.state.bodies.remove(position);
                }
                Effect::Purged { positions } => {
                    for position in positions {
                        self.state.bodies.remove(position);
                    }
                }
                Effect::Died { position, reason } => {
                    if let Some(message) = self.state.bodies.remove(position) {
                        self.bury(id, &message, reason, now_ms);
                    }
                }
                Effect::Cancelled { consumer } => self.push_cancelled(consumer, true),
                Effect::Unused => {
                    if self.leading
                        && let Some(hosted) = self.state.queues.get(&id)
                    {
                        self.links.delete_unused(&hosted.queue);
                    }
                }
            }
        }
    }

    fn push_cancelled(&mut self, key: machine::queue::ConsumerKey, by_client: bool) {
        if self.leading {
            let cancelled = Response::Cancelled {
                consumer: key.number,
                by_client,
            };
            self.outbox.push(host::session_of(key), cancelled);
        }
    }

    fn bury(&mut self, id: QueueId, message: &Message, reason: Reason, now_ms: i64) {
        let Some(hosted) = self.state.queues.get(&id).filter(|_| self.leading) else {
            return;
        };
        let config = hosted.machine.config();
        let image = self.links.image();
        let queue = &hosted.queue;
        if self
            .letters
            .publish(&image, queue, config, message, reason, now_ms)
        {
            self.metrics.dead_lettered(&hosted.labels, reason);
        }
    }

    fn declare(&mut self, id: QueueId, vhost: &str, name: &str, arguments: Table, now_ms: i64) {
        if self.state.queues.contains_key(&id) {
            return;
        }
        let config = Config::from_arguments(Kind::Quorum, &arguments)
            .unwrap_or_else(|_| Config::new(Kind::Quorum));
        let queue = Arc::new(Queue {
            vhost: vhost.into(),
            name: name.into(),
            id,
            kind: QueueKind::Quorum { shard: self.id },
            durable: true,
            auto_delete: false,
            exclusive: None,
            arguments,
        });
        let hosted = Hosted {
            labels: Labels::of(&queue),
            queue,
            machine: Machine::new(config, now_ms),
        };
        self.state.queues.insert(id, hosted);
        self.touched.insert(id);
    }

    fn remove(&mut self, id: QueueId) {
        let Some(hosted) = self.state.queues.remove(&id) else {
            return;
        };
        self.state.removed.insert(id);
        if self.state.removed.len() > REMOVED_MAX {
            self.state.removed.pop_first();
        }
        for position in hosted.machine.positions() {
            self.state.bodies.remove(position);
        }
        for consumer in hosted.machine.consumers() {
            self.push_cancelled(consumer, false);
        }
        self.metrics.forget(&hosted.labels);
        self.touched.remove(&id);
    }

    fn tick(&mut self, now_ms: i64) {
        let due: Vec<QueueId> = self
            .state
            .queues
            .iter()
            .filter(|(_, hosted)| {
                let deadline = hosted.machine.next_deadline_ms();
                deadline.is_some_and(|deadline| deadline <= now_ms)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let mut effects = Vec::new();
            if let Some(hosted) = self.state.queues.get_mut(&id) {
                hosted.machine.tick(now_ms, &mut effects);
            }
            self.carry_effects(id, effects, now_ms);
        }
    }

    /// Consumers of that broker leave. `counted`: towards the delivery limit, when it has lost its
    /// connections rather than the way here.
    fn gone(&mut self, broker: BrokerId, counted: bool, now_ms: i64) {
        let ids: Vec<QueueId> = self.state.queues.keys().copied().collect();
        for id in ids {
            let mut effects = Vec::new();
            if let Some(hosted) = self.state.queues.get_mut(&id) {
                for consumer in hosted.machine.consumers_of(broker.0) {
                    let machine = &mut hosted.machine;
                    machine.leave(now_ms, consumer, counted, &mut effects);
                }
            }
            if !effects.is_empty() {
                self.carry_effects(id, effects, now_ms);
            }
        }
    }

    /// After an entry: what the keeper has to know, and what sessions hear.
    fn publish_outlook(&mut self, now_ms: i64) {
        let touched = std::mem::take(&mut self.touched);
        self.memory.set(self.state.bodies.bytes());
        if self.leading {
            for id in touched {
                if let Some(hosted) = self.state.queues.get(&id) {
                    let stats = host::stats(&hosted.machine, now_ms);
                    self.metrics.observe(&hosted.labels, &stats);
                }
            }
            self.letters.flush();
            self.links.answer(&mut self.outbox);
        }
        let deadlines = self.state.queues.values();
        let deadlines = deadlines.filter_map(|hosted| hosted.machine.next_deadline_ms());
        self.outlook
            .update(deadlines.min().unwrap_or(NEVER), self.state.queues.keys());
    }
}

impl StateMachine for Shard {
    fn apply(&mut self, entry: &Entry) -> Result<Vec<Bytes>, UnknownCommand> {
        self.leading = entry.leading;
        let commands = entry.commands.iter().cloned();
        let replies = commands
            .map(|command| self.carry_out(command, entry.now_ms))
            .collect::<Result<_, _>>()?;
        self.publish_outlook(entry.now_ms);
        Ok(replies)
    }

    fn leadership(&mut self, leading: bool, term: u64) {
        tracing::info!(shard = %self.id, leading, term, "leadership of a shard");
        self.leading = leading;
        if !leading {
            for hosted in self.state.queues.values() {
                self.metrics.forget(&hosted.labels);
            }
        }
        self.outlook.set_leading(leading);
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.state.clone();
        Box::new(move |out: &mut dyn Write| snapshot::write(&state, out))
    }

    fn restore(&mut self, from: &mut dyn Read) -> std::io::Result<()> {
        self.state = snapshot::read(self.id, from)?;
        self.publish_outlook(host::now_ms());
        Ok(())
    }
}

/// A consumer without limit gets RabbitMQ's cap: what it holds is in the replicated state.
fn capped(op: Op) -> Op {
    match op {
        Op::Consume(mut resume, call) if resume.prefetch == 0 => {
            resume.prefetch = UNLIMITED_PREFETCH;
            Op::Consume(resume, call)
        }
        Op::Resume(mut resume, held) if resume.prefetch == 0 => {
            resume.prefetch = UNLIMITED_PREFETCH;
            Op::Resume(resume, held)
        }
        other => other,
    }
}
