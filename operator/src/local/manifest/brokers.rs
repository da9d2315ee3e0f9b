//! What brokers, or the operator before them, would refuse of a manifest that an API server takes: config
//! keys and values by the catalogue, a name that pods cannot carry, topics larger than the cluster.

use std::collections::BTreeMap;

use api::config::{Scope, catalogue};
use crds::argument::Argument;
use crds::broker_cluster::{BrokerCluster, Defaults};
use crds::topic::Topic;
use kube::ResourceExt;

use super::{Error, Located, Manifests, Problem, refuse};

/// Judged by itself.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) refused: Vec<Problem>,
    /// Keys that are taken and that nothing reads.
    pub(super) unread: Vec<Problem>,
}

pub(super) fn judge_cluster(cluster: &Located<BrokerCluster>) -> Verdict {
    let Located { resource, document } = cluster;
    let mut verdict = Verdict::default();
    if let Err(refusal) = crate::cluster::check_name(&resource.name_any()) {
        let problem = document.problem("metadata.name", refusal.message);
        verdict.refused.push(problem);
    }
    for (key, value) in &resource.spec.config {
        let field = format!("spec.config.{key}");
        match catalogue(Scope::Broker).check_given(key, &value.to_string()) {
            Ok(None) => {}
            Ok(Some(unknown)) => {
                let reason = match unknown.nearest {
                    Some(nearest) => format!("no broker reads this; write {nearest} or remove it"),
                    None => "no broker reads this".to_owned(),
                };
                verdict.unread.push(document.problem(&field, reason));
            }
            Err(refused) => {
                let problem = document.problem(&field, refused.to_string());
                verdict.refused.push(problem);
            }
        }
    }
    verdict
}

pub(super) fn judge_topic(topic: &Located<Topic>) -> Vec<Problem> {
    let Located { resource, document } = topic;
    let check = |(key, value): (&String, &Argument)| {
        let refused = catalogue(Scope::Topic)
            .check(key, &value.to_string())
            .err()?;
        Some(document.problem(&format!("spec.config.{key}"), refused.to_string()))
    };
    let config: &BTreeMap<String, Argument> = &resource.spec.config;
    config.iter().filter_map(check).collect()
}

impl Manifests {
    /// Brokers that the BrokerCluster asks for; `None` without one.
    #[must_use]
    pub fn brokers(&self) -> Option<u16> {
        let cluster = &self.cluster.as_ref()?.resource;
        u16::try_from(cluster.spec.replicas).ok()
    }

    /// Whether all of it can be on so many brokers, known before any of them runs.
    ///
    /// # Errors
    /// Everything that cannot.
    pub fn fit(&self, brokers: u16) -> Result<(), Error> {
        refuse(self.too_large_for(brokers))
    }

    fn too_large_for(&self, brokers: u16) -> Vec<Problem> {
        let brokers = i32::from(brokers);
        let mut problems = Vec::new();
        let needs = |factor: i32| {
            format!("{factor} replicas need {factor} brokers; this cluster has {brokers}")
        };
        let defaults = self.cluster.as_ref().and_then(|cluster| {
            let defaults = cluster.resource.spec.defaults.as_ref()?;
            if let Some(factor) = defaults.replication_factor.filter(|f| *f > brokers) {
                let field = "spec.defaults.replicationFactor";
                problems.push(cluster.document.problem(field, needs(factor)));
            }
            Some(defaults.clone())
        });
        let factor = replication_factor(defaults.as_ref(), brokers);
        for Located { resource, document } in &self.topics {
            let spec = &resource.spec;
            if let Some(factor) = spec.replication_factor.filter(|f| *f > brokers) {
                problems.push(document.problem("spec.replicationFactor", needs(factor)));
            }
            // With a factor of its own the topic is judged by itself.
            if let (None, Some(min)) = (spec.replication_factor, spec.min_in_sync)
                && min > factor
            {
                let reason = format!(
                    "{min} in-sync replicas are asked for, topics of this cluster have {factor}: \
                     every write with acks=all would fail; state replicationFactor"
                );
                problems.push(document.problem("spec.minInSync", reason));
            }
        }
        problems
    }
}

/// Of a topic that does not say.
fn replication_factor(defaults: Option<&Defaults>, brokers: i32) -> i32 {
    defaults
        .and_then(|d| d.replication_factor)
        .unwrap_or_else(|| brokers.min(3))
}
