//! `Queue` resources.

use api::client::Admin;
use crds::deletion::Origin;
use crds::queue::{Queue, QueueStatus};

use crate::declared::{Declaration, Declared, make_vhost, told_by_its_fields};
use crate::desk::Note;
use crate::error::{Doing, Error, found};
use crate::plan::queue::{Plan, plan};

impl Declared for Queue {
    told_by_its_fields!(|self| (&self.spec.vhost, self.broker_name()));

    async fn declare(&self, brokers: &Admin) -> Result<Declaration<QueueStatus>, Error> {
        let (vhost, name) = (self.spec.vhost.as_str(), self.broker_name());
        let observed = found(brokers.queue(vhost, name).await).doing("describe the queue")?;
        let before = self.status.clone().unwrap_or_default();
        let plan = match plan(&self.spec, observed.as_ref()) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Declaration::refused(before, &refusal)),
        };
        let (queue, origin, note) = match (plan, observed) {
            (Plan::Nothing, Some(queue)) => (queue, before.origin.or(Some(Origin::Adopted)), None),
            (Plan::Create(spec), _) => {
                make_vhost(brokers, vhost).await?;
                let put = brokers
                    .put_queue(vhost, name, &spec)
                    .await
                    .doing("declare the queue")?;
                let note = Note::made("queue", name, before.name.is_some());
                (put.object, Some(Origin::Created), Some(note))
            }
            (Plan::Nothing, None) => return Err(Error::Incomplete("queue")),
        };
        let signed = |n: Option<u64>| n.and_then(|n| i64::try_from(n).ok());
        let status = QueueStatus {
            name: Some(queue.name),
            origin,
            ready: signed(queue.ready),
            unacked: signed(queue.unacked),
            consumers: queue.consumers.map(i64::from),
            ..before
        };
        let message = format!("{:?} queue in virtual host {vhost}", self.spec.type_);
        let mut declaration = Declaration::ready(status, message);
        // Depths change without the metadata changing.
        declaration.again = Some(std::time::Duration::from_secs(60));
        Ok(match note {
            Some(note) => declaration.note(note),
            None => declaration,
        })
    }

    async fn remove(&self, brokers: &Admin) -> Result<(), api::client::Error> {
        brokers
            .delete_queue(&self.spec.vhost, self.broker_name(), false, false)
            .await
    }
}
