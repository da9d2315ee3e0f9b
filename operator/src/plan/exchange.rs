//! Exchanges and the bindings that leave them.
//!
//! New bindings come before old ones go, so that a message in between matches both rather than
//! none.

use api::admin;
use crds::exchange::{Binding, BindingPolicy, ExchangeSpec, ExchangeType};

use super::{Refusal, differences, json, unlike};

#[cfg(test)]
mod tests;

/// Steps in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub declare: Option<admin::ExchangeSpec>,
    pub bind: Vec<admin::Binding>,
    pub unbind: Vec<admin::Binding>,
    /// Names of the entries whose destination is not there yet.
    pub waiting: Vec<String>,
}

impl Plan {
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.declare.is_none() && self.bind.is_empty() && self.unbind.is_empty()
    }
}

/// `remembered` are the bindings that this resource made earlier: those that left the spec go.
/// `exists` says whether a queue or exchange is there to bind to.
///
/// # Errors
/// An exchange of that name with other properties: they are fixed when it is declared.
pub fn plan(
    spec: &ExchangeSpec,
    observed: Option<&admin::Exchange>,
    remembered: &[Binding],
    exists: &dyn Fn(&admin::Destination) -> bool,
) -> Result<Plan, Refusal> {
    let want = declaration(spec);
    let mut plan = Plan::default();
    match observed {
        None => plan.declare = Some(want),
        Some(have) => same(have, &want)?,
    }
    let bound: &[admin::Binding] = observed.map_or(&[], |e| &e.bindings);
    let mut wanted = Vec::new();
    for entry in &spec.bindings {
        let Some(binding) = binding(entry) else {
            continue;
        };
        if bound.contains(&binding) || plan.bind.contains(&binding) {
        } else if exists(&binding.destination) {
            plan.bind.push(binding.clone());
        } else {
            plan.waiting.push(entry.name.clone());
        }
        wanted.push(binding);
    }
    let ours: Vec<admin::Binding> = remembered.iter().filter_map(binding).collect();
    plan.unbind = bound
        .iter()
        .filter(|b| !wanted.contains(b))
        .filter(|b| spec.binding_policy == BindingPolicy::Exclusive || ours.contains(b))
        .cloned()
        .collect();
    Ok(plan)
}

/// What the exchange is declared with.
#[must_use]
pub fn declaration(spec: &ExchangeSpec) -> admin::ExchangeSpec {
    admin::ExchangeSpec {
        kind: match spec.type_ {
            ExchangeType::Direct => admin::ExchangeKind::Direct,
            ExchangeType::Fanout => admin::ExchangeKind::Fanout,
            ExchangeType::Topic => admin::ExchangeKind::Topic,
            ExchangeType::Headers => admin::ExchangeKind::Headers,
        },
        durable: spec.durable,
        auto_delete: false,
        internal: false,
        arguments: spec
            .alternate_exchange
            .iter()
            .map(|name| ("alternate-exchange".to_owned(), name.as_str().into()))
            .collect(),
    }
}

/// The binding as the brokers know it; `None` without a destination, which admission refuses.
#[must_use]
pub fn binding(entry: &Binding) -> Option<admin::Binding> {
    let destination = match (&entry.destination.queue, &entry.destination.exchange) {
        (Some(queue), _) => admin::Destination::Queue(queue.clone()),
        (None, Some(exchange)) => admin::Destination::Exchange(exchange.clone()),
        (None, None) => return None,
    };
    Some(admin::Binding {
        destination,
        routing_key: entry.routing_key.clone(),
        arguments: entry
            .arguments()
            .iter()
            .map(|(key, value)| (key.clone(), json(value)))
            .collect(),
    })
}

fn same(have: &admin::Exchange, want: &admin::ExchangeSpec) -> Result<(), Refusal> {
    let mut wrong = Vec::new();
    wrong.extend(unlike("type", have.kind, want.kind));
    wrong.extend(unlike("durable", have.durable, want.durable));
    if have.auto_delete {
        wrong.push("it is auto-delete".to_owned());
    }
    if have.internal {
        wrong.push("it is internal".to_owned());
    }
    wrong.extend(differences(&have.arguments, &want.arguments));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Refusal {
        field: "type",
        reason: "Conflict",
        message: format!(
            "an exchange of this name was declared otherwise ({}); these are fixed when an \
             exchange is declared: change the resource, or delete the exchange",
            wrong.join("; ")
        ),
    })
}
