//! Methods that wait for a host or for the metadata group, beside their connection.
//!
//! A channel has one operation at a time, and what comes for it meanwhile waits here in order; other
//! channels, deliveries and heartbeats go on. Waiting is bounded: in time by
//! [`Config::operation_timeout`], in memory by [`Config::waiting_bytes_max`] of a connection, above which
//! its socket is not read.
//!
//! [`Config::operation_timeout`]: crate::amqp::Config::operation_timeout
//! [`Config::waiting_bytes_max`]: crate::amqp::Config::waiting_bytes_max

use std::collections::VecDeque;
use std::sync::Arc;

use amqp_wire::method::{Method, basic};
use amqp_wire::{Content, Exception};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::Connection;
use crate::amqp::channel::Answer;
use crate::amqp::consume;
use crate::amqp::outage::Outage;
use crate::amqp::reply_code::Error;
use crate::queue::{ChannelId, Delivery};

/// Class and method id of `queue.declare`.
pub(super) const DECLARE_QUEUE: (u16, u16) = (50, 10);

/// What each waiting frame counts beside its bytes.
const WAITING_FRAME_BYTES: usize = 256;

pub(super) type Operation = BoxFuture<'static, Over>;

/// How an operation ended.
pub(super) enum Over {
    Method(Finished),
    /// A channel that the client closes has given up all it held.
    Left(u16),
}

pub(super) struct Finished {
    channel: ChannelId,
    /// Class and method id, for the exception.
    ids: (u16, u16),
    outcome: Result<Done, Error>,
}

/// What is left to do where the channel is.
pub(super) enum Done {
    /// `no_wait`.
    Silently,
    With(Method),
    /// The queue is the channel's last declared one from now on.
    Declared(Arc<str>, Option<Method>),
    Attached,
    Got {
        no_ack: bool,
        got: Option<(Delivery, u64)>,
    },
}

/// What came for a channel while its operation was under way.
#[derive(Debug)]
pub(in crate::amqp) enum Waiting {
    Method(Method),
    Publish(basic::Publish, Content),
    /// What the client is told in its turn.
    Error(Exception),
    Close,
}

/// The operation of a channel and what waits behind it.
#[derive(Debug, Default)]
pub(in crate::amqp) struct Queued {
    under_way: bool,
    /// With what each counts.
    waiting: VecDeque<(Waiting, usize)>,
}

impl Queued {
    /// Has what comes to wait?
    pub(super) fn must_wait(&self) -> bool {
        self.under_way
    }

    pub(super) fn bytes(&self) -> usize {
        self.waiting.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Done {
    /// `answer`, unless the client wants none.
    pub(super) fn unless(no_wait: bool, answer: impl Into<Method>) -> Self {
        if no_wait {
            Self::Silently
        } else {
            Self::With(answer.into())
        }
    }
}

impl Connection {
    /// Too much waits behind operations: the socket is not read.
    pub(super) fn waits_too_much(&self) -> bool {
        self.waiting_bytes >= self.client.front.config.waiting_bytes_max
    }

    /// Keeps `waiting` until the operation of its channel is over. `bytes` is what it came in.
    pub(super) fn put_off(&mut self, number: u16, waiting: Waiting, bytes: usize) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let bytes = bytes + WAITING_FRAME_BYTES;
        self.waiting_bytes += bytes;
        channel.queued.waiting.push_back((waiting, bytes));
    }

    /// Carries out an operation for a channel. `late` is what the client hears when it takes too long,
    /// or when the metadata group does.
    pub(super) fn begin(
        &mut self,
        number: u16,
        ids: (u16, u16),
        late: Outage,
        operation: impl Future<Output = Result<Done, Error>> + Send + 'static,
    ) {
        // What the operation asks comes behind what was said before.
        self.session.flush();
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let id = channel.id;
        let bound = self.client.front.config.operation_timeout;
        let mut operation: Operation = Box::pin(async move {
            let outcome = match tokio::time::timeout(bound, operation).await {
                Ok(Err(error)) if error.is_metadata() => Err(late.into()),
                Ok(outcome) => outcome,
                Err(_elapsed) => Err(late.into()),
            };
            Over::Method(Finished {
                channel: id,
                ids,
                outcome,
            })
        });
        channel.queued.under_way = true;
        match (&mut operation).now_or_never() {
            Some(Over::Method(finished)) => {
                self.finish(finished);
            }
            _ => {
                self.declares += usize::from(ids == DECLARE_QUEUE);
                self.operations.push(operation);
            }
        }
    }

    /// An operation has ended: its answer goes out, and what waited behind it is carried out.
    pub(super) fn end(&mut self, over: Over) {
        match over {
            Over::Left(number) => self.wire.close_channel_ok(number),
            Over::Method(finished) => {
                self.declares -= usize::from(finished.ids == DECLARE_QUEUE);
                if let Some(number) = self.finish(finished) {
                    self.resume(number);
                }
            }
        }
    }

    /// `None` when the channel is not there any more.
    fn finish(&mut self, finished: Finished) -> Option<u16> {
        let number = *self.numbers.get(&finished.channel)?;
        let channel = self.channels.get_mut(&number)?;
        channel.queued.under_way = false;
        match finished.outcome {
            Ok(Done::Silently) => {}
            Ok(Done::With(answer)) => self.wire.send_method(number, &answer),
            Ok(Done::Declared(name, answer)) => {
                channel.last_queue = Some(name);
                if let Some(answer) = answer {
                    self.wire.send_method(number, &answer);
                }
            }
            Ok(Done::Attached) => self.attached(number),
            Ok(Done::Got { got: None, .. }) => self.wire.send(number, &basic::GetEmpty::default()),
            Ok(Done::Got {
                no_ack,
                got: Some((delivery, left)),
            }) => {
                consume::send_got(&mut self.wire, number, channel, no_ack, &delivery, left);
                self.metrics.messages_delivered.inc();
            }
            Err(error) => {
                channel.attaching = None;
                let (class_id, method_id) = finished.ids;
                self.fail(number, error.exception().caused_by_ids(class_id, method_id));
            }
        }
        Some(number)
    }

    /// A consumer is there: by its host's answer, or by its first delivery, which may come before.
    pub(super) fn attached(&mut self, number: u16) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let Some((consumer, tag, answer)) = channel.attaching.take() else {
            return;
        };
        if answer == Answer::Wanted {
            let consumer_tag = (&*tag.tag).into();
            self.wire.send(number, &basic::ConsumeOk { consumer_tag });
        }
        channel.consumers.insert(consumer, tag);
        self.metrics.consumers.inc();
    }

    /// What waited is carried out, up to the next operation.
    fn resume(&mut self, number: u16) {
        // Nothing is heard any more once a close was sent.
        while self.wire.is_running()
            && let Some(channel) = self.channels.get_mut(&number)
            && !channel.queued.under_way
            && let Some((waiting, bytes)) = channel.queued.waiting.pop_front()
        {
            self.waiting_bytes -= bytes;
            match waiting {
                Waiting::Method(method) => self.take_method(number, method, 0),
                Waiting::Publish(publish, content) => self.take_publish(number, publish, content),
                Waiting::Error(error) => self.fail(number, error),
                Waiting::Close => self.close_channel(number),
            }
        }
    }
}
