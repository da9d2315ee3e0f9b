//! From requests to the machine's commands, the same for the hosts of classic and quorum queues.

use std::sync::Arc;

use machine::queue::{Attach, ConsumerKey, Effect, Got, Machine};

use super::message::Message;
use super::outbox::Outbox;
use super::protocol::{Op, Outcome, Reply, Response, Resume, SessionKey, Stats};
pub(crate) use crate::clock::wall_ms as now_ms;

/// Deliveries that a quorum consumer without prefetch limit may hold (RabbitMQ's cap), and that a
/// classic one may have unwritten.
pub(crate) const UNLIMITED_PREFETCH: u32 = 2_000;

/// How much of what a consumer was given may be unwritten; 0 = no limit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Window {
    pub(crate) deliveries: u32,
    pub(crate) bytes: u64,
}

/// What a request is answered with, once its effects are carried out.
pub(crate) enum Answer {
    Nothing,
    Called(u64, Reply),
    /// A get: the body has to be added.
    Got(u64, Option<Got>),
}

/// Everything but a publish: told to the machine.
pub(crate) fn apply(
    machine: &mut Machine,
    session: SessionKey,
    op: &Op,
    window: Window,
    now_ms: i64,
    effects: &mut Vec<Effect>,
) -> Answer {
    let key = |number: u32| key_of(session, number);
    match op {
        Op::Publish { .. } => Answer::Nothing,
        Op::Consume(resume, call) => {
            let attach = attach(session, resume, window);
            let reply = match machine.attach(now_ms, attach, effects) {
                Ok(()) => Reply::Consuming,
                Err(_) => Reply::ExclusiveInUse,
            };
            Answer::Called(*call, reply)
        }
        Op::Resume(resume, held) => {
            machine.resume(now_ms, key(resume.consumer), held, effects);
            if resume.holding {
                machine.cancel(now_ms, key(resume.consumer), effects);
            } else {
                let attach = attach(session, resume, window);
                if machine.attach(now_ms, attach, effects).is_err() {
                    effects.push(Effect::Cancelled {
                        consumer: attach.key,
                    });
                }
            }
            Answer::Nothing
        }
        Op::Cancel { consumer } => {
            machine.cancel(now_ms, key(*consumer), effects);
            Answer::Nothing
        }
        Op::Leave { consumer } => {
            machine.leave(now_ms, key(*consumer), true, effects);
            Answer::Nothing
        }
        Op::Settle {
            consumer,
            positions,
            outcome,
        } => {
            let outcome = match outcome {
                Outcome::Ack => machine::queue::Outcome::Ack,
                Outcome::Requeue => machine::queue::Outcome::Requeue,
                Outcome::Reject => machine::queue::Outcome::Reject,
            };
            machine.settle(now_ms, key(*consumer), positions, outcome, effects);
            Answer::Nothing
        }
        Op::Written { consumer, count } => {
            machine.written(now_ms, key(*consumer), *count, effects);
            Answer::Nothing
        }
        Op::Get {
            consumer,
            call,
            no_ack,
        } => Answer::Got(*call, machine.get(now_ms, key(*consumer), *no_ack, effects)),
        Op::Purge { call } => Answer::Called(*call, Reply::Purged(machine.purge(effects))),
        Op::Stats { call } => Answer::Called(*call, Reply::Stats(stats(machine, now_ms))),
    }
}

/// A queue that is not here. What is published to a deleted one is confirmed and gone, as in RabbitMQ;
/// unless the host is sure of that (`deleted`), it refuses: the queue may live, and this host be late.
pub(crate) fn missing(session: SessionKey, op: &Op, deleted: bool, outbox: &mut Outbox) {
    match op {
        Op::Publish { publish, .. } if deleted => outbox.confirm(session, *publish),
        Op::Publish { publish, .. } => outbox.refuse(session, *publish),
        Op::Consume(_, call) | Op::Get { call, .. } | Op::Purge { call } | Op::Stats { call } => {
            outbox.call(session, *call, Reply::NotFound)
        }
        Op::Cancel { consumer } => outbox.push(
            session,
            Response::Cancelled {
                consumer: *consumer,
                by_client: true,
            },
        ),
        Op::Resume(resume, _) => outbox.push(
            session,
            Response::Cancelled {
                consumer: resume.consumer,
                by_client: false,
            },
        ),
        Op::Leave { .. } | Op::Settle { .. } | Op::Written { .. } => {}
    }
}

pub(crate) fn stats(machine: &Machine, now_ms: i64) -> Stats {
    let age = machine
        .oldest_ready_ms()
        .map_or(0, |since| now_ms.saturating_sub(since));
    Stats {
        ready: machine.ready_len(),
        unacked: machine.unacked_len(),
        consumers: u32::try_from(machine.consumer_count()).unwrap_or(u32::MAX),
        ready_bytes: machine.ready_bytes(),
        oldest_ready_age_ms: u64::try_from(age).unwrap_or(0),
    }
}

fn attach(session: SessionKey, resume: &Resume, window: Window) -> Attach {
    Attach {
        key: key_of(session, resume.consumer),
        exclusive: resume.exclusive,
        prefetch: resume.prefetch,
        // Settling one that needs no acknowledgement says that it is written.
        window: if resume.no_ack { 0 } else { window.deliveries },
        window_bytes: window.bytes,
        priority: resume.priority,
    }
}

pub(crate) fn key_of(session: SessionKey, number: u32) -> ConsumerKey {
    ConsumerKey {
        broker: session.broker.0,
        session: session.number,
        number,
    }
}

pub(crate) fn session_of(key: ConsumerKey) -> SessionKey {
    SessionKey {
        broker: model::BrokerId(key.broker),
        number: key.session,
    }
}

/// Size that limits count, as the machine keeps it.
pub(crate) fn size_of(message: &Arc<Message>) -> u32 {
    u32::try_from(message.size()).unwrap_or(u32::MAX)
}
