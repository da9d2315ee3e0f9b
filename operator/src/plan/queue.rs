//! Queues: declare, or say why the one that is there is another.

use api::admin;
use crds::queue::{QueueSpec, QueueType};

use super::{Refusal, differences, json, unlike};

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    Nothing,
    Create(admin::QueueSpec),
}

/// # Errors
/// A queue of that name with other properties: they are fixed when a queue is declared, and
/// deleting it would lose its messages.
pub fn plan(spec: &QueueSpec, observed: Option<&admin::Queue>) -> Result<Plan, Refusal> {
    let want = declaration(spec);
    let Some(have) = observed else {
        return Ok(Plan::Create(want));
    };
    let mut wrong = Vec::new();
    wrong.extend(unlike("type", have.kind, want.kind));
    wrong.extend(unlike("durable", have.durable, want.durable));
    if have.exclusive {
        wrong.push("it is exclusive to a connection".to_owned());
    }
    wrong.extend(differences(&have.arguments, &want.arguments));
    if wrong.is_empty() {
        return Ok(Plan::Nothing);
    }
    Err(Refusal {
        field: "arguments",
        reason: "Conflict",
        message: format!(
            "a queue of this name was declared otherwise ({}); these are fixed when a queue is \
             declared: change the resource, or delete the queue once its messages are done",
            wrong.join("; ")
        ),
    })
}

/// What the queue is declared with.
#[must_use]
pub fn declaration(spec: &QueueSpec) -> admin::QueueSpec {
    admin::QueueSpec {
        kind: match spec.type_ {
            QueueType::Quorum => admin::QueueKind::Quorum,
            QueueType::Classic => admin::QueueKind::Classic,
        },
        durable: spec.durable,
        auto_delete: false,
        arguments: spec
            .declared_arguments()
            .into_iter()
            .filter(|(key, _)| key != "x-queue-type")
            .map(|(key, value)| (key, json(&value)))
            .collect(),
    }
}
