//! Which code carries out which method, and what the client is answered.

use amqp_wire::Content;
use amqp_wire::method::{Method, basic, confirm, exchange, queue, tx};
use machine::metadata::image::Destination;

use super::Connection;
use crate::amqp::channel::{Answer, Mode};
use crate::amqp::confirms::Confirms;
use crate::amqp::reply_code::Error;
use crate::amqp::topology::{self, BindingRequest};
use crate::amqp::transaction::{self, Transaction};
use crate::amqp::{consume, publish, values};
use crate::queue::Outcome;

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
    pub(super) async fn method(&mut self, number: u16, method: &Method) -> Result<(), Error> {
        if let Mode::Transaction(transaction) = &channel!(self, number).mode
            && transaction.is_committing()
        {
            return Err(transaction::Error::Committing.into());
        }
        match method {
            Method::Exchange(method) => Box::pin(self.exchange(number, method)).await,
            Method::Queue(method) => Box::pin(self.queue(number, method)).await,
            Method::Basic(method) => self.basic(number, method).await,
            Method::Confirm(confirm::Method::Select(select)) => self.confirm(number, select),
            Method::Tx(method) => self.tx(number, method),
            // Answered by the wire session.
            _ => Ok(()),
        }
    }

    async fn exchange(&mut self, number: u16, method: &exchange::Method) -> Result<(), Error> {
        use exchange::Method as M;
        match method {
            M::Declare(declare) => {
                topology::exchange::declare(&self.client, declare).await?;
                if !declare.no_wait {
                    self.wire.send(number, &exchange::DeclareOk {});
                }
            }
            M::Delete(delete) => {
                topology::exchange::delete(&self.client, delete).await?;
                if !delete.no_wait {
                    self.wire.send(number, &exchange::DeleteOk {});
                }
            }
            M::Bind(bind) => {
                let request = BindingRequest {
                    source: topology::name(&bind.source),
                    destination: Destination::Exchange(
                        topology::name(&bind.destination).as_str().into(),
                    ),
                    routing_key: bind.routing_key.to_string(),
                    arguments: values::from_wire(&bind.arguments),
                };
                topology::bind(&self.client, request).await?;
                if !bind.no_wait {
                    self.wire.send(number, &exchange::BindOk {});
                }
            }
            M::Unbind(unbind) => {
                let request = BindingRequest {
                    source: topology::name(&unbind.source),
                    destination: Destination::Exchange(
                        topology::name(&unbind.destination).as_str().into(),
                    ),
                    routing_key: unbind.routing_key.to_string(),
                    arguments: values::from_wire(&unbind.arguments),
                };
                topology::unbind(&self.client, request).await?;
                if !unbind.no_wait {
                    self.wire.send(number, &exchange::UnbindOk {});
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn queue(&mut self, number: u16, method: &queue::Method) -> Result<(), Error> {
        use queue::Method as M;
        let channel = channel!(self, number);
        match method {
            M::Declare(declare) => {
                let last = channel.last_queue.clone();
                let session = &mut self.session;
                let declared =
                    topology::queue::declare(&self.client, session, last.as_deref(), declare)
                        .await?;
                channel.last_queue = Some(declared.queue.name.clone());
                if !declare.no_wait {
                    let ok = queue::DeclareOk {
                        queue: (&*declared.queue.name).into(),
                        message_count: count(declared.messages),
                        consumer_count: declared.consumers,
                    };
                    self.wire.send(number, &ok);
                }
            }
            M::Bind(bind) => {
                let name = consume::named(channel, &bind.queue)?;
                // Without both names the routing key is the queue's own.
                let routing_key = if bind.queue.is_empty() && bind.routing_key.is_empty() {
                    name.clone()
                } else {
                    bind.routing_key.to_string()
                };
                let request = BindingRequest {
                    source: topology::name(&bind.exchange),
                    destination: Destination::Queue(name.as_str().into()),
                    routing_key,
                    arguments: values::from_wire(&bind.arguments),
                };
                topology::bind(&self.client, request).await?;
                if !bind.no_wait {
                    self.wire.send(number, &queue::BindOk {});
                }
            }
            M::Unbind(unbind) => {
                let name = consume::named(channel, &unbind.queue)?;
                let request = BindingRequest {
                    source: topology::name(&unbind.exchange),
                    destination: Destination::Queue(name.as_str().into()),
                    routing_key: unbind.routing_key.to_string(),
                    arguments: values::from_wire(&unbind.arguments),
                };
                topology::unbind(&self.client, request).await?;
                self.wire.send(number, &queue::UnbindOk {});
            }
            M::Purge(purge) => {
                let name = consume::named(channel, &purge.queue)?;
                let purged = topology::queue::purge(&self.client, &mut self.session, &name).await?;
                if !purge.no_wait {
                    let message_count = count(purged);
                    self.wire.send(number, &queue::PurgeOk { message_count });
                }
            }
            M::Delete(delete) => {
                let name = consume::named(channel, &delete.queue)?;
                let session = &mut self.session;
                let (unused, empty) = (delete.if_unused, delete.if_empty);
                let gone =
                    topology::queue::delete(&self.client, session, &name, unused, empty).await?;
                if !delete.no_wait {
                    let message_count = count(gone);
                    self.wire.send(number, &queue::DeleteOk { message_count });
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn basic(&mut self, number: u16, method: &basic::Method) -> Result<(), Error> {
        use basic::Method as M;
        match method {
            M::Consume(consume) => Box::pin(self.consume(number, consume)).await,
            M::Get(get) => Box::pin(self.get(number, get)).await,
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

    async fn consume(&mut self, number: u16, consume: &basic::Consume) -> Result<(), Error> {
        let max = self.client.front.config.consumers_max;
        if self
            .channels
            .values()
            .map(|c| c.consumers.len())
            .sum::<usize>()
            >= max
        {
            return Err(consume::Error::TooManyConsumers(max).into());
        }
        let channel = channel!(self, number);
        let name = consume::named(channel, &consume.queue)?;
        let (client, session) = (&self.client, &mut self.session);
        let tag = consume::consume(client, session, channel, &name, consume).await?;
        self.metrics.consumers.inc();
        if !consume.no_wait {
            let consumer_tag = (&*tag).into();
            self.wire.send(number, &basic::ConsumeOk { consumer_tag });
        }
        Ok(())
    }

    async fn get(&mut self, number: u16, get: &basic::Get) -> Result<(), Error> {
        let channel = channel!(self, number);
        let name = consume::named(channel, &get.queue)?;
        let queue = self.client.queue(&name)?;
        match self.session.get(channel.id, &queue, get.no_ack).await? {
            None => self.wire.send(number, &basic::GetEmpty::default()),
            Some((delivery, left)) => {
                let wire = &mut self.wire;
                consume::send_got(wire, number, channel, get.no_ack, &delivery, left);
                self.metrics.messages_delivered.inc();
            }
        }
        Ok(())
    }

    fn cancel(&mut self, number: u16, cancel: &basic::Cancel) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let known = channel.consumer_by_tag(&cancel.consumer_tag);
        let Some(consumer) = known else {
            // Unknown tags are no error.
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
            let seq = transaction.number();
            let (session, id) = (&mut self.session, channel.id);
            session.publish(id, Some(seq), &publish.routed, publish.message);
        }
        if let Some(committed) = transaction.end_if_done() {
            self.committed(number, committed);
        }
    }

    pub(super) fn publish(
        &mut self,
        number: u16,
        publish: &basic::Publish,
        content: Content,
    ) -> Result<(), Error> {
        let channel = channel!(self, number);
        if let Mode::Transaction(transaction) = &channel.mode
            && transaction.is_committing()
        {
            return Err(transaction::Error::Committing.into());
        }
        self.metrics.messages_published.inc();
        let (client, routes) = (&self.client, &mut self.routes);
        let routed = publish::route(client, routes, channel, publish, content)?;
        if routed.queues.is_empty() {
            self.metrics.messages_unroutable.inc();
        }
        let seq = match &mut channel.mode {
            Mode::Plain => None,
            Mode::Confirm(confirms) => Some(confirms.number()),
            Mode::Transaction(transaction) => {
                let publish = transaction::Publish {
                    routed: routed.queues,
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

fn count(messages: u64) -> u32 {
    u32::try_from(messages).unwrap_or(u32::MAX)
}
