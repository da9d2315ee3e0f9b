//! The Kubernetes objects of a cluster, one file per kind. Pure: validated cluster in, object out.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kube::Resource;

use super::validated::Cluster;
use crate::{CLUSTER_LABEL, MANAGER};

pub(super) mod config_map;
mod fingerprint;
pub(super) mod pdb;
pub(super) mod service;
pub(super) mod service_account;
pub(super) mod statefulset;

#[cfg(test)]
mod tests;

/// On a pod: hash of the template that it was made from, which names its configuration.
pub(super) const TARGET: &str = "millrace.dev/target";
/// On the StatefulSet and on the volumes' claims: the cluster's id, fixed when it is made.
pub(super) const CLUSTER_ID: &str = "millrace.dev/cluster-id";
/// On the same: voters of the metadata group, fixed when the cluster is made.
pub(super) const VOTERS: &str = "millrace.dev/voters";
/// On a pod: the rack, set by the operator once the pod has a node; empty if the node has none.
pub(super) const RACK: &str = "millrace.dev/rack";
/// On a pod: `true` once [`RACK`] is final.
pub(super) const PLACED: &str = "millrace.dev/placed";

/// Labels that select a cluster's pods; never change.
pub(super) fn selector(cluster: &Cluster) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "millrace"),
        ("app.kubernetes.io/component", "broker"),
        ("app.kubernetes.io/instance", cluster.name.as_str()),
        (CLUSTER_LABEL, cluster.name.as_str()),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

/// Labels of the pods and of every object.
fn labels(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut labels = selector(cluster);
    labels.insert(
        "app.kubernetes.io/part-of".to_owned(),
        "millrace".to_owned(),
    );
    labels
}

/// What a later cluster over the same volumes has to know.
fn made(cluster: &Cluster) -> BTreeMap<String, String> {
    [
        (CLUSTER_ID, cluster.cluster_id.clone()),
        (VOTERS, cluster.voters.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn label_selector(cluster: &Cluster) -> LabelSelector {
    LabelSelector {
        match_labels: Some(selector(cluster)),
        ..LabelSelector::default()
    }
}

/// Named, labelled and owned by the BrokerCluster, so that it goes with it.
fn metadata(cluster: &Cluster, name: String) -> ObjectMeta {
    let mut labels = labels(cluster);
    labels.insert(
        "app.kubernetes.io/managed-by".to_owned(),
        MANAGER.to_owned(),
    );
    ObjectMeta {
        name: Some(name),
        namespace: Some(cluster.namespace.clone()),
        labels: Some(labels),
        owner_references: Some(vec![OwnerReference {
            api_version: crds::broker_cluster::BrokerCluster::api_version(&()).into_owned(),
            kind: crds::broker_cluster::BrokerCluster::kind(&()).into_owned(),
            name: cluster.name.clone(),
            uid: cluster.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]),
        ..ObjectMeta::default()
    }
}
