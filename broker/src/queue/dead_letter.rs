//! What becomes of a message that a queue gives up: a new publish to the dead-letter exchange, with the
//! death written into its history (RabbitMQ: `rabbit_dead_letter`).
//!
//! At most once, as RabbitMQ's default: the source is done with the message when it has been handed to
//! the targets. A missing exchange drops it silently.

use std::sync::Arc;

use machine::metadata::image::{Image, Queue};
use machine::queue::Config;
use machine::routing;
use machine::value::{Table, Value};
use uuid::Uuid;

use super::inflight::{Inflight, Permit};
use super::links::{Batch, Host, Links};
use super::message::{Death, Deaths, Message, Reason};
use super::protocol::{Op, Request, SessionKey};

/// Bytes of dead letters of one host that their queues have not taken yet. A host of classic queues
/// gives nothing up beyond it until there is room; a quorum queue's bodies are in memory either way.
const INFLIGHT_BYTES_MAX: usize = 8 << 20;

/// Publishes dead letters of the queues of one host. Nobody listens to its confirms.
pub(crate) struct Publisher {
    links: Arc<Links>,
    session: SessionKey,
    last: u64,
    routes: routing::Cache,
    gathered: Vec<Gathered>,
    inflight: Arc<Inflight>,
}

/// Dead letters for one host.
struct Gathered {
    host: Host,
    requests: Vec<Request>,
    permit: Permit,
}

impl Publisher {
    pub(crate) fn new(links: Arc<Links>) -> Self {
        Self {
            session: SessionKey {
                broker: links.broker(),
                number: Uuid::new_v4().as_u64_pair().0,
            },
            last: 0,
            routes: routing::Cache::default(),
            gathered: Vec::new(),
            inflight: Arc::new(Inflight::new(INFLIGHT_BYTES_MAX, links.budget().clone())),
            links,
        }
    }

    /// Routes the dead letter of `message`. True when the queue has a dead-letter exchange.
    pub(crate) fn publish(
        &mut self,
        image: &Image,
        queue: &Queue,
        config: &Config,
        message: &Message,
        reason: Reason,
        now_ms: i64,
    ) -> bool {
        let Some(exchange) = &config.dead_letter_exchange else {
            return false;
        };
        let Some(vhost) = image.vhosts.get(&queue.vhost) else {
            return false;
        };
        let letter = letter(queue, config, exchange, message, reason, now_ms);
        let mut keys = vec![letter.routing_key.to_string()];
        if config.dead_letter_routing_key.is_none() {
            keys.extend(copies(&message.headers()));
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let routed = self
            .routes
            .route(vhost, exchange, &keys, &|| letter.headers());
        let Ok(routed) = routed else {
            return true;
        };
        let letter = Arc::new(letter);
        for target in &routed.queues {
            if reason != Reason::Rejected && cycles(&letter, &target.name) {
                tracing::debug!(queue = %target.name, "dead letter dropped: it would go in a circle");
                continue;
            }
            self.last += 1;
            let request = Request {
                queue: target.id,
                op: Op::Publish {
                    publish: self.last,
                    message: letter.clone(),
                },
            };
            let host = self.links.host(target);
            let bytes = letter.memory_bytes();
            match self.gathered.iter_mut().find(|g| g.host == host) {
                Some(gathered) => {
                    gathered.requests.push(request);
                    gathered.permit.grow(bytes);
                }
                None => self.gathered.push(Gathered {
                    host,
                    requests: vec![request],
                    permit: self.inflight.take(bytes),
                }),
            }
        }
        true
    }

    /// Whether the queues that dead letters go to have as many of them waiting as they may have.
    pub(crate) fn is_full(&self) -> bool {
        !self.inflight.is_below_bound()
    }

    pub(crate) fn flush(&mut self) {
        for gathered in self.gathered.drain(..) {
            self.links.send(
                gathered.host,
                Batch {
                    session: self.session,
                    requests: gathered.requests,
                    permit: gathered.permit,
                },
            );
        }
    }
}

fn letter(
    queue: &Queue,
    config: &Config,
    exchange: &Arc<str>,
    message: &Message,
    reason: Reason,
    now_ms: i64,
) -> Message {
    let mut deaths = message
        .deaths
        .as_deref()
        .cloned()
        .unwrap_or_else(|| Deaths {
            entries: Vec::new(),
            first: (queue.name.clone(), Some(reason), message.exchange.clone()),
        });
    let same = |death: &Death| death.queue == queue.name && death.reason == reason;
    let death = match deaths.entries.iter().position(same) {
        Some(at) => {
            let mut death = deaths.entries.remove(at);
            death.count += 1;
            death.exchange = message.exchange.clone();
            death
        }
        None => {
            let mut routing_keys = vec![message.routing_key.clone()];
            routing_keys.extend(copies(&message.headers()).map(Arc::from));
            Death {
                queue: queue.name.clone(),
                reason,
                count: 1,
                time_ms: now_ms,
                exchange: message.exchange.clone(),
                routing_keys,
                original_expiration: message.expiration,
            }
        }
    };
    // One that grew by itself would have room for four.
    let mut entries = Vec::with_capacity(deaths.entries.len() + 1);
    entries.push(death);
    entries.append(&mut deaths.entries);
    deaths.entries = entries;
    let key = config.dead_letter_routing_key.as_ref();
    Message {
        exchange: exchange.clone(),
        routing_key: key.unwrap_or(&message.routing_key).clone(),
        expiration: None,
        deaths: Some(Arc::new(deaths)),
        ..message.clone()
    }
}

/// Routing keys in the CC header; BCC was taken out when the message was published.
fn copies(headers: &Table) -> impl Iterator<Item = String> {
    let copies = match headers.get("CC") {
        Some(Value::Array(keys)) => keys.clone(),
        _ => Vec::new(),
    };
    copies.into_iter().filter_map(|key| match key {
        Value::String(key) => Some(key),
        _ => None,
    })
}

/// Whether the letter was in `target` before and nobody has rejected it since. The newest death is the
/// one that sends it there.
fn cycles(letter: &Message, target: &str) -> bool {
    let Some(deaths) = &letter.deaths else {
        return false;
    };
    let mut newest_first = deaths.entries.iter();
    newest_first
        .by_ref()
        .take_while(|death| death.reason != Reason::Rejected)
        .any(|death| &*death.queue == target)
}

#[cfg(test)]
mod tests;
