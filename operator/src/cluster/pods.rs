//! The brokers' pods: which are there, in what state, and in which rack.

use api::admin;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};

use super::build::{PLACED, RACK, TARGET, statefulset};
use super::trouble;
use super::validated::Cluster;
use crate::CLUSTER_LABEL;
use crate::directory::is_ready;
use crate::error::{Doing, Error};
use crate::roller;

/// The pods as the API server has them now: what is deleted by them must not come from a cache.
pub(super) async fn list(client: &Client, cluster: &Cluster) -> Result<Vec<Pod>, Error> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &cluster.namespace);
    let params = ListParams::default().labels(&format!("{CLUSTER_LABEL}={}", cluster.name));
    Ok(api
        .list(&params)
        .await
        .doing("list the brokers' pods")?
        .items)
}

/// As the roller sees it. A pod that is no broker's (its name has no ordinal) is left out.
pub(super) fn for_roller(pod: &Pod, cluster: &Cluster) -> Option<roller::Pod> {
    let trouble = trouble::of(pod, cluster.users_secret());
    Some(roller::Pod {
        name: pod.name_any(),
        uid: pod.uid()?,
        resource_version: pod.resource_version()?,
        broker: ordinal(pod)?,
        target: pod.annotations().get(TARGET).cloned().unwrap_or_default(),
        ready: is_ready(pod),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        started: has_started(pod),
        broken: trouble.as_ref().is_some_and(|t| t.broken),
        trouble: trouble.map(|t| t.words),
    })
}

pub(super) fn ordinal(pod: &Pod) -> Option<i32> {
    ordinal_of(&pod.name_any())
}

/// Of a pod's name, or of its claim's.
pub(super) fn ordinal_of(name: &str) -> Option<i32> {
    name.rsplit_once('-')?.1.parse().ok()
}

pub(super) fn rack(pod: &Pod) -> Option<String> {
    pod.annotations()
        .get(RACK)
        .filter(|r| !r.is_empty())
        .cloned()
}

/// Whether the broker's container has run; it comes after all that a pod waits for.
fn has_started(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let mut containers = status
        .iter()
        .flat_map(|s| s.container_statuses.iter().flatten());
    containers.any(|c| {
        let state = c.state.as_ref();
        let runs = state.is_some_and(|s| s.running.is_some() || s.terminated.is_some());
        runs || c.restart_count > 0
    })
}

/// Writes their node's rack on pods that have a node and no rack yet; see
/// [`statefulset`] for why.
pub(super) async fn place(client: &Client, cluster: &Cluster, pods: &[Pod]) -> Result<(), Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let api: Api<Pod> = Api::namespaced(client.clone(), &cluster.namespace);
    for pod in pods {
        let node = pod.spec.as_ref().and_then(|s| s.node_name.as_deref());
        let (Some(node), false) = (node, pod.annotations().contains_key(PLACED)) else {
            continue;
        };
        let rack = nodes
            .get_opt(node)
            .await
            .doing("read the broker's node")?
            .and_then(|n| n.labels().get(&cluster.zone_label).cloned())
            .unwrap_or_default();
        let patch = Patch::Merge(statefulset::placement(&rack));
        match api
            .patch(&pod.name_any(), &PatchParams::default(), &patch)
            .await
        {
            Err(kube::Error::Api(e)) if e.code == 404 => {}
            answer => answer.doing("write the rack on a pod").map(drop)?,
        }
    }
    Ok(())
}

/// Deletes the very pod that was looked at: another uid or version is refused by the API server.
/// Returns whether it was.
pub(super) async fn delete(
    client: &Client,
    cluster: &Cluster,
    pod: &str,
    uid: String,
    resource_version: String,
) -> Result<bool, Error> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &cluster.namespace);
    let params = DeleteParams::background().preconditions(Preconditions {
        uid: Some(uid),
        resource_version: Some(resource_version),
    });
    match api.delete(pod, &params).await {
        Err(kube::Error::Api(e)) if e.code == 404 || e.code == 409 => Ok(false),
        answer => answer.doing("delete the pod").map(|_| true),
    }
}

/// Brokers that lead and follow as they should.
pub(super) fn unfenced(cluster: &admin::Cluster) -> Vec<i32> {
    cluster
        .brokers
        .iter()
        .filter(|b| !b.fenced)
        .map(|b| b.id)
        .collect()
}
