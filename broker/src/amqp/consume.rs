//! Consumers of a channel: attach, deliver, settle.

use std::sync::Arc;

use amqp_wire::method::basic;
use amqp_wire::session::Session as Wire;
use amqp_wire::{Properties, Table, Value, content};
use machine::metadata::image::Queue;
use uuid::Uuid;

use super::channel::{Channel, Mode, Tag};
use super::metrics::Metrics;
use super::outage::Outage;
use super::topology::Client;
use super::transaction::Transaction;
use super::{reply_code, topology, values};
use crate::queue::{
    ConsumeError, ConsumeRequest, Consumer, Delivery, Message, Outcome, Receipt, Session,
};

/// Deliveries that a channel with a window of its own may hold back, over all its consumers.
const HELD_MAX: usize = 20_000;

/// What RabbitMQ says it was doing when a quorum queue did not answer.
pub(super) const CONSUMING: &str = "consuming from";

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("attempt to reuse consumer tag '{0}'")]
    TagInUse(String),
    #[error("number of consumers has reached the limit of {0} of a connection")]
    TooManyConsumers(usize),
    #[error("queue '{name}' in vhost '{vhost}' in exclusive use")]
    ExclusiveUse { name: Arc<str>, vhost: Arc<str> },
    #[error("invalid arg 'x-priority' for consumer: expected integer, got {0:?}")]
    PriorityArgument(Value),
    #[error("reply consumer cannot acknowledge")]
    ReplyConsumerAcks,
    #[error("reply consumer already set")]
    ReplyConsumerSet,
    #[error("prefetch_size!=0 ({0})")]
    PrefetchSize(u32),
    #[error("requeue=false")]
    RecoverWithoutRequeue,
    #[error("more than {0} deliveries wait for room in the channel's prefetch window")]
    HeldTooMany(usize),
    #[error(transparent)]
    Outage(#[from] Outage),
}

/// What a consumer is called, and how it is attached to its queue.
pub(super) fn request(
    client: &Client,
    channel: &Channel,
    queue: &str,
    consume: &basic::Consume,
) -> Result<(Tag, ConsumeRequest), reply_code::Error> {
    let tag = tag(channel, consume)?;
    let request = ConsumeRequest {
        channel: channel.id,
        queue: client.queue(queue)?,
        no_ack: consume.no_ack,
        exclusive: consume.exclusive,
        prefetch: match channel.prefetch {
            0 => channel.window,
            prefetch => prefetch,
        },
        priority: priority(&consume.arguments)?,
    };
    let known = Tag {
        tag,
        no_ack: consume.no_ack,
        cancel: None,
    };
    Ok((known, request))
}

/// The consumer's tag: the client's, or a new one.
pub(super) fn tag(channel: &Channel, consume: &basic::Consume) -> Result<Arc<str>, Error> {
    let tag: Arc<str> = match consume.consumer_tag.as_str() {
        "" => format!("amq.ctag-{}", Uuid::new_v4().simple()).into(),
        tag => tag.into(),
    };
    if channel.consumer_by_tag(&tag).is_some() {
        return Err(Error::TagInUse(tag.to_string()));
    }
    Ok(tag)
}

/// Why a host did not attach a consumer.
pub(super) fn refused(queue: &Queue, error: &ConsumeError) -> Error {
    match error {
        ConsumeError::ExclusiveUse(name) => Error::ExclusiveUse {
            name: name.clone(),
            vhost: queue.vhost.clone(),
        },
        ConsumeError::Queue(error) => Outage::of(queue, CONSUMING, error).into(),
    }
}

fn priority(arguments: &Table) -> Result<i32, Error> {
    let Some(value) = arguments.get("x-priority") else {
        return Ok(0);
    };
    match value.as_int() {
        Some(priority) => {
            let bounds = (i64::from(i32::MIN), i64::from(i32::MAX));
            let clamped = priority.clamp(bounds.0, bounds.1);
            Ok(i32::try_from(clamped).unwrap_or_default())
        }
        None => Err(Error::PriorityArgument(value.clone())),
    }
}

/// Changes how much is delivered ahead.
pub(super) fn qos(channel: &mut Channel, qos: &basic::Qos) -> Result<(), Error> {
    if qos.prefetch_size != 0 {
        return Err(Error::PrefetchSize(qos.prefetch_size));
    }
    if qos.global {
        channel.window = qos.prefetch_count;
    } else {
        channel.prefetch = qos.prefetch_count;
    }
    Ok(())
}

/// Sends a delivery, or keeps it until the channel's window has room.
pub(super) fn deliver(
    wire: &mut Wire,
    number: u16,
    channel: &mut Channel,
    consumer: Consumer,
    delivery: Delivery,
    metrics: &Metrics,
) -> Result<(), Error> {
    let Some(known) = channel.consumers.get(&consumer).cloned() else {
        return Ok(());
    };
    let room = channel.held.is_empty() && channel.has_room();
    if !known.no_ack && !room {
        if channel.held.len() >= HELD_MAX {
            return Err(Error::HeldTooMany(HELD_MAX));
        }
        channel.held.push_back((consumer, delivery));
        return Ok(());
    }
    send(wire, number, channel, &known, &delivery, metrics);
    Ok(())
}

/// Sends what was held back and has room now.
pub(super) fn deliver_held(wire: &mut Wire, number: u16, channel: &mut Channel, metrics: &Metrics) {
    while channel.has_room() {
        let Some((consumer, delivery)) = channel.held.pop_front() else {
            return;
        };
        if let Some(known) = channel.consumers.get(&consumer).cloned() {
            send(wire, number, channel, &known, &delivery, metrics);
        }
    }
}

/// Takes out what is held back for a consumer that is being cancelled: it was never sent.
pub(super) fn give_back_held(session: &mut Session, channel: &mut Channel, consumer: Consumer) {
    let held = std::mem::take(&mut channel.held);
    let (back, kept): (Vec<_>, Vec<_>) = held.into_iter().partition(|(of, _)| *of == consumer);
    channel.held = kept.into();
    let receipts = back.into_iter().map(|(_, delivery)| delivery.receipt);
    session.settle(receipts, Outcome::Requeue);
}

fn send(
    wire: &mut Wire,
    number: u16,
    channel: &mut Channel,
    known: &Tag,
    delivery: &Delivery,
    metrics: &Metrics,
) {
    let delivery_tag = if known.no_ack {
        channel.unacked.next_tag()
    } else {
        channel.unacked.wait(delivery.receipt)
    };
    let message = &*delivery.message;
    let method = content::Deliver {
        consumer_tag: &known.tag,
        delivery_tag,
        redelivered: delivery.redelivered,
        exchange: &message.exchange,
        routing_key: &message.routing_key,
    };
    match changed_properties(message, delivery.delivery_count) {
        None => wire.send_content(number, &method, &message.properties, &message.body),
        Some(properties) => {
            wire.send_content(number, &method, &properties.to_bytes(), &message.body);
        }
    }
    metrics.messages_delivered.inc();
}

/// `basic.get-ok` for a delivery.
pub(super) fn send_got(
    wire: &mut Wire,
    number: u16,
    channel: &mut Channel,
    no_ack: bool,
    delivery: &Delivery,
    left: u64,
) {
    let delivery_tag = if no_ack {
        channel.unacked.next_tag()
    } else {
        channel.unacked.wait(delivery.receipt)
    };
    let message = &*delivery.message;
    let method = basic::GetOk {
        delivery_tag,
        redelivered: delivery.redelivered,
        exchange: (&*message.exchange).into(),
        routing_key: (&*message.routing_key).into(),
        message_count: u32::try_from(left).unwrap_or(u32::MAX),
    };
    let changed = changed_properties(message, delivery.delivery_count).map(|p| p.to_bytes());
    let properties = changed.as_ref().unwrap_or(&message.properties);
    wire.send_content(number, &method, properties, &message.body);
}

/// Properties with the headers that the broker adds; `None` when they go out as they came.
fn changed_properties(message: &Message, delivery_count: u32) -> Option<Properties> {
    if message.deaths.is_none() && delivery_count == 0 {
        return None;
    }
    // They were checked when the message was published.
    let mut properties = Properties::parse(message.properties.clone()).ok()?;
    let headers = properties.headers.get_or_insert_default();
    if let Some(deaths) = &message.deaths {
        for (name, value) in deaths.headers() {
            headers.set(&name, values::value_to_wire(&value));
        }
        properties.expiration = None;
    }
    if delivery_count > 0 {
        headers.set("x-delivery-count", Value::I64(delivery_count.into()));
    }
    Some(properties)
}

/// Carries out an ack, nack or reject, now or at commit.
pub(super) fn settle(
    session: &mut Session,
    channel: &mut Channel,
    taken: Vec<(u64, Receipt)>,
    outcome: Outcome,
    metrics: &Metrics,
) {
    if let Mode::Transaction(transaction) = &mut channel.mode {
        transaction.settles.push((taken, outcome));
        return;
    }
    settle_now(session, taken, outcome, metrics);
}

/// The settlements of a committed transaction.
pub(super) fn settle_committed(
    session: &mut Session,
    transaction: &mut Transaction,
    metrics: &Metrics,
) {
    for (taken, outcome) in std::mem::take(&mut transaction.settles) {
        settle_now(session, taken, outcome, metrics);
    }
}

fn settle_now(
    session: &mut Session,
    taken: Vec<(u64, Receipt)>,
    outcome: Outcome,
    metrics: &Metrics,
) {
    let counter = match outcome {
        Outcome::Ack => &metrics.messages_acknowledged,
        Outcome::Requeue => &metrics.messages_requeued,
        Outcome::Reject => &metrics.messages_rejected,
    };
    counter.inc_by(taken.len() as u64);
    session.settle(taken.into_iter().map(|(_, receipt)| receipt), outcome);
}

/// `basic.recover`: everything unacknowledged goes back to its queue.
pub(super) fn recover(
    session: &mut Session,
    channel: &mut Channel,
    requeue: bool,
    metrics: &Metrics,
) -> Result<(), Error> {
    if !requeue {
        return Err(Error::RecoverWithoutRequeue);
    }
    let taken = channel.unacked.take_all();
    settle_now(session, taken, Outcome::Requeue, metrics);
    Ok(())
}

/// The queue that a name in a method stands for: the `last` one declared on the channel if empty.
pub(super) fn named(
    last: Option<&str>,
    name: &amqp_wire::ShortStr,
) -> Result<String, topology::Error> {
    if !name.is_empty() {
        return Ok(topology::name(name));
    }
    last.map(str::to_owned)
        .ok_or(topology::Error::NoQueueDeclared)
}
