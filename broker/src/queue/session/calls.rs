//! What a session asks a host and waits for. Waiting borrows nothing, so the session goes on meanwhile;
//! whoever stops waiting for a consumer has it leave.

use std::sync::Arc;
use std::time::Duration;

use machine::metadata::image::Queue;
use tokio::sync::oneshot;

use super::{ChannelId, Consumer, Delivery, GETTER, Session, Shared, delivery};
use crate::queue::links::{Batch, Links};
use crate::queue::protocol::{Op, Reply, Request, Resume, Stats};
use crate::queue::{ConsumeError, ConsumeRequest, Error};

/// How long any call waits for a host: a shard without leader answers nothing. Callers that wait less
/// drop the call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks hosts in the name of a session, beside it. What it asks goes out at once, so a front flushes
/// its session before where order matters. Cheap to clone.
#[derive(Clone)]
pub struct Caller {
    shared: Arc<Shared>,
    links: Arc<Links>,
}

/// A consumer that is being attached: its number is known before its host has answered.
pub struct Attaching {
    pub consumer: Consumer,
    /// Becomes ready with the host's answer. Deliveries may come before: they say that it is attached.
    pub attached: futures::future::BoxFuture<'static, Result<(), ConsumeError>>,
}

impl Session {
    /// Asks hosts for this session; see [`Caller`].
    pub fn caller(&self) -> Caller {
        Caller {
            shared: self.shared.clone(),
            links: self.links.clone(),
        }
    }

    /// Begins to attach a consumer. Its deliveries may arrive in [`super::Events`] before the answer: a
    /// front sends consume-ok first.
    pub fn attach(&mut self, request: ConsumeRequest) -> Attaching {
        let bound = self.links.config().consumer_unwritten_max;
        let resume = Resume {
            consumer: self.next_consumer + 1,
            holding: false,
            no_ack: request.no_ack,
            exclusive: request.exclusive,
            prefetch: if request.no_ack {
                bound
            } else {
                u32::from(request.prefetch)
            },
            priority: request.priority,
        };
        let consumer = self.enter(request.channel, &request.queue, resume);
        self.flush();
        let queue = request.queue;
        let caller = self.caller();
        let call = caller.call(&queue, |call| Op::Consume(resume, call));
        let mut guard = Entered {
            caller,
            consumer,
            queue: queue.clone(),
            stays: false,
        };
        let attached = Box::pin(async move {
            let name = queue.name.clone();
            match call.answer().await {
                Ok(Reply::Consuming) => {
                    guard.stay();
                    Ok(())
                }
                Ok(Reply::ExclusiveInUse) => Err(ConsumeError::ExclusiveUse(name)),
                Ok(other) => Err(failure(&queue, &other).into()),
                Err(TimedOut) => Err(Error::TimedOut(name).into()),
            }
        });
        Attaching { consumer, attached }
    }

    /// As [`Self::attach`], waiting for the answer.
    ///
    /// # Errors
    /// [`ConsumeError`]; the consumer is not attached then.
    pub async fn consume(&mut self, request: ConsumeRequest) -> Result<Consumer, ConsumeError> {
        let attaching = self.attach(request);
        attaching.attached.await?;
        Ok(attaching.consumer)
    }

    /// `basic.get`: one delivery and how many ready messages are left behind it.
    ///
    /// # Errors
    /// [`Error`] when the queue cannot be asked. Who stops waiting closes the channel: what the host may
    /// have given goes back then.
    pub fn get(
        &mut self,
        channel: ChannelId,
        queue: &Arc<Queue>,
        no_ack: bool,
    ) -> impl Future<Output = Result<Option<(Delivery, u64)>, Error>> + Send + use<> {
        let consumer = match self.getters.get(&(channel, queue.id)) {
            Some(consumer) => *consumer,
            None => {
                let resume = Resume {
                    consumer: self.next_consumer + 1,
                    holding: true,
                    no_ack: false,
                    exclusive: false,
                    prefetch: GETTER,
                    priority: 0,
                };
                let consumer = self.enter(channel, queue, resume);
                self.getters.insert((channel, queue.id), consumer);
                consumer
            }
        };
        self.flush();
        let shared = self.shared.clone();
        let queue = queue.clone();
        let call = self.caller().call(&queue, |call| Op::Get {
            consumer: consumer.0,
            call,
            no_ack,
        });
        async move {
            match call.answer().await {
                Ok(Reply::Got(None)) => Ok(None),
                Ok(Reply::Got(Some((delivered, left)))) => {
                    if !no_ack {
                        shared.delivered(consumer.0, [delivered.position]);
                    }
                    Ok(Some((delivery(consumer, delivered, None), left)))
                }
                Ok(Reply::SingleActiveConsumer) => {
                    Err(Error::SingleActiveConsumer(queue.name.clone()))
                }
                Ok(other) => Err(failure(&queue, &other)),
                Err(TimedOut) => Err(Error::TimedOut(queue.name.clone())),
            }
        }
    }

    /// As [`Caller::stats`], behind what this session has asked before.
    ///
    /// # Errors
    /// [`Error`] when the queue cannot be asked.
    pub async fn stats(&mut self, queue: &Arc<Queue>) -> Result<Stats, Error> {
        self.flush();
        self.caller().stats(queue).await
    }
}

impl Caller {
    /// Removes every ready message; the answer is how many.
    ///
    /// # Errors
    /// [`Error`] when the queue cannot be asked.
    pub async fn purge(&self, queue: &Arc<Queue>) -> Result<u64, Error> {
        let call = self.call(queue, |call| Op::Purge { call });
        match call.answer().await {
            Ok(Reply::Purged(count)) => Ok(count),
            Ok(other) => Err(failure(queue, &other)),
            Err(TimedOut) => Err(Error::TimedOut(queue.name.clone())),
        }
    }

    /// What the queue holds, after all that the session has asked of its host so far.
    ///
    /// # Errors
    /// [`Error`] when the queue cannot be asked.
    pub async fn stats(&self, queue: &Arc<Queue>) -> Result<Stats, Error> {
        let call = self.call(queue, |call| Op::Stats { call });
        match call.answer().await {
            Ok(Reply::Stats(stats)) => Ok(stats),
            Ok(other) => Err(failure(queue, &other)),
            Err(TimedOut) => Err(Error::TimedOut(queue.name.clone())),
        }
    }

    fn call(&self, queue: &Arc<Queue>, op: impl FnOnce(u64) -> Op) -> Call {
        let (number, reply) = self.shared.mailbox.call();
        self.send(queue, op(number));
        Call {
            shared: self.shared.clone(),
            number,
            reply: Some(reply),
        }
    }

    fn send(&self, queue: &Arc<Queue>, op: Op) {
        let request = Request {
            queue: queue.id,
            op,
        };
        let batch = Batch {
            session: self.shared.key,
            requests: vec![request],
            permit: self.shared.inflight.take(0),
        };
        self.links.send(self.links.host(queue), batch);
    }
}

/// A question under way; dropped, its answer is not waited for any more.
struct Call {
    shared: Arc<Shared>,
    number: u64,
    reply: Option<oneshot::Receiver<Reply>>,
}

struct TimedOut;

impl Call {
    async fn answer(mut self) -> Result<Reply, TimedOut> {
        let Some(reply) = self.reply.take() else {
            return Err(TimedOut);
        };
        match tokio::time::timeout(CALL_TIMEOUT, reply).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) => Ok(Reply::Unavailable),
            Err(_elapsed) => Err(TimedOut),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.shared.mailbox.forget(self.number);
    }
}

/// A consumer whose host has not said yes. Dropped, it leaves: behind its attach, which may come to the
/// host late, and would hold messages for nobody.
struct Entered {
    caller: Caller,
    consumer: Consumer,
    queue: Arc<Queue>,
    stays: bool,
}

impl Entered {
    /// By method, so that the whole of it moves into the future that calls this.
    fn stay(&mut self) {
        self.stays = true;
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        let consumer = self.consumer.0;
        let entered = self.caller.shared.consumers.lock().remove(&consumer);
        // Otherwise it has left with its channel.
        if entered.is_some() {
            self.caller.send(&self.queue, Op::Leave { consumer });
        }
    }
}

fn failure(queue: &Queue, reply: &Reply) -> Error {
    match reply {
        Reply::NotFound => Error::NotFound(queue.name.clone()),
        Reply::Crashed => Error::Crashed(queue.name.clone()),
        _ => Error::Unavailable(queue.name.clone()),
    }
}
