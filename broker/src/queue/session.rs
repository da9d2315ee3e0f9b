//! One connection's use of queues: what it sends ([`Session`]) and what it hears ([`Events`]).
//!
//! Requests gather per host until [`Session::flush`]; order is kept per host, so per channel and queue.
//! A front reads what its socket has, calls `publish`, `settle` … for all of it, then `flush`es once.

mod calls;
mod events;
mod publishes;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use machine::metadata::image::Queue;
use parking_lot::Mutex;
use uuid::Uuid;

use super::Error;
use super::budget::Share;
use super::inflight::Inflight;
use super::links::{Batch, Host, Links};
use super::mailbox::Mailbox;
use super::message::Message;
pub use super::protocol::Outcome;
use super::protocol::{Delivered, Op, Request, Response, Resume, SessionKey};
pub use calls::{Attaching, Caller};
pub use events::Events;
use publishes::{Open, Publishes};

/// Bytes that may come in one buffer with a message: one read of a front and one frame. A message that a
/// queue here shall keep does not hold on to them.
const INPUT_BYTES: usize = 192 << 10;

/// A channel over the life of its session; a channel number opened again gets another id, so nothing
/// late from the closed one can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(u32);

/// A consumer (or the unacknowledged `basic.get`s of a channel on one queue) of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer(u32);

/// Names a delivery that waits for its settlement. A front keeps it by delivery tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    pub consumer: Consumer,
    pub position: u64,
}

#[derive(Clone, Debug)]
pub struct Delivery {
    pub receipt: Receipt,
    pub message: Arc<Message>,
    pub redelivered: bool,
    /// For the `x-delivery-count` header: 0 = leave it out.
    pub delivery_count: u32,
    /// Counts in the memory of the queues until all that came with it is written.
    _share: Option<Arc<Share>>,
}

#[derive(Clone, Debug)]
pub struct ConsumeRequest {
    pub channel: ChannelId,
    pub queue: Arc<Queue>,
    /// Settled by the session itself once the front has written it to the socket.
    pub no_ack: bool,
    pub exclusive: bool,
    /// `basic.qos` of the channel; 0 = no limit. Ignored with `no_ack`.
    pub prefetch: u16,
    /// `x-priority`.
    pub priority: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsumeError {
    /// RabbitMQ's 403: an exclusive consumer is there, or an exclusive one came second.
    #[error("queue '{0}' in exclusive use")]
    ExclusiveUse(Arc<str>),
    #[error(transparent)]
    Queue(#[from] Error),
}

/// Outcome of one publish, by the sequence number that the front gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm {
    pub seq: u64,
    pub ack: bool,
}

#[derive(Clone, Debug)]
pub enum Event {
    Confirmed {
        channel: ChannelId,
        confirms: Vec<Confirm>,
    },
    Delivered {
        channel: ChannelId,
        consumer: Consumer,
        deliveries: Vec<Delivery>,
    },
    /// The consumer's last event: after [`Session::cancel`] (`by_client`: send cancel-ok), or because its
    /// queue was deleted or lost (send `basic.cancel`).
    Cancelled {
        channel: ChannelId,
        consumer: Consumer,
        by_client: bool,
    },
}

/// The sending half. Everything but `consume`, `get`, `purge`, `stats` and `capacity` returns at once.
pub struct Session {
    shared: Arc<Shared>,
    links: Arc<Links>,
    gathered: Vec<Gathered>,
    next_channel: u32,
    next_consumer: u32,
    /// Shortage during which this session last published.
    published_in: Option<u64>,
    /// Consumer that stands for the unacknowledged gets of a channel on a queue.
    getters: HashMap<(ChannelId, u64), Consumer>,
}

/// State that both halves touch, each for one batch at a time.
pub(super) struct Shared {
    key: SessionKey,
    pub(super) mailbox: Mailbox,
    consumers: Mutex<HashMap<u32, Attached>>,
    publishes: Mutex<Publishes>,
    inflight: Arc<Inflight>,
}

struct Gathered {
    host: Host,
    requests: Vec<Request>,
    bytes: usize,
}

struct Attached {
    channel: ChannelId,
    queue: Arc<Queue>,
    /// How to attach again where the host has lost it; `holding` once its cancel is asked for.
    resume: Resume,
    cancelled: bool,
    /// Positions delivered and not settled.
    held: BTreeSet<u64>,
}

/// What `Events` has to know of a consumer for one batch.
struct Served {
    channel: ChannelId,
    no_ack: bool,
}

pub(super) fn open(links: Arc<Links>) -> (Session, Events) {
    let key = SessionKey {
        broker: links.broker(),
        number: Uuid::new_v4().as_u64_pair().0,
    };
    let shared = Arc::new(Shared {
        key,
        mailbox: Mailbox::new(links.budget().clone()),
        consumers: Mutex::default(),
        publishes: Mutex::new(Publishes::new()),
        inflight: Arc::new(Inflight::new(
            links.config().session_inflight_bytes_max,
            links.budget().clone(),
        )),
    });
    links.register(key, &shared);
    let session = Session {
        shared: shared.clone(),
        links: links.clone(),
        gathered: Vec::new(),
        next_channel: 0,
        next_consumer: 0,
        published_in: None,
        getters: HashMap::new(),
    };
    let events = Events::new(shared, links);
    (session, events)
}

// === impl Session ===

impl Session {
    pub fn open_channel(&mut self) -> ChannelId {
        self.next_channel += 1;
        ChannelId(self.next_channel)
    }

    /// The channel's consumers leave, and what it held unacknowledged (gets too) goes back to the queues.
    /// Nothing about this channel is heard afterwards.
    pub fn close_channel(&mut self, channel: ChannelId) {
        let leaving: Vec<(u32, Arc<Queue>)> = {
            let mut consumers = self.shared.consumers.lock();
            let numbers = consumers.iter().filter(|(_, c)| c.channel == channel);
            let numbers: Vec<u32> = numbers.map(|(number, _)| *number).collect();
            let removed = numbers.iter().filter_map(|number| {
                let attached = consumers.remove(number)?;
                Some((*number, attached.queue))
            });
            removed.collect()
        };
        for (consumer, queue) in leaving {
            self.gather(&queue, Op::Leave { consumer }, 0);
        }
        self.getters.retain(|(of, _), _| *of != channel);
        self.shared.publishes.lock().forget(channel);
        self.flush();
    }

    /// Gives one message to every queue in `routed`. `seq` is the front's sequence number in confirm
    /// mode: [`Event::Confirmed`] comes with it once all queues have the message as durably as it asks,
    /// or one refused it. With no queue the confirm comes by itself, through the same events.
    pub fn publish(
        &mut self,
        channel: ChannelId,
        seq: Option<u64>,
        routed: &[Arc<Queue>],
        message: Message,
    ) {
        if let Some(episode) = self.links.pressure().episode() {
            self.published_in = Some(episode);
        }
        let mut message = message;
        let links = &self.links;
        if routed
            .iter()
            .any(|queue| matches!(links.host(queue), Host::Driver(_)))
        {
            message.detach(INPUT_BYTES);
        }
        let message = Arc::new(message);
        let hosts = u32::try_from(routed.len()).unwrap_or(u32::MAX);
        let publish = self.shared.publishes.lock().open(Open {
            channel,
            seq,
            hosts,
            refused: false,
        });
        if routed.is_empty() {
            let publishes = vec![publish];
            self.shared.mailbox.put([Response::Confirmed { publishes }]);
        }
        for queue in routed {
            let op = Op::Publish {
                publish,
                message: message.clone(),
            };
            self.gather(queue, op, message.memory_bytes());
        }
    }

    /// Waits until the bytes published and not yet taken by their queues are below the bound and the
    /// session is not blocked. A front awaits it before it reads its socket again. Cancel-safe.
    pub async fn capacity(&self) {
        self.shared.inflight.below_bound().await;
        if self.is_blocked() {
            let mut shortage = self.links.pressure().anywhere();
            // The sender lives as long as this session.
            let _over = shortage.wait_for(|_| !self.is_blocked()).await;
        }
    }

    /// Some broker is short of memory or disk and this session has published since it is: it gets no
    /// further before that is over. The front says so to its client (`connection.blocked`).
    pub fn is_blocked(&self) -> bool {
        let episode = self.links.pressure().episode();
        episode.is_some() && episode == self.published_in
    }

    /// Settles deliveries, in this order. A receipt that is no longer open is ignored.
    pub fn settle(&mut self, receipts: impl IntoIterator<Item = Receipt>, outcome: Outcome) {
        let mut runs: Vec<(u32, Vec<u64>)> = Vec::new();
        for receipt in receipts {
            match runs.last_mut() {
                Some((consumer, run)) if *consumer == receipt.consumer.0 => {
                    run.push(receipt.position);
                }
                _ => runs.push((receipt.consumer.0, vec![receipt.position])),
            }
        }
        for (consumer, positions) in runs {
            let Some(queue) = self.shared.settled(consumer, &positions) else {
                continue;
            };
            let op = Op::Settle {
                consumer,
                positions,
                outcome,
            };
            self.gather(&queue, op, 0);
        }
    }

    /// Sends what has gathered.
    pub fn flush(&mut self) {
        for gathered in self.gathered.drain(..) {
            let permit = self.shared.inflight.take(gathered.bytes);
            let session = self.shared.key;
            self.links.send(
                gathered.host,
                Batch {
                    session,
                    requests: gathered.requests,
                    permit,
                },
            );
        }
    }

    /// No more deliveries for this consumer; [`Event::Cancelled`] comes after those under way. What it
    /// holds unacknowledged stays with the channel.
    pub fn cancel(&mut self, consumer: Consumer) {
        let queue = {
            let mut consumers = self.shared.consumers.lock();
            let Some(attached) = consumers.get_mut(&consumer.0) else {
                return;
            };
            // A host that forgets it must not attach it again.
            attached.resume.holding = true;
            attached.queue.clone()
        };
        let op = Op::Cancel {
            consumer: consumer.0,
        };
        self.gather(&queue, op, 0);
        self.flush();
    }

    /// Knows a consumer from now on, before its host does.
    fn enter(&mut self, channel: ChannelId, queue: &Arc<Queue>, resume: Resume) -> Consumer {
        self.next_consumer += 1;
        let attached = Attached {
            channel,
            queue: queue.clone(),
            resume,
            cancelled: false,
            held: BTreeSet::new(),
        };
        let mut consumers = self.shared.consumers.lock();
        consumers.insert(self.next_consumer, attached);
        Consumer(self.next_consumer)
    }

    fn gather(&mut self, queue: &Arc<Queue>, op: Op, bytes: usize) {
        let host = self.links.host(queue);
        let request = Request {
            queue: queue.id,
            op,
        };
        match self.gathered.iter_mut().find(|g| g.host == host) {
            Some(gathered) => {
                gathered.requests.push(request);
                gathered.bytes += bytes;
            }
            None => self.gathered.push(Gathered {
                host,
                requests: vec![request],
                bytes,
            }),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let consumers = std::mem::take(&mut *self.shared.consumers.lock());
        for (consumer, attached) in consumers {
            self.gather(&attached.queue, Op::Leave { consumer }, 0);
        }
        self.flush();
        self.links.forget(self.shared.key);
    }
}

// === impl Shared ===

impl Shared {
    /// Counts deliveries in; `None` when the consumer's channel is closed.
    fn delivered(&self, consumer: u32, positions: impl IntoIterator<Item = u64>) -> Option<Served> {
        let mut consumers = self.consumers.lock();
        let attached = consumers.get_mut(&consumer)?;
        attached.held.extend(positions);
        Some(Served {
            channel: attached.channel,
            no_ack: attached.resume.no_ack,
        })
    }

    /// Counts settlements out and forgets a cancelled consumer with its last one.
    fn settled(&self, consumer: u32, positions: &[u64]) -> Option<Arc<Queue>> {
        let mut consumers = self.consumers.lock();
        let attached = consumers.get_mut(&consumer)?;
        for position in positions {
            attached.held.remove(position);
        }
        let queue = attached.queue.clone();
        if attached.is_done() {
            consumers.remove(&consumer);
        }
        Some(queue)
    }

    fn cancelled(&self, consumer: u32, by_client: bool) -> Option<Event> {
        let mut consumers = self.consumers.lock();
        let attached = consumers.get_mut(&consumer)?;
        if attached.cancelled || attached.resume.prefetch == GETTER {
            return None;
        }
        attached.resume.holding = true;
        attached.cancelled = true;
        let channel = attached.channel;
        if attached.is_done() {
            consumers.remove(&consumer);
        }
        Some(Event::Cancelled {
            channel,
            consumer: Consumer(consumer),
            by_client,
        })
    }

    /// What to tell a host that may have lost what was under way.
    pub(super) fn resumes(&self, is_hosted: impl Fn(&Queue) -> bool) -> Vec<Request> {
        let consumers = self.consumers.lock();
        let hosted = consumers.values().filter(|c| is_hosted(&c.queue));
        let requests = hosted.map(|attached| Request {
            queue: attached.queue.id,
            op: Op::Resume(attached.resume, attached.held.iter().copied().collect()),
        });
        requests.collect()
    }

    pub(super) fn key(&self) -> SessionKey {
        self.key
    }
}

impl Attached {
    /// Cancelled and settled. What stands for gets stays with its channel.
    fn is_done(&self) -> bool {
        self.cancelled && self.held.is_empty()
    }
}

/// Marks, in place of a prefetch, what stands for gets.
const GETTER: u32 = u32::MAX;

fn delivery(consumer: Consumer, delivered: Delivered, share: Option<Arc<Share>>) -> Delivery {
    Delivery {
        receipt: Receipt {
            consumer,
            position: delivered.position,
        },
        message: delivered.message,
        redelivered: delivered.redelivered,
        delivery_count: delivered.delivery_count,
        _share: share,
    }
}
