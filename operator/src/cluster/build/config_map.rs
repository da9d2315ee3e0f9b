//! The brokers' configuration file, in a ConfigMap that is named after its content and never changes.
//!
//! A pod mounts what its own template names: one that crashes while others are restarted with a new
//! configuration starts again with the one that it was made with. So several are there during a roll;
//! [`unused`] are those that no pod names any more.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;

use super::{Cluster, fingerprint, metadata};

pub(in crate::cluster) const FILE: &str = "broker.properties";

pub(in crate::cluster) fn name(cluster: &Cluster) -> String {
    let content = fingerprint::of(cluster.properties_text().as_bytes());
    format!("{}-config-{content}", cluster.name)
}

pub(in crate::cluster) fn build(cluster: &Cluster) -> ConfigMap {
    ConfigMap {
        metadata: metadata(cluster, name(cluster)),
        data: Some(BTreeMap::from([(
            FILE.to_owned(),
            cluster.properties_text(),
        )])),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// Of `there`, those of the cluster that neither its template nor a pod of it names.
pub(in crate::cluster) fn unused<'a>(
    cluster: &Cluster,
    there: &'a [ConfigMap],
    pods: &[Pod],
) -> Vec<&'a ConfigMap> {
    let current = name(cluster);
    let mut named: BTreeSet<&str> = pods.iter().flat_map(mounted).collect();
    named.insert(&current);
    let owned = |map: &ConfigMap| map.owner_references().iter().any(|o| o.uid == cluster.uid);
    there
        .iter()
        .filter(|map| owned(map) && !named.contains(map.name_any().as_str()))
        .collect()
}

fn mounted(pod: &Pod) -> impl Iterator<Item = &str> {
    pod.spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten())
        .filter_map(|volume| Some(volume.config_map.as_ref()?.name.as_str()))
}
