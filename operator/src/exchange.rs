//! `Exchange` resources and their bindings.

use std::collections::BTreeSet;

use api::admin;
use api::client::Admin;
use crds::deletion::Origin;
use crds::exchange::{Binding, BindingState, BindingStatus, Exchange, ExchangeStatus};

use crate::declared::{Declaration, Declared, make_vhost, told_by_its_fields};
use crate::desk::Note;
use crate::error::{Doing, Error, found};
use crate::plan::exchange::{binding, plan};

impl Declared for Exchange {
    told_by_its_fields!(|self| (&self.spec.vhost, self.broker_name()));

    async fn declare(&self, brokers: &Admin) -> Result<Declaration<ExchangeStatus>, Error> {
        let (vhost, name) = (self.spec.vhost.as_str(), self.broker_name());
        let before = self.status.clone().unwrap_or_default();
        let observed = found(brokers.exchange(vhost, name).await).doing("describe the exchange")?;
        let there = destinations(&self.spec.bindings, vhost, brokers).await?;
        let remembered: Vec<Binding> = before.bindings.iter().map(|b| b.binding.clone()).collect();
        let exists = |d: &admin::Destination| there.contains(d);
        let plan = match plan(&self.spec, observed.as_ref(), &remembered, &exists) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Declaration::refused(before, &refusal)),
        };
        let mut notes = Vec::new();
        if let Some(spec) = &plan.declare {
            make_vhost(brokers, vhost).await?;
            brokers
                .put_exchange(vhost, name, spec)
                .await
                .doing("declare the exchange")?;
            notes.push(Note::made("exchange", name, before.name.is_some()));
        }
        for b in &plan.bind {
            brokers.bind(vhost, name, b).await.doing("bind")?;
        }
        for b in &plan.unbind {
            brokers.unbind(vhost, name, b).await.doing("unbind")?;
        }
        if !plan.bind.is_empty() || !plan.unbind.is_empty() {
            let message = format!(
                "{} bindings made, {} removed",
                plan.bind.len(),
                plan.unbind.len()
            );
            notes.push(Note::normal("Bound", message));
        }
        let created = plan.declare.is_some();
        let status = ExchangeStatus {
            name: Some(name.to_owned()),
            origin: if created {
                Some(Origin::Created)
            } else {
                before.origin.or(Some(Origin::Adopted))
            },
            bound: i32::try_from(self.spec.bindings.len() - plan.waiting.len()).ok(),
            bindings: self
                .spec
                .bindings
                .iter()
                .map(|b| state(b, &plan.waiting))
                .collect(),
            ..before
        };
        let mut declaration = if plan.waiting.is_empty() {
            let message = format!("{} bindings in place", self.spec.bindings.len());
            Declaration::ready(status, message)
        } else {
            waiting(status, &plan.waiting)
        };
        declaration.notes = notes;
        Ok(declaration)
    }

    async fn remove(&self, brokers: &Admin) -> Result<(), api::client::Error> {
        brokers
            .delete_exchange(&self.spec.vhost, self.broker_name(), false)
            .await
    }
}

fn state(entry: &Binding, waiting: &[String]) -> BindingStatus {
    BindingStatus {
        name: entry.name.clone(),
        state: if waiting.contains(&entry.name) {
            BindingState::DestinationAbsent
        } else {
            BindingState::Bound
        },
        binding: entry.clone(),
    }
}

/// Goes on by itself once the destinations are declared.
fn waiting(status: ExchangeStatus, names: &[String]) -> Declaration<ExchangeStatus> {
    Declaration {
        status,
        summary: crds::condition::Summary::Reconciling {
            reason: "DestinationAbsent",
            message: format!(
                "the destinations of these bindings are not there yet: {}",
                names.join(", ")
            ),
        },
        findings: Vec::new(),
        notes: Vec::new(),
        again: Some(std::time::Duration::from_secs(15)),
    }
}

/// Which of the destinations of `entries` are there.
async fn destinations(
    entries: &[Binding],
    vhost: &str,
    brokers: &Admin,
) -> Result<BTreeSet<admin::Destination>, Error> {
    let wanted: BTreeSet<admin::Destination> = entries
        .iter()
        .filter_map(binding)
        .map(|b| b.destination)
        .collect();
    let mut there = BTreeSet::new();
    for destination in wanted {
        let found = match &destination {
            admin::Destination::Queue(name) => found(brokers.queue(vhost, name).await)
                .doing("describe a queue")?
                .is_some(),
            admin::Destination::Exchange(name) => found(brokers.exchange(vhost, name).await)
                .doing("describe an exchange")?
                .is_some(),
        };
        if found {
            there.insert(destination);
        }
    }
    Ok(there)
}
