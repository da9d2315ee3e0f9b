//! What must hold over all resources together: a name stands for one thing, and there is one
//! cluster that everything belongs to.

use crds::broker_cluster::BrokerCluster;
use crds::consumer_group::ConsumerGroup;
use crds::exchange::Exchange;
use crds::queue::Queue;
use crds::topic::Topic;
use kube::ResourceExt;

use super::document::Document;
use super::{Located, Manifests, Place, Problem, Seen, brokers};

#[derive(Default)]
pub(super) struct Builder {
    manifests: Manifests,
    pub(super) problems: Vec<Problem>,
    pub(super) skipped: Vec<String>,
    resources: Seen,
    objects: Seen,
    /// The cluster each resource names, and where it does.
    references: Vec<(String, Problem)>,
}

impl Builder {
    pub(super) fn cluster(&mut self, located: Located<BrokerCluster>) {
        let Located {
            resource: cluster,
            document,
        } = &located;
        let name = cluster.name_any();
        if self.manifests.cluster.is_some() {
            let reason = "a second BrokerCluster; local mode runs one";
            let problem = document.problem("metadata.name", reason);
            return self.problems.push(problem);
        }
        self.named("BrokerCluster", &name, document);
        let verdict = brokers::judge_cluster(&located);
        self.problems.extend(verdict.refused);
        self.manifests.doubtful = verdict.unread;
        self.manifests.cluster = Some(located);
    }

    pub(super) fn topic(&mut self, located: Located<Topic>) {
        let Located {
            resource: topic,
            document,
        } = &located;
        self.named("Topic", &topic.name_any(), document);
        self.object(format!("topic '{}'", topic.broker_name()), document);
        self.reference(&topic.spec.cluster_ref.name, document);
        self.problems.extend(brokers::judge_topic(&located));
        self.manifests.topics.push(located);
    }

    pub(super) fn queue(&mut self, located: Located<Queue>) {
        let Located {
            resource: queue,
            document,
        } = &located;
        let object = broker_object("queue", queue.broker_name(), &queue.spec.vhost);
        self.named("Queue", &queue.name_any(), document);
        self.object(object, document);
        self.reference(&queue.spec.cluster_ref.name, document);
        self.manifests.queues.push(located);
    }

    pub(super) fn exchange(&mut self, located: Located<Exchange>) {
        let Located {
            resource: exchange,
            document,
        } = &located;
        let object = broker_object("exchange", exchange.broker_name(), &exchange.spec.vhost);
        self.named("Exchange", &exchange.name_any(), document);
        self.object(object, document);
        self.reference(&exchange.spec.cluster_ref.name, document);
        self.manifests.exchanges.push(located);
    }

    pub(super) fn group(&mut self, located: Located<ConsumerGroup>) {
        let Located {
            resource: group,
            document,
        } = &located;
        self.named("ConsumerGroup", &group.name_any(), document);
        self.reference(&group.spec.cluster_ref.name, document);
        self.manifests.groups.push(located);
    }

    pub(super) fn finish(mut self) -> Result<Manifests, Vec<Problem>> {
        self.check_references();
        self.doubt_destinations();
        if !self.problems.is_empty() {
            self.problems
                .sort_by(|a, b| (&a.place.file, a.place.line).cmp(&(&b.place.file, b.place.line)));
            return Err(self.problems);
        }
        self.manifests.skipped = self.skipped;
        Ok(self.manifests)
    }

    fn named(&mut self, kind: &str, name: &str, document: &Document) {
        let key = format!("{kind} '{name}'");
        let problem = once(&mut self.resources, key, document, "metadata.name");
        self.problems.extend(problem);
    }

    fn object(&mut self, object: String, document: &Document) {
        let field = match document.value.pointer("/spec/name") {
            Some(_) => "spec.name",
            None => "metadata.name",
        };
        let problem = once(&mut self.objects, object, document, field);
        self.problems.extend(problem);
    }

    fn reference(&mut self, cluster: &str, document: &Document) {
        let at = document.problem("spec.clusterRef.name", "");
        self.references.push((cluster.to_owned(), at));
    }

    /// Without a BrokerCluster any one name will do, but all must say the same.
    fn check_references(&mut self) {
        let declared = self
            .manifests
            .cluster
            .as_ref()
            .map(|c| c.resource.name_any());
        let wanted = match (&declared, self.references.first()) {
            (Some(name), _) => name.clone(),
            (None, Some((first, _))) => first.clone(),
            (None, None) => return,
        };
        for (name, at) in std::mem::take(&mut self.references) {
            if name == wanted {
                continue;
            }
            let reason = match &declared {
                Some(_) => format!("no BrokerCluster '{name}' here; there is '{wanted}'"),
                None => {
                    format!("'{name}' here and '{wanted}' elsewhere; local mode runs one cluster")
                }
            };
            self.problems.push(Problem { reason, ..at });
        }
    }
}

impl Builder {
    /// A binding waits for its destination, which a client may declare: what is not here is only doubtful.
    fn doubt_destinations(&mut self) {
        for Located {
            resource: exchange,
            document,
        } in &self.manifests.exchanges
        {
            for (index, binding) in exchange.spec.bindings.iter().enumerate() {
                let to = &binding.destination;
                let (kind, name) = match (&to.queue, &to.exchange) {
                    (Some(queue), _) => ("queue", queue),
                    (None, Some(exchange)) if !exchange.starts_with("amq.") => {
                        ("exchange", exchange)
                    }
                    _ => continue,
                };
                let object = broker_object(kind, name, &exchange.spec.vhost);
                if self.objects.contains_key(&object) {
                    continue;
                }
                let field = format!("spec.bindings[{index}].destination.{kind}");
                let reason =
                    format!("no {object} here: the binding waits until a client declares it");
                self.manifests
                    .doubtful
                    .push(document.problem(&field, reason));
            }
        }
    }
}

/// As people read it.
fn broker_object(kind: &str, name: &str, vhost: &str) -> String {
    format!("{kind} '{name}' of vhost '{vhost}'")
}

/// Notes `key`; the problem if it was there before.
fn once(seen: &mut Seen, key: String, document: &Document, field: &str) -> Option<Problem> {
    let place = document.place(field);
    if let Some(Place { file, line }) = seen.get(&key) {
        let reason = format!("{key} is defined before, at {}:{line}", file.display());
        return Some(document.problem(field, reason));
    }
    seen.insert(key, place);
    None
}
