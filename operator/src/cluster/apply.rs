//! Puts the built objects into Kubernetes by server-side apply.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::build::{config_map, pdb, service, service_account, statefulset};
use super::validated::Cluster;
use crate::MANAGER;
use crate::error::{Doing, Error};

/// Applies all; returns the target that every pod should run.
pub(super) async fn apply(client: &Client, cluster: &Cluster) -> Result<String, Error> {
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
    one(client, &set, "apply the StatefulSet").await?;
    Ok(target)
}

async fn one<K>(client: &Client, object: &K, doing: &'static str) -> Result<(), Error>
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
        .map(drop)
}
