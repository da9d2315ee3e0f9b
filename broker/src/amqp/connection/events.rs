//! What queues say, on its way to the client: confirms, deliveries and cancelled consumers.

use amqp_wire::method::basic;

use super::{Connection, OUTPUT_BYTES_MAX};
use crate::amqp::channel::{Answer, Channel, Mode};
use crate::amqp::confirms::Told;
use crate::amqp::consume;
use crate::amqp::direct_reply::Reply;
use crate::amqp::reply_code::Error;
use crate::amqp::transaction::{self, Committed};
use crate::queue::{self, ChannelId, Confirm, Consumer, Delivery};

pub(super) enum Pending {
    Confirmed(ChannelId, Vec<Confirm>),
    Delivery(ChannelId, Consumer, Delivery),
    Cancelled {
        channel: ChannelId,
        consumer: Consumer,
        by_client: bool,
    },
    Reply(Reply),
}

impl Connection {
    pub(super) fn queue_events(&mut self, events: Vec<queue::Event>) {
        for event in events {
            match event {
                queue::Event::Confirmed { channel, confirms } => {
                    self.pending
                        .push_back(Pending::Confirmed(channel, confirms));
                }
                queue::Event::Delivered {
                    channel,
                    consumer,
                    deliveries,
                } => {
                    let deliveries = deliveries.into_iter();
                    self.pending.extend(
                        deliveries.map(|delivery| Pending::Delivery(channel, consumer, delivery)),
                    );
                }
                queue::Event::Cancelled {
                    channel,
                    consumer,
                    by_client,
                } => self.pending.push_back(Pending::Cancelled {
                    channel,
                    consumer,
                    by_client,
                }),
            }
        }
    }

    /// Moves what queues said into the output, up to its bound.
    pub(super) fn deliver_pending(&mut self) {
        while self.wire.output().len() < OUTPUT_BYTES_MAX {
            let Some(pending) = self.pending.pop_front() else {
                return;
            };
            match pending {
                Pending::Confirmed(channel, confirms) => self.confirmed(channel, &confirms),
                Pending::Delivery(channel, consumer, delivery) => {
                    self.deliver(channel, consumer, delivery);
                }
                Pending::Cancelled {
                    channel,
                    consumer,
                    by_client,
                } => self.cancelled(channel, consumer, by_client),
                Pending::Reply(reply) => self.deliver_reply(&reply),
            }
        }
    }

    fn deliver(&mut self, id: ChannelId, consumer: Consumer, delivery: Delivery) {
        let Some((&number, channel)) = self.numbers.get(&id).and_then(|number| {
            let channel = self.channels.get_mut(number)?;
            Some((number, channel))
        }) else {
            return;
        };
        let channel = if is_attaching(channel, consumer) {
            self.attached(number);
            let Some(channel) = self.channels.get_mut(&number) else {
                return;
            };
            channel
        } else {
            channel
        };
        let metrics = &self.metrics;
        let sent = consume::deliver(&mut self.wire, number, channel, consumer, delivery, metrics);
        if let Err(error) = sent {
            self.fail(number, Error::from(error).exception());
        }
    }

    fn confirmed(&mut self, id: ChannelId, confirms: &[Confirm]) {
        let Some(&number) = self.numbers.get(&id) else {
            return;
        };
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        match &mut channel.mode {
            Mode::Plain => {}
            Mode::Confirm(open) => {
                for told in open.settle(confirms) {
                    match told {
                        Told::Ack(ack) => self.wire.send(number, &ack),
                        Told::Nack(nack) => self.wire.send(number, &nack),
                    }
                }
                let refused = confirms.iter().filter(|confirm| !confirm.ack).count() as u64;
                self.metrics.messages_refused.inc_by(refused);
                self.metrics
                    .messages_confirmed
                    .inc_by(confirms.len() as u64 - refused);
            }
            Mode::Transaction(transaction) => {
                let answered = confirms
                    .iter()
                    .filter_map(|confirm| transaction.answered(confirm.seq, confirm.ack));
                if let Some(committed) = answered.last() {
                    self.committed(number, committed);
                }
            }
        }
    }

    /// Ends a commit: its settlements are carried out and the client is told.
    pub(super) fn committed(&mut self, number: u16, committed: Committed) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let Mode::Transaction(transaction) = &mut channel.mode else {
            return;
        };
        consume::settle_committed(&mut self.session, transaction, &self.metrics);
        match committed {
            Committed::Done => {
                let ok = amqp_wire::method::tx::CommitOk {};
                self.wire.send(number, &ok);
                consume::deliver_held(&mut self.wire, number, channel, &self.metrics);
            }
            Committed::Partly => {
                let error = Error::from(transaction::Error::Partial).exception();
                self.fail(number, error.caused_by_ids(90, 20));
            }
        }
    }

    fn cancelled(&mut self, id: ChannelId, consumer: Consumer, by_client: bool) {
        let Some(&number) = self.numbers.get(&id) else {
            return;
        };
        if self
            .channels
            .get(&number)
            .is_some_and(|channel| is_attaching(channel, consumer))
        {
            self.attached(number);
        }
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let Some(known) = channel.consumers.remove(&consumer) else {
            return;
        };
        consume::give_back_held(&mut self.session, channel, consumer);
        self.metrics.consumers.dec();
        let consumer_tag = amqp_wire::ShortStr::from(&*known.tag);
        if by_client {
            if known.cancel == Some(Answer::Wanted) {
                self.wire.send(number, &basic::CancelOk { consumer_tag });
            }
        } else if self.wire.client_can("consumer_cancel_notify") {
            let cancel = basic::Cancel {
                consumer_tag,
                no_wait: true,
            };
            self.wire.send(number, &cancel);
        }
    }
}

/// Whoever hears of a consumer knows that its host has it, before the host's own answer has come.
fn is_attaching(channel: &Channel, consumer: Consumer) -> bool {
    let attaching = channel.attaching.as_ref();
    attaching.is_some_and(|(attaching, ..)| *attaching == consumer)
}
