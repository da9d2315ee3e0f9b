//! `Topic` resources.

use api::admin;
use api::client::Admin;
use crds::deletion::Origin;
use crds::topic::{Health, Topic, TopicStatus};

use crate::declared::{Declaration, Declared, told_by_its_fields};
use crate::desk::Note;
use crate::error::{Doing, Error, found};
use crate::plan::topic::{Facts, Plan, plan};

impl Declared for Topic {
    told_by_its_fields!(|self| ("", self.broker_name()));

    async fn declare(&self, brokers: &Admin) -> Result<Declaration<TopicStatus>, Error> {
        let name = self.broker_name();
        let cluster = brokers.cluster().await.doing("describe the cluster")?;
        let observed = found(brokers.topic(name).await).doing("describe the topic")?;
        let facts = Facts {
            brokers: cluster.brokers.len(),
        };
        let before = self.status.clone().unwrap_or_default();
        let plan = match plan(
            &self.spec,
            observed.as_ref(),
            &facts,
            &before.managed_configs,
        ) {
            Ok(plan) => plan,
            Err(refusal) => {
                let status = observed
                    .map_or_else(|| before.clone(), |t| self.seen(&before, &t, before.origin));
                return Ok(Declaration::refused(status, &refusal));
            }
        };
        let (topic, origin, note) = match (plan, observed) {
            (Plan::Nothing, Some(topic)) => (topic, before.origin.or(Some(Origin::Adopted)), None),
            (Plan::Create(spec), _) => {
                let put = brokers
                    .put_topic(name, &spec)
                    .await
                    .doing("create the topic")?;
                let note = Note::made("topic", name, before.topic_id.is_some());
                (put.object, Some(Origin::Created), Some(note))
            }
            (
                Plan::Alter {
                    spec,
                    grows,
                    changes,
                },
                _,
            ) => {
                let put = brokers
                    .put_topic(name, &spec)
                    .await
                    .doing("alter the topic")?;
                let note = match grows {
                    Some((from, to)) => Note::warning(
                        "PartitionsAdded",
                        format!(
                            "grew topic {name} from {from} to {to} partitions: keys written from now on may go to other partitions than before"
                        ),
                    ),
                    None => Note::normal(
                        "Corrected",
                        format!("set configs of topic {name}: {}", changes.join(", ")),
                    ),
                };
                (
                    put.object,
                    before.origin.or(Some(Origin::Adopted)),
                    Some(note),
                )
            }
            (Plan::Nothing, None) => return Err(Error::Incomplete("topic")),
        };
        let message = format!(
            "{} partitions, {} replicas each",
            topic.partitions.len(),
            topic.replication_factor()
        );
        let declaration = Declaration::ready(self.seen(&before, &topic, origin), message);
        Ok(match note {
            Some(note) => declaration.note(note),
            None => declaration,
        })
    }

    async fn remove(&self, brokers: &Admin) -> Result<(), api::client::Error> {
        brokers.delete_topic(self.broker_name()).await
    }
}

trait Seen {
    fn seen(
        &self,
        before: &TopicStatus,
        topic: &admin::Topic,
        origin: Option<Origin>,
    ) -> TopicStatus;
}

impl Seen for Topic {
    fn seen(
        &self,
        before: &TopicStatus,
        topic: &admin::Topic,
        origin: Option<Origin>,
    ) -> TopicStatus {
        TopicStatus {
            name: Some(topic.name.clone()),
            topic_id: Some(topic.id.clone()),
            origin,
            partitions: i32::try_from(topic.partitions.len()).ok(),
            replication_factor: i32::try_from(topic.replication_factor()).ok(),
            health: Some(health(topic)),
            managed_configs: self.spec.configs().into_keys().collect(),
            observed_generation: before.observed_generation,
            conditions: before.conditions.clone(),
        }
    }
}

fn health(topic: &admin::Topic) -> Health {
    let count = |f: &dyn Fn(&admin::Partition) -> bool| {
        i32::try_from(topic.partitions.iter().filter(|p| f(p)).count()).unwrap_or(i32::MAX)
    };
    let min = usize::try_from(topic.min_insync_replicas).unwrap_or_default();
    Health {
        offline: count(&|p| p.leader.is_none()),
        under_min_in_sync: count(&|p| p.isr.len() < min),
        under_replicated: count(&|p| p.isr.len() < p.replicas.len()),
    }
}
