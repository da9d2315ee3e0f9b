//! Methods of the classes exchange and queue. All of them may wait for the metadata group or a host.

use amqp_wire::method::{exchange, queue};
use machine::metadata::image::Destination;

use super::Connection;
use super::operation::{DECLARE_QUEUE, Done};
use crate::amqp::consume;
use crate::amqp::outage::Outage;
use crate::amqp::reply_code::Error;
use crate::amqp::topology::{self, BindingRequest};
use crate::amqp::values;

impl Connection {
    pub(super) fn exchange(&mut self, number: u16, method: &exchange::Method) {
        use exchange::Method as M;
        let client = self.client.clone();
        let vhost = client.vhost.clone();
        match method {
            M::Declare(declare) => {
                let declare = declare.clone();
                let name = declare.exchange.to_string();
                let late = Outage::DeclareExchange { name, vhost };
                self.begin(number, (40, 10), late, async move {
                    topology::exchange::declare(&client, &declare).await?;
                    Ok(Done::unless(declare.no_wait, exchange::DeclareOk {}))
                });
            }
            M::Delete(delete) => {
                let delete = delete.clone();
                let name = delete.exchange.to_string();
                let late = Outage::DeleteExchange { name, vhost };
                self.begin(number, (40, 20), late, async move {
                    topology::exchange::delete(&client, &delete).await?;
                    Ok(Done::unless(delete.no_wait, exchange::DeleteOk {}))
                });
            }
            M::Bind(bind) => {
                let destination = topology::name(&bind.destination);
                let request = BindingRequest {
                    source: topology::name(&bind.source),
                    destination: Destination::Exchange(destination.as_str().into()),
                    routing_key: bind.routing_key.to_string(),
                    arguments: values::from_wire(&bind.arguments),
                };
                let done = Done::unless(bind.no_wait, exchange::BindOk {});
                self.bind(number, (40, 30), request, done);
            }
            M::Unbind(unbind) => {
                let destination = topology::name(&unbind.destination);
                let request = BindingRequest {
                    source: topology::name(&unbind.source),
                    destination: Destination::Exchange(destination.as_str().into()),
                    routing_key: unbind.routing_key.to_string(),
                    arguments: values::from_wire(&unbind.arguments),
                };
                let done = Done::unless(unbind.no_wait, exchange::UnbindOk {});
                self.unbind(number, (40, 40), request, done);
            }
            _ => {}
        }
    }

    pub(super) fn queue(&mut self, number: u16, method: &queue::Method) -> Result<(), Error> {
        use queue::Method as M;
        match method {
            M::Declare(declare) => self.declare_queue(number, declare.clone()),
            M::Bind(bind) => {
                let name = self.named(number, &bind.queue)?;
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
                let done = Done::unless(bind.no_wait, queue::BindOk {});
                self.bind(number, (50, 20), request, done);
            }
            M::Unbind(unbind) => {
                let name = self.named(number, &unbind.queue)?;
                let request = BindingRequest {
                    source: topology::name(&unbind.exchange),
                    destination: Destination::Queue(name.as_str().into()),
                    routing_key: unbind.routing_key.to_string(),
                    arguments: values::from_wire(&unbind.arguments),
                };
                let done = Done::With(queue::UnbindOk {}.into());
                self.unbind(number, (50, 50), request, done);
            }
            M::Purge(purge) => {
                let name = self.named(number, &purge.queue)?;
                let queue = self.client.queue(&name)?;
                let (no_wait, hosts) = (purge.no_wait, self.session.caller());
                let late = Outage::late(&queue, topology::queue::PURGING);
                self.begin(number, (50, 30), late, async move {
                    let purged = topology::queue::purge(&hosts, &queue).await?;
                    let message_count = count(purged);
                    Ok(Done::unless(no_wait, queue::PurgeOk { message_count }))
                });
            }
            M::Delete(delete) => {
                let name = self.named(number, &delete.queue)?;
                let (client, hosts) = (self.client.clone(), self.session.caller());
                let (unused, empty) = (delete.if_unused, delete.if_empty);
                let no_wait = delete.no_wait;
                self.begin(number, (50, 40), Outage::DeleteQueue, async move {
                    let gone = topology::queue::delete(&client, &hosts, &name, unused, empty);
                    let message_count = count(gone.await?);
                    Ok(Done::unless(no_wait, queue::DeleteOk { message_count }))
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn declare_queue(&mut self, number: u16, declare: queue::Declare) {
        let Some(channel) = self.channels.get(&number) else {
            return;
        };
        let last = channel.last_queue.clone();
        let (client, hosts) = (self.client.clone(), self.session.caller());
        let late = Outage::DeclareQueue {
            name: declare.queue.to_string(),
            vhost: client.vhost.clone(),
        };
        self.begin(number, DECLARE_QUEUE, late, async move {
            let declared = topology::queue::declare(&client, &hosts, last.as_deref(), &declare);
            let declared = declared.await?;
            let name = declared.name;
            let ok = queue::DeclareOk {
                queue: (&*name).into(),
                message_count: count(declared.messages),
                consumer_count: declared.consumers,
            };
            Ok(Done::Declared(name, (!declare.no_wait).then(|| ok.into())))
        });
    }

    fn bind(&mut self, number: u16, ids: (u16, u16), request: BindingRequest, done: Done) {
        let client = self.client.clone();
        let late = Outage::Binding { action: "add" };
        self.begin(number, ids, late, async move {
            topology::bind(&client, request).await?;
            Ok(done)
        });
    }

    fn unbind(&mut self, number: u16, ids: (u16, u16), request: BindingRequest, done: Done) {
        let client = self.client.clone();
        let late = Outage::Binding { action: "remove" };
        self.begin(number, ids, late, async move {
            topology::unbind(&client, request).await?;
            Ok(done)
        });
    }

    fn named(&self, number: u16, name: &amqp_wire::ShortStr) -> Result<String, Error> {
        let last = self.channels.get(&number);
        let last = last.and_then(|channel| channel.last_queue.as_deref());
        Ok(consume::named(last, name)?)
    }
}

fn count(messages: u64) -> u32 {
    u32::try_from(messages).unwrap_or(u32::MAX)
}
