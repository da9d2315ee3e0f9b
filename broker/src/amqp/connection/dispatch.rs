//! Which code carries out which method, and what the client is answered.

use amqp_wire::Content;
use amqp_wire::method::{Method, basic, confirm, tx};

use super::Connection;
use super::operation::{Done, Waiting};
use crate::amqp::channel::{Answer, Mode};
use crate::amqp::confirms::Confirms;
use crate::amqp::direct_reply;
use crate::amqp::outage::Outage;
use crate::amqp::reply_code::Error;
use crate::amqp::transaction::{self, Transaction};
use crate::amqp::{consume, publish};
use crate::queue::Outcome;

/// What RabbitMQ says it was doing when a quorum queue did not answer.
const GETTING: &str = "getting a message from";

/// The channel is there: the wire session hands out nothing for one that is not open.
macro_rules! channel {
    ($self:ident, $number:ident) => {
        match $self.channels.get_mut(&$number) {
            Some(channel) => channel,
            None => return Ok(()),
        }
    };
}

impl Connection {
    /// Carries out a method, now or behind the operation of its channel. `bytes` is what it came in.
    pub(super) fn take_method(&mut self, number: u16, method: Method, bytes: usize) {
        let Some(channel) = self.channels.get(&number) else {
            return;
        };
        if channel.queued.must_wait() {
            self.put_off(number, Waiting::Method(method), bytes);
            return;
        }
        let committing = match &channel.mode {
            Mode::Transaction(transaction) => transaction.is_committing(),
            _ => false,
        };
        let carried_out = if committing {
            Err(transaction::Error::Committing.into())
        } else {
            self.method(number, &method)
        };
        if let Err(error) = carried_out {
            self.fail(number, error.exception().caused_by(&method));
        }
    }

    /// As [`Self::take_method`], for a publish.
    pub(super) fn take_publish(&mut self, number: u16, publish: basic::Publish, content: Content) {
        if let Err(error) = self.publish(number, publish, content) {
            let exception = error.exception();
            self.fail(number, exception.caused_by_ids(basic::CLASS_ID, 40));
        }
    }

    fn method(&mut self, number: u16, method: &Method) -> Result<(), Error> {
        match method {
            Method::Exchange(method) => {
                self.exchange(number, method);
                Ok(())
            }
            Method::Queue(method) => self.queue(number, method),
            Method::Basic(method) => self.basic(number, method),
            Method::Confirm(confirm::Method::Select(select)) => self.confirm(number, select),
            Method::Tx(method) => self.tx(number, method),
            // Answered by the wire session.
            _ => Ok(()),
        }
    }

    fn basic(&mut self, number: u16, method: &basic::Method) -> Result<(), Error> {
        use basic::Method as M;
        match method {
            M::Consume(consume) => self.consume(number, consume),
            M::Get(get) => self.get(number, get),
            M::Ack(ack) => self.settle(number, ack.delivery_tag, ack.multiple, Outcome::Ack),
            M::Nack(nack) => {
                let outcome = returned(nack.requeue);
                self.settle(number, nack.delivery_tag, nack.multiple, outcome)
            }
            M::Reject(reject) => {
                let outcome = returned(reject.requeue);
                self.settle(number, reject.delivery_tag, false, outcome)
            }
            M::Qos(qos) => {
                let channel = channel!(self, number);
                consume::qos(channel, qos)?;
                self.wire.send(number, &basic::QosOk {});
                consume::deliver_held(&mut self.wire, number, channel, &self.metrics);
                Ok(())
            }
            M::Cancel(cancel) => {
                self.cancel(number, cancel);
                Ok(())
            }
            M::Recover(recover) => {
                self.recover(number, recover.requeue)?;
                self.wire.send(number, &basic::RecoverOk {});
                Ok(())
            }
            M::RecoverAsync(recover) => self.recover(number, recover.requeue),
            _ => Ok(()),
        }
    }

    fn consume(&mut self, number: u16, consume: &basic::Consume) -> Result<(), Error> {
        if consume.queue.as_str() == direct_reply::NAME {
            return Ok(self.consume_replies(number, consume)?);
        }
        let max = self.client.front.config.consumers_max;
        let consumers = self.channels.values();
        let consumers = consumers.map(|c| c.consumers.len() + usize::from(c.attaching.is_some()));
        if consumers.sum::<usize>() >= max {
            return Err(consume::Error::TooManyConsumers(max).into());
        }
        let channel = channel!(self, number);
        let name = consume::named(channel.last_queue.as_deref(), &consume.queue)?;
        let (tag, request) = consume::request(&self.client, channel, &name, consume)?;
        let queue = request.queue.clone();
        channel.remember(&queue, &self.client);
        let attaching = self.session.attach(request);
        let answer = if consume.no_wait {
            Answer::Unwanted
        } else {
            Answer::Wanted
        };
        channel.attaching = Some((attaching.consumer, tag, answer));
        let late = Outage::late(&queue, consume::CONSUMING);
        self.begin(number, (60, 20), late, async move {
            let attached = attaching.attached.await;
            attached.map_err(|error| consume::refused(&queue, &error))?;
            Ok(Done::Attached)
        });
        Ok(())
    }

    fn get(&mut self, number: u16, get: &basic::Get) -> Result<(), Error> {
        let channel = channel!(self, number);
        let name = consume::named(channel.last_queue.as_deref(), &get.queue)?;
        let queue = self.client.queue(&name)?;
        let no_ack = get.no_ack;
        let got = self.session.get(channel.id, &queue, no_ack);
        let late = Outage::late(&queue, GETTING);
        self.begin(number, (60, 70), late, async move {
            let got = got
                .await
                .map_err(|error| Outage::of(&queue, GETTING, &error))?;
            Ok(Done::Got { no_ack, got })
        });
        Ok(())
    }

    fn cancel(&mut self, number: u16, cancel: &basic::Cancel) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        channel
            .replies
            .take_if(|replies| *replies.tag == *cancel.consumer_tag);
        let known = channel.consumer_by_tag(&cancel.consumer_tag);
        let Some(consumer) = known else {
            // Unknown tags are no error, and a consumer of direct replies is gone at once.
            if !cancel.no_wait {
                let consumer_tag = cancel.consumer_tag.clone();
                self.wire.send(number, &basic::CancelOk { consumer_tag });
            }
            return;
        };
        if let Some(tag) = channel.consumers.get_mut(&consumer) {
            tag.cancel = Some(if cancel.no_wait {
                Answer::Unwanted
            } else {
                Answer::Wanted
            });
        }
        // cancel-ok follows the deliveries under way.
        self.session.cancel(consumer);
    }

    fn settle(
        &mut self,
        number: u16,
        tag: u64,
        multiple: bool,
        outcome: Outcome,
    ) -> Result<(), Error> {
        let channel = channel!(self, number);
        let taken = channel.unacked.take(tag, multiple)?;
        consume::settle(&mut self.session, channel, taken, outcome, &self.metrics);
        consume::deliver_held(&mut self.wire, number, channel, &self.metrics);
        Ok(())
    }

    fn recover(&mut self, number: u16, requeue: bool) -> Result<(), Error> {
        let channel = channel!(self, number);
        consume::recover(&mut self.session, channel, requeue, &self.metrics)?;
        consume::deliver_held(&mut self.wire, number, channel, &self.metrics);
        Ok(())
    }

    fn confirm(&mut self, number: u16, select: &confirm::Select) -> Result<(), Error> {
        let channel = channel!(self, number);
        match &channel.mode {
            Mode::Plain => channel.mode = Mode::Confirm(Confirms::default()),
            Mode::Confirm(_) => {}
            Mode::Transaction(_) => return Err(transaction::Error::TransactionMode.into()),
        }
        if !select.no_wait {
            self.wire.send(number, &confirm::SelectOk {});
        }
        Ok(())
    }

    fn tx(&mut self, number: u16, method: &tx::Method) -> Result<(), Error> {
        let channel = channel!(self, number);
        match (method, &mut channel.mode) {
            (tx::Method::Select(_), Mode::Confirm(_)) => {
                return Err(transaction::Error::ConfirmMode.into());
            }
            (tx::Method::Select(_), mode) => {
                if matches!(mode, Mode::Plain) {
                    *mode = Mode::Transaction(Transaction::default());
                }
                self.wire.send(number, &tx::SelectOk {});
            }
            (tx::Method::Commit(_), Mode::Transaction(_)) => self.commit(number),
            (tx::Method::Rollback(_), Mode::Transaction(transaction)) => {
                let taken = transaction.roll_back();
                channel.unacked.put_back(taken);
                self.wire.send(number, &tx::RollbackOk {});
            }
            (tx::Method::Commit(_) | tx::Method::Rollback(_), _) => {
                return Err(transaction::Error::NotTransactional.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn commit(&mut self, number: u16) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let Mode::Transaction(transaction) = &mut channel.mode else {
            return;
        };
        for publish in transaction.begin_commit() {
            if let Some((returned, content)) = publish.returned {
                self.wire
                    .send_content(number, &returned, &content.properties, &content.body);
                self.metrics.messages_returned.inc();
            }
            for token in publish.replies {
                let replies = &self.client.front.replies;
                replies.publish(&self.client.vhost, token, &publish.message);
            }
            let seq = transaction.number();
            let (session, id) = (&mut self.session, channel.id);
            session.publish(id, Some(seq), &publish.routed, publish.message);
        }
        if let Some(committed) = transaction.end_if_done() {
            self.committed(number, committed);
        }
    }

    fn publish(
        &mut self,
        number: u16,
        publish: basic::Publish,
        content: Content,
    ) -> Result<(), Error> {
        let channel = channel!(self, number);
        if channel.queued.must_wait() {
            let bytes = content.properties.len() + content.body.len();
            self.put_off(number, Waiting::Publish(publish, content), bytes);
            return Ok(());
        }
        if let Mode::Transaction(transaction) = &channel.mode
            && transaction.is_committing()
        {
            return Err(transaction::Error::Committing.into());
        }
        self.metrics.messages_published.inc();
        let (client, routes) = (&self.client, &mut self.routes);
        let routed = publish::route(client, routes, channel, &publish, content)?;
        if routed.queues.is_empty() && routed.replies.is_empty() {
            self.metrics.messages_unroutable.inc();
        }
        let seq = match &mut channel.mode {
            Mode::Plain => None,
            Mode::Confirm(confirms) => Some(confirms.number()),
            Mode::Transaction(transaction) => {
                let publish = transaction::Publish {
                    routed: routed.queues,
                    replies: routed.replies,
                    message: routed.message,
                    returned: routed.returned,
                };
                let max = self.client.front.config.transaction_bytes_max;
                return Ok(transaction.publish(publish, max)?);
            }
        };
        if let Some((returned, content)) = routed.returned {
            self.wire
                .send_content(number, &returned, &content.properties, &content.body);
            self.metrics.messages_returned.inc();
        }
        for token in routed.replies {
            let replies = &self.client.front.replies;
            replies.publish(&self.client.vhost, token, &routed.message);
        }
        let (session, id) = (&mut self.session, channel.id);
        session.publish(id, seq, &routed.queues, routed.message);
        Ok(())
    }
}

fn returned(requeue: bool) -> Outcome {
    if requeue {
        Outcome::Requeue
    } else {
        Outcome::Reject
    }
}
