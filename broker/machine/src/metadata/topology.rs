//! Exchanges, queues and bindings by RabbitMQ 4's rules. What a name may be, who may touch it and
//! which arguments make sense is the front's business; here is what is there and what is equal.

use std::sync::Arc;

use super::command::{Command, Refusal, Reply};
use super::image::{Binding, Destination, Exchange, ExchangeKind, Image, Queue, QueueKind, Vhost};
use crate::placement;
use crate::value::Table;

pub mod equivalence;

/// Shards made when the first quorum queue is declared, and replicas of each where there are brokers.
const SHARDS: u32 = 8;
const SHARD_REPLICAS_MAX: usize = 3;

/// Exchanges that are there in every virtual host.
const PREDECLARED: [(&str, ExchangeKind, bool); 7] = [
    ("", ExchangeKind::Direct, false),
    ("amq.direct", ExchangeKind::Direct, false),
    ("amq.fanout", ExchangeKind::Fanout, false),
    ("amq.headers", ExchangeKind::Headers, false),
    ("amq.match", ExchangeKind::Headers, false),
    ("amq.rabbitmq.trace", ExchangeKind::Topic, true),
    ("amq.topic", ExchangeKind::Topic, false),
];

pub(super) fn carry_out(image: &mut Image, command: Command) -> Result<Reply, Refusal> {
    match command {
        Command::CreateVhost { name } => Ok(Reply::Declared {
            created: create_vhost(image, &name),
        }),
        Command::DeclareExchange {
            vhost,
            name,
            kind,
            durable,
            auto_delete,
            internal,
            arguments,
        } => in_vhost(image, &vhost, |v| {
            let exchange = Exchange {
                name: name.into(),
                kind,
                durable,
                auto_delete,
                internal,
                arguments,
            };
            declare_exchange(v, &vhost, exchange)
        }),
        Command::DeleteExchange {
            vhost,
            name,
            if_unused,
        } => in_vhost(image, &vhost, |v| {
            delete_exchange(v, &vhost, &name, if_unused)
        }),
        Command::DeclareQueue {
            vhost,
            name,
            quorum,
            home,
            durable,
            auto_delete,
            exclusive,
            arguments,
        } => {
            let queue = Queue {
                vhost: vhost.into(),
                name: name.into(),
                id: image.next_queue_id,
                kind: QueueKind::Classic { home },
                durable,
                auto_delete,
                exclusive,
                arguments,
            };
            declare_queue(image, queue, quorum)
        }
        Command::DeleteQueue { vhost, name } => in_vhost(image, &vhost, |v| delete_queue(v, &name)),
        Command::Bind {
            vhost,
            source,
            destination,
            routing_key,
            arguments,
        } => in_vhost(image, &vhost, |v| {
            let binding = Binding {
                source: source.into(),
                destination,
                routing_key: routing_key.into(),
                arguments,
            };
            bind(v, binding)
        }),
        Command::Unbind {
            vhost,
            source,
            destination,
            routing_key,
            arguments,
        } => in_vhost(image, &vhost, |v| {
            unbind(v, &source, &destination, &routing_key, &arguments)
        }),
        other => {
            debug_assert!(false, "not of the topology family: {other:?}");
            Ok(Reply::Done)
        }
    }
}

/// Whether it was not there before.
pub(super) fn create_vhost(image: &mut Image, name: &str) -> bool {
    if image.vhosts.contains_key(name) {
        return false;
    }
    let exchanges = PREDECLARED
        .iter()
        .map(|(name, kind, internal)| {
            let name: Arc<str> = (*name).into();
            let exchange = Exchange {
                name: Arc::clone(&name),
                kind: *kind,
                durable: true,
                auto_delete: false,
                internal: *internal,
                arguments: Table::new(),
            };
            (name, Arc::new(exchange))
        })
        .collect();
    let vhost = Vhost {
        exchanges,
        ..Vhost::default()
    };
    image.vhosts.insert(name.into(), Arc::new(vhost));
    true
}

fn in_vhost(
    image: &mut Image,
    name: &str,
    act: impl FnOnce(&mut Vhost) -> Result<Reply, Refusal>,
) -> Result<Reply, Refusal> {
    let vhost = image
        .vhosts
        .get_mut(name)
        .ok_or_else(|| Refusal::NotFound(name.into()))?;
    act(Arc::make_mut(vhost))
}

fn declare_exchange(vhost: &mut Vhost, in_: &str, exchange: Exchange) -> Result<Reply, Refusal> {
    if let Some(present) = vhost.exchanges.get(&exchange.name) {
        equivalence::exchanges(in_, present, &exchange)?;
        return Ok(Reply::Declared { created: false });
    }
    vhost
        .exchanges
        .insert(Arc::clone(&exchange.name), Arc::new(exchange));
    Ok(Reply::Declared { created: true })
}

/// Deleting what is not there is no error, as in RabbitMQ.
fn delete_exchange(
    vhost: &mut Vhost,
    in_: &str,
    name: &str,
    if_unused: bool,
) -> Result<Reply, Refusal> {
    if if_unused && vhost.bindings.get(name).is_some_and(|b| !b.is_empty()) {
        return Err(Refusal::InUse(format!(
            "exchange '{name}' in vhost '{in_}' in use"
        )));
    }
    if vhost.exchanges.remove(name).is_some() {
        vhost.bindings.remove(name);
        remove_bindings_to(vhost, &Destination::Exchange(name.into()));
    }
    Ok(Reply::Done)
}

fn declare_queue(image: &mut Image, mut queue: Queue, quorum: bool) -> Result<Reply, Refusal> {
    let vhost = image
        .vhosts
        .get(&queue.vhost)
        .ok_or_else(|| Refusal::NotFound(Arc::clone(&queue.vhost)))?;
    if let Some(present) = vhost.queues.get(&queue.name) {
        if present.exclusive != queue.exclusive {
            return Err(Refusal::Locked(format!(
                "cannot obtain exclusive access to locked queue '{}' in vhost '{}'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.",
                queue.name, queue.vhost
            )));
        }
        equivalence::queues(present, &queue, quorum)?;
        return Ok(Reply::Declared { created: false });
    }
    if quorum {
        queue.kind = QueueKind::Quorum {
            shard: choose_shard(image)?,
        };
    }
    image.next_queue_id += 1;
    let queue = Arc::new(queue);
    if let Some(vhost) = image.vhosts.get_mut(&queue.vhost) {
        Arc::make_mut(vhost)
            .queues
            .insert(Arc::clone(&queue.name), Arc::clone(&queue));
    }
    Ok(Reply::Declared { created: true })
}

/// Whether `command` would bring the shards into being before the brokers are there to carry them. Their
/// members are chosen once and stay: `expected` brokers, as far as a shard needs so many, should have
/// registered.
pub fn awaits_brokers(image: &Image, command: &Command, expected: usize) -> bool {
    matches!(command, Command::DeclareQueue { quorum: true, .. })
        && image.shards.is_empty()
        && image.brokers.len() < expected.min(SHARD_REPLICAS_MAX)
}

/// The shard with the fewest queues; the first quorum queue brings the shards into being.
fn choose_shard(image: &mut Image) -> Result<model::ShardId, Refusal> {
    if image.shards.is_empty() {
        image.shards = placement::shards(image, SHARDS, SHARD_REPLICAS_MAX)
            .into_iter()
            .map(|shard| (shard.id, Arc::new(shard)))
            .collect();
    }
    let carried = |shard: model::ShardId| {
        image
            .vhosts
            .values()
            .flat_map(|vhost| vhost.queues.values())
            .filter(|queue| queue.kind == QueueKind::Quorum { shard })
            .count()
    };
    image
        .shards
        .keys()
        .copied()
        .min_by_key(|shard| (carried(*shard), *shard))
        .ok_or_else(|| {
            Refusal::InvalidReplicationFactor(
                "no broker is available to carry a quorum queue".to_owned(),
            )
        })
}

fn delete_queue(vhost: &mut Vhost, name: &str) -> Result<Reply, Refusal> {
    if vhost.queues.remove(name).is_none() {
        return Err(Refusal::NotFound(name.into()));
    }
    remove_bindings_to(vhost, &Destination::Queue(name.into()));
    Ok(Reply::Done)
}

fn bind(vhost: &mut Vhost, binding: Binding) -> Result<Reply, Refusal> {
    if !vhost.exchanges.contains_key(&binding.source) {
        return Err(Refusal::NotFound(binding.source));
    }
    let there = match &binding.destination {
        Destination::Queue(name) => vhost.queues.contains_key(name),
        Destination::Exchange(name) => vhost.exchanges.contains_key(name),
    };
    if !there {
        let (Destination::Queue(name) | Destination::Exchange(name)) = binding.destination;
        return Err(Refusal::NotFound(name));
    }
    let bindings = vhost
        .bindings
        .entry(Arc::clone(&binding.source))
        .or_default();
    let created = !bindings.iter().any(|present| **present == binding);
    if created {
        bindings.push_back(Arc::new(binding));
    }
    Ok(Reply::Declared { created })
}

/// Unbinding what is not bound is no error, as in RabbitMQ.
fn unbind(
    vhost: &mut Vhost,
    source: &str,
    destination: &Destination,
    routing_key: &str,
    arguments: &Table,
) -> Result<Reply, Refusal> {
    remove_bindings(vhost, source, |binding| {
        binding.destination == *destination
            && binding.routing_key.as_ref() == routing_key
            && binding.arguments == *arguments
    });
    Ok(Reply::Done)
}

fn remove_bindings_to(vhost: &mut Vhost, destination: &Destination) {
    let sources: Vec<_> = vhost.bindings.keys().cloned().collect();
    for source in sources {
        remove_bindings(vhost, &source, |b| b.destination == *destination);
    }
}

/// Removes matching bindings of one source; an auto-delete exchange goes with its last binding.
fn remove_bindings(vhost: &mut Vhost, source: &str, matching: impl Fn(&Binding) -> bool) {
    let Some(bindings) = vhost.bindings.get_mut(source) else {
        return;
    };
    let before = bindings.len();
    bindings.retain(|binding| !matching(binding));
    if bindings.len() == before {
        return;
    }
    if bindings.is_empty() {
        vhost.bindings.remove(source);
        if vhost.exchanges.get(source).is_some_and(|e| e.auto_delete) {
            vhost.exchanges.remove(source);
            remove_bindings_to(vhost, &Destination::Exchange(source.into()));
        }
    }
}
