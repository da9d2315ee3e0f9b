//! Puts the built objects into Kubernetes by server-side apply, and takes away what they replaced.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::build::{config_map, pdb, service, service_account, statefulset};
use super::validated::Cluster;
use crate::error::{Doing, Error};
use crate::{CLUSTER_LABEL, MANAGER};

/// What was applied.
pub(super) struct Applied {
    /// What every pod should run.
    pub(super) target: String,
    /// Kubernetes makes pods from the template of now, and from no earlier one.
    pub(super) in_use: bool,
}

pub(super) async fn apply(client: &Client, cluster: &Cluster) -> Result<Applied, Error> {
    let set = statefulset::build(cluster)?;
    let target = statefulset::target_of(&set).unwrap_or_default().to_owned();
    one(
        client,
        &service_account::build(cluster),
        "apply the ServiceAccount",
    )
    .await?;
    one(client, &config_map::build(cluster), "apply the ConfigMap").await?;
    one(
        client,
        &service::brokers(cluster),
        "apply the Service of the brokers",
    )
    .await?;
    one(
        client,
        &service::clients(cluster),
        "apply the Service for clients",
    )
    .await?;
    one(
        client,
        &pdb::build(cluster),
        "apply the PodDisruptionBudget",
    )
    .await?;
    let set = one(client, &set, "apply the StatefulSet").await?;
    let in_use = statefulset::is_in_use(&set);
    Ok(Applied { target, in_use })
}

/// Deletes configurations that no pod runs with any more. `pods` are those of now: a pod that is made
/// later is made from the template applied before, once that is [in use](Applied::in_use).
pub(super) async fn prune(client: &Client, cluster: &Cluster, pods: &[Pod]) -> Result<(), Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &cluster.namespace);
    let params = ListParams::default().labels(&format!("{CLUSTER_LABEL}={}", cluster.name));
    let there = api.list(&params).await.doing("list the ConfigMaps")?;
    for map in config_map::unused(cluster, &there.items, pods) {
        match api.delete(&map.name_any(), &DeleteParams::default()).await {
            Err(kube::Error::Api(e)) if e.code == 404 => {}
            answer => answer.doing("delete a ConfigMap").map(drop)?,
        }
    }
    Ok(())
}

/// The object as it is there now.
async fn one<K>(client: &Client, object: &K, doing: &'static str) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let namespace = object.namespace().ok_or(Error::Incomplete("namespace"))?;
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let params = PatchParams::apply(MANAGER).force();
    api.patch(&object.name_any(), &params, &Patch::Apply(object))
        .await
        .doing(doing)
}
