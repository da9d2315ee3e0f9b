//! `queue.declare`, `queue.purge` and `queue.delete`.

use std::sync::Arc;
use std::time::Duration;

use amqp_wire::method::queue as method;
use machine::metadata::command::{Command, Refusal};
use machine::metadata::image::{Queue, QueueKind};
use machine::metadata::topology::equivalence;
use machine::value::Value;
use model::ShardId;
use tokio::time::timeout;
use uuid::Uuid;

use super::{Client, Error, arguments, name};
use crate::amqp::direct_reply::{self, Token};
use crate::amqp::outage::Outage;
use crate::amqp::values;
use crate::queue::{Caller, Stats};

/// How long a method waits for counts that it can do without.
const COUNTS_TIMEOUT: Duration = Duration::from_secs(5);

/// What a purge was doing when its queue did not answer.
pub(in crate::amqp) const PURGING: &str = "purging";

/// What declare-ok says.
pub(in crate::amqp) struct Declared {
    pub(in crate::amqp) name: Arc<str>,
    pub(in crate::amqp) messages: u64,
    pub(in crate::amqp) consumers: u32,
}

/// Declares, or compares with what is there. `last` is the queue that an empty name stands for in a
/// passive declare.
pub(in crate::amqp) async fn declare(
    client: &Client,
    hosts: &Caller,
    last: Option<&str>,
    declare: &method::Declare,
) -> Result<Declared, Error> {
    let name = match (name(&declare.queue), declare.passive) {
        (name, true) if name.is_empty() => last.ok_or(Error::NoQueueDeclared)?.to_owned(),
        (name, _) => name,
    };
    if direct_reply::is_pseudo(&name) {
        return declare_pseudo(client, name).await;
    }
    let queue = if declare.passive {
        client.queue(&name)?
    } else {
        declare_active(client, name, declare).await?
    };
    let stats = if declare.no_wait {
        Stats::default()
    } else {
        counts(hosts, &queue).await?
    };
    Ok(Declared {
        name: queue.name.clone(),
        messages: stats.ready,
        consumers: stats.consumers,
    })
}

/// Every declare of a pseudo queue is a passive one; what exists has no messages and one consumer.
async fn declare_pseudo(client: &Client, name: String) -> Result<Declared, Error> {
    let exists = match Token::parse(&name) {
        Some(token) => client.front.replies.exists(&client.vhost, token).await,
        None => name == direct_reply::NAME,
    };
    if !exists {
        return Err(client.no_queue(&name));
    }
    Ok(Declared {
        name: name.into(),
        messages: 0,
        consumers: 1,
    })
}

/// A quorum queue that does not answer counts as empty, as in RabbitMQ: that a shard has no leader is no
/// reason why a declare should fail.
async fn counts(hosts: &Caller, queue: &Arc<Queue>) -> Result<Stats, Error> {
    match queue.kind {
        QueueKind::Quorum { .. } => {
            let stats = timeout(COUNTS_TIMEOUT, hosts.stats(queue)).await;
            Ok(stats.ok().and_then(Result::ok).unwrap_or_default())
        }
        QueueKind::Classic { .. } => {
            let stats = hosts.stats(queue).await;
            Ok(stats.map_err(|error| Outage::of(queue, "declaring", &error))?)
        }
    }
}

async fn declare_active(
    client: &Client,
    name: String,
    declare: &method::Declare,
) -> Result<Arc<Queue>, Error> {
    let arguments = values::from_wire(&declare.arguments);
    let quorum = match arguments.get("x-queue-type") {
        Some(Value::String(kind)) => kind == "quorum",
        _ => false,
    };
    let asked = Queue {
        vhost: client.vhost.clone(),
        name: name.as_str().into(),
        id: 0,
        kind: if quorum {
            QueueKind::Quorum { shard: ShardId(0) }
        } else {
            QueueKind::Classic {
                home: client.front.metadata.this_broker(),
            }
        },
        // Exclusive queues live no longer than their connection.
        durable: declare.durable,
        auto_delete: declare.auto_delete,
        exclusive: declare.exclusive.then(|| client.owner.id()),
        arguments,
    };
    if let Some(existing) = client.vhost().queues.get(name.as_str()) {
        return same(client, &asked, quorum, existing);
    }
    if name.starts_with("amq.") {
        return Err(Error::Reserved {
            what: "queue",
            name,
        });
    }
    arguments::check_queue(&client.vhost, &name, quorum, &asked.arguments)?;
    if quorum {
        check_quorum(client, &asked)?;
    }
    let name = if name.is_empty() {
        generated_name()
    } else {
        name
    };
    let asked = Queue {
        name: name.as_str().into(),
        ..asked
    };
    let command = Command::DeclareQueue {
        vhost: client.vhost.to_string(),
        name: name.clone(),
        quorum,
        home: client.front.metadata.this_broker(),
        durable: asked.durable,
        auto_delete: asked.auto_delete,
        exclusive: asked.exclusive,
        arguments: asked.arguments.clone(),
    };
    // Compared again where it is applied: someone else may be first, with other properties.
    client.submit(command).await?;
    client.queue(&name)
}

fn same(
    client: &Client,
    asked: &Queue,
    quorum: bool,
    existing: &Arc<Queue>,
) -> Result<Arc<Queue>, Error> {
    if asked.exclusive != existing.exclusive {
        return Err(client.locked(&existing.name));
    }
    equivalence::queues(existing, asked, quorum)?;
    Ok(existing.clone())
}

fn check_quorum(client: &Client, asked: &Queue) -> Result<(), Error> {
    if asked.name.is_empty() {
        return Err(Error::ServerNamed {
            name: String::new(),
        });
    }
    let properties = [
        (!asked.durable, "non-durable"),
        (asked.auto_delete, "auto-delete"),
        (asked.exclusive.is_some(), "exclusive-owner"),
    ];
    match properties.into_iter().find(|(wrong, _)| *wrong) {
        None => Ok(()),
        Some((_, property)) => Err(Error::InvalidProperty {
            property,
            name: asked.name.to_string(),
            vhost: client.vhost.clone(),
        }),
    }
}

fn generated_name() -> String {
    format!("amq.gen-{}", Uuid::new_v4().simple())
}

/// Removes all ready messages; the answer is how many.
pub(in crate::amqp) async fn purge(hosts: &Caller, queue: &Arc<Queue>) -> Result<u64, Error> {
    let purged = hosts.purge(queue).await;
    Ok(purged.map_err(|error| Outage::of(queue, PURGING, &error))?)
}

/// Deletes; the answer is how many ready messages went with it. One that is not there had none.
pub(in crate::amqp) async fn delete(
    client: &Client,
    hosts: &Caller,
    name: &str,
    if_unused: bool,
    if_empty: bool,
) -> Result<u64, Error> {
    let queue = match client.queue(name) {
        Ok(queue) => queue,
        Err(Error::NoQueue { .. }) => return Ok(0),
        Err(error) => return Err(error),
    };
    let stats = if if_unused || if_empty {
        let stats = hosts.stats(&queue).await;
        stats.map_err(|error| Outage::of(&queue, "deleting", &error))?
    } else {
        // A queue whose host is gone can still be deleted, but nobody knows what was in it.
        let stats = timeout(COUNTS_TIMEOUT, hosts.stats(&queue)).await;
        stats.ok().and_then(Result::ok).unwrap_or_default()
    };
    if if_unused && stats.consumers > 0 {
        return Err(Error::QueueInUse {
            name: name.to_owned(),
            vhost: client.vhost.clone(),
        });
    }
    if if_empty && stats.ready > 0 {
        return Err(Error::QueueNotEmpty {
            name: name.to_owned(),
            vhost: client.vhost.clone(),
        });
    }
    delete_now(client, name).await?;
    Ok(stats.ready)
}

/// Deletes without a look at what is in it.
pub(in crate::amqp) async fn delete_now(client: &Client, name: &str) -> Result<(), Error> {
    let command = Command::DeleteQueue {
        vhost: client.vhost.to_string(),
        name: name.to_owned(),
    };
    match client.submit(command).await {
        Ok(_) | Err(Error::Refused(Refusal::NotFound(_))) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits until those of `queues` that have lost their last consumer are deleted. Whoever asks has told
/// their hosts before that its consumers leave.
pub(in crate::amqp) async fn await_deletion(client: &Client, queues: Vec<Arc<Queue>>) {
    for queue in queues {
        // Answered behind what the host was told before.
        let stats = client.front.queues.stats(&queue).await;
        if stats.is_ok_and(|stats| stats.consumers == 0) {
            let mut images = client.front.metadata.watch();
            let gone = images.wait_for(|image| {
                let vhost = image.vhosts.get(&queue.vhost);
                let there = vhost.and_then(|vhost| vhost.queues.get(&queue.name));
                there.is_none_or(|there| there.id != queue.id)
            });
            // The metadata ends with the broker.
            drop(gone.await);
        }
    }
}

/// The exclusive queues of a connection, to be deleted at its end.
pub(in crate::amqp) fn exclusive_queues(client: &Client) -> Vec<Arc<Queue>> {
    let vhost = client.vhost();
    let owned = vhost.queues.values();
    owned
        .filter(|queue| queue.exclusive == Some(client.owner.id()))
        .cloned()
        .collect()
}
