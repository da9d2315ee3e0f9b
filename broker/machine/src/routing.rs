//! Which queues a publish reaches: a pure look-up in one virtual host of the metadata image.
//!
//! Every queue gets at most one copy however many bindings, keys and exchange-to-exchange paths lead to
//! it; an exchange is visited once, so cycles end by themselves. An exchange that yields no destination
//! tries its `alternate-exchange` (RabbitMQ's guide "Alternate Exchanges"). Nothing here changes state.

mod direct;
mod fanout;
mod headers;
mod topic;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::metadata::image::{Binding, Destination, Exchange, ExchangeKind, Queue, Vhost};
use crate::value::{Table, Value};

/// Name of the argument that names the exchange for what finds no destination.
pub const ALTERNATE_EXCHANGE: &str = "alternate-exchange";

/// The exchange named in a publish does not exist: RabbitMQ's 404.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no exchange '{0}'")]
pub struct NoSuchExchange(pub String);

/// Where a publish goes. Empty = unroutable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routed {
    /// Each queue once, in the order of the bindings that reached them.
    pub queues: Vec<Arc<Queue>>,
}

/// Routes without a cache. `keys` is the routing key, followed by those of CC and BCC; `headers` is
/// asked only when a headers exchange is on the way.
pub fn route(
    vhost: &Vhost,
    exchange: &str,
    keys: &[&str],
    headers: &dyn Fn() -> Table,
) -> Result<Routed, NoSuchExchange> {
    let mut walk = Walk::new(vhost, keys, headers);
    walk.start(exchange)?;
    Ok(walk.routed)
}

/// Routes with a bounded memory of (exchange, routing key), forgotten when the virtual host changes.
/// One per connection: it needs no lock.
#[derive(Default)]
pub struct Cache {
    vhost: Option<Arc<Vhost>>,
    routes: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<Routed>>>,
    len: usize,
}

/// Entries of one [`Cache`]; a full one is emptied, since keys that no longer come must not stay.
pub const CACHE_ENTRIES_MAX: usize = 4_096;

impl Cache {
    pub fn route(
        &mut self,
        vhost: &Arc<Vhost>,
        exchange: &str,
        keys: &[&str],
        headers: &dyn Fn() -> Table,
    ) -> Result<Arc<Routed>, NoSuchExchange> {
        let same = self
            .vhost
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, vhost));
        if !same {
            self.forget();
            self.vhost = Some(vhost.clone());
        }
        let single = if let [key] = keys { Some(*key) } else { None };
        if let Some(key) = single
            && let Some(routed) = self.routes.get(exchange).and_then(|keys| keys.get(key))
        {
            return Ok(routed.clone());
        }
        let mut walk = Walk::new(vhost, keys, headers);
        walk.start(exchange)?;
        let by_headers = walk.headers.is_some();
        let routed = Arc::new(walk.routed);
        if let Some(key) = single
            && !by_headers
        {
            self.remember(exchange, key, routed.clone());
        }
        Ok(routed)
    }

    fn remember(&mut self, exchange: &str, key: &str, routed: Arc<Routed>) {
        if self.len >= CACHE_ENTRIES_MAX {
            self.forget();
        }
        let keys = self.routes.entry(exchange.into()).or_default();
        keys.insert(key.into(), routed);
        self.len += 1;
    }

    fn forget(&mut self) {
        self.routes.clear();
        self.len = 0;
    }
}

/// One look-up under way.
struct Walk<'a> {
    vhost: &'a Vhost,
    keys: &'a [&'a str],
    /// Makes the headers; `headers` keeps them once made.
    make_headers: &'a dyn Fn() -> Table,
    headers: Option<Table>,
    visited: BTreeSet<&'a str>,
    reached: BTreeSet<u64>,
    routed: Routed,
}

impl<'a> Walk<'a> {
    fn new(vhost: &'a Vhost, keys: &'a [&'a str], make_headers: &'a dyn Fn() -> Table) -> Self {
        Self {
            vhost,
            keys,
            make_headers,
            headers: None,
            visited: BTreeSet::new(),
            reached: BTreeSet::new(),
            routed: Routed::default(),
        }
    }

    fn start(&mut self, exchange: &str) -> Result<(), NoSuchExchange> {
        if exchange.is_empty() {
            for key in self.keys {
                self.reach(key);
            }
            return Ok(());
        }
        let found = self.vhost.exchanges.get(exchange);
        let found = found.ok_or_else(|| NoSuchExchange(exchange.to_owned()))?;
        self.run(found);
        Ok(())
    }

    /// Works off a list instead of recursing: chains of exchanges are as long as clients make them.
    fn run(&mut self, first: &'a Exchange) {
        let mut waiting = vec![first];
        while let Some(exchange) = waiting.pop() {
            if !self.visited.insert(&exchange.name) {
                continue;
            }
            let destinations = self.destinations(exchange);
            if destinations.is_empty() {
                waiting.extend(self.alternate(exchange));
            }
            // Reversed, so that the first binding is popped first.
            for destination in destinations.into_iter().rev() {
                match destination {
                    Destination::Queue(_) => {}
                    Destination::Exchange(name) => {
                        let next = self.vhost.exchanges.get(name);
                        waiting.extend(next.map(AsRef::as_ref));
                    }
                }
            }
        }
    }

    /// Destinations of the bindings that match; queues are reached on the way.
    fn destinations(&mut self, exchange: &'a Exchange) -> Vec<&'a Destination> {
        let Some(bindings) = self.vhost.bindings.get(&exchange.name) else {
            return Vec::new();
        };
        if exchange.kind == ExchangeKind::Headers && self.headers.is_none() {
            self.headers = Some((self.make_headers)());
        }
        let matching = bindings
            .iter()
            .filter(|binding| self.matches(exchange, binding));
        let destinations: Vec<&Destination> = matching.map(|b| &b.destination).collect();
        for destination in &destinations {
            if let Destination::Queue(name) = destination {
                self.reach(name);
            }
        }
        destinations
    }

    fn matches(&self, exchange: &Exchange, binding: &Binding) -> bool {
        let mut keys = self.keys.iter();
        match exchange.kind {
            ExchangeKind::Direct => keys.any(|key| direct::matches(&binding.routing_key, key)),
            ExchangeKind::Fanout => fanout::matches(),
            ExchangeKind::Topic => keys.any(|key| topic::matches(&binding.routing_key, key)),
            ExchangeKind::Headers => {
                let headers = self.headers.as_ref();
                headers.is_some_and(|headers| headers::matches(&binding.arguments, headers))
            }
        }
    }

    fn alternate(&self, exchange: &Exchange) -> Option<&'a Exchange> {
        let Some(Value::String(name)) = exchange.arguments.get(ALTERNATE_EXCHANGE) else {
            return None;
        };
        let found = self.vhost.exchanges.get(name.as_str());
        found.map(AsRef::as_ref)
    }

    fn reach(&mut self, queue: &str) {
        if let Some(queue) = self.vhost.queues.get(queue)
            && self.reached.insert(queue.id)
        {
            self.routed.queues.push(queue.clone());
        }
    }
}
