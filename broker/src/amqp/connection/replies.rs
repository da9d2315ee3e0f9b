//! Direct replies on a connection: its channels' consumers of `amq.rabbitmq.reply-to`, and what arrives
//! for them.

use std::sync::Arc;

use amqp_wire::content;
use amqp_wire::method::basic;

use super::Connection;
use super::events::Pending;
use crate::amqp::channel::ReplyConsumer;
use crate::amqp::consume::{self, Error};
use crate::amqp::direct_reply::{Inbox, Reply};

impl Connection {
    /// `basic.consume` on the pseudo queue.
    pub(super) fn consume_replies(
        &mut self,
        number: u16,
        consume: &basic::Consume,
    ) -> Result<(), Error> {
        let Some(channel) = self.channels.get_mut(&number) else {
            return Ok(());
        };
        let tag = consume::tag(channel, consume)?;
        if !consume.no_ack {
            return Err(Error::ReplyConsumerAcks);
        }
        if channel.replies.is_some() {
            return Err(Error::ReplyConsumerSet);
        }
        let front = &self.client.front;
        let inbox = self.replies.get_or_insert_with(|| {
            let bytes_max = front.config.replies_bytes_max;
            Arc::new(Inbox::new(bytes_max))
        });
        let registration = front
            .replies
            .register(&self.client.vhost, channel.id, inbox);
        if !consume.no_wait {
            let consumer_tag = (&*tag).into();
            self.wire.send(number, &basic::ConsumeOk { consumer_tag });
        }
        channel.replies = Some(ReplyConsumer { tag, registration });
        Ok(())
    }

    pub(super) fn replies_arrived(&mut self, replies: Vec<Reply>) {
        self.pending.extend(replies.into_iter().map(Pending::Reply));
    }

    /// Hands a reply to its channel, unless its consumer is gone.
    pub(super) fn deliver_reply(&mut self, reply: &Reply) {
        let Some((&number, channel)) = self.numbers.get(&reply.channel).and_then(|number| {
            let channel = self.channels.get_mut(number)?;
            Some((number, channel))
        }) else {
            return;
        };
        let Some(consumer) = &channel.replies else {
            return;
        };
        if !consumer.registration.token.has_key(reply.key) {
            return;
        }
        let message = &reply.message;
        let method = content::Deliver {
            consumer_tag: &consumer.tag,
            delivery_tag: channel.unacked.next_tag(),
            redelivered: false,
            exchange: &message.exchange,
            routing_key: &message.routing_key,
        };
        self.wire
            .send_content(number, &method, &message.properties, &message.body);
        self.metrics.messages_delivered.inc();
    }
}
