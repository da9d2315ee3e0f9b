//! Statuses: written by server-side apply, and only when they differ.

use std::fmt::Debug;

use crds::broker_cluster::{BrokerCluster, BrokerClusterStatus};
use crds::condition::{self, Finding};
use crds::consumer_group::{ConsumerGroup, ConsumerGroupStatus};
use crds::exchange::{Exchange, ExchangeStatus};
use crds::queue::{Queue, QueueStatus};
use crds::topic::{Topic, TopicStatus};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::MANAGER;
use crate::error::{Doing, Error};

/// A kind of ours: namespaced, with a status that has conditions.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
    + 'static
{
    type Status: Clone + Debug + Default + PartialEq + Serialize + Send + Sync;

    fn status(&self) -> Option<&Self::Status>;
    fn conditions(status: &Self::Status) -> &[Condition];
    fn observe(status: &mut Self::Status, generation: i64, conditions: Vec<Condition>);
}

macro_rules! kind {
    ($kind:ty, $status:ty) => {
        impl Kind for $kind {
            type Status = $status;

            fn status(&self) -> Option<&$status> {
                self.status.as_ref()
            }

            fn conditions(status: &$status) -> &[Condition] {
                &status.conditions
            }

            fn observe(status: &mut $status, generation: i64, conditions: Vec<Condition>) {
                status.observed_generation = Some(generation);
                status.conditions = conditions;
            }
        }
    };
}

kind!(BrokerCluster, BrokerClusterStatus);
kind!(Topic, TopicStatus);
kind!(Queue, QueueStatus);
kind!(Exchange, ExchangeStatus);
kind!(ConsumerGroup, ConsumerGroupStatus);

/// Conditions whose status or reason differs from before: what is worth an event.
pub(crate) type Changed = Vec<Finding>;

/// Writes `status` with `findings` merged into the object's conditions, if that changes anything.
pub(crate) async fn write<K: Kind>(
    client: &Client,
    object: &K,
    mut status: K::Status,
    findings: &[Finding],
) -> Result<Changed, Error> {
    let old = object.status().map_or(&[][..], K::conditions);
    let generation = object.meta().generation.unwrap_or_default();
    let conditions = condition::merge(old, findings, generation, &Time(Timestamp::now()));
    let changed = findings
        .iter()
        .filter(|f| {
            let new = conditions.iter().find(|c| c.type_ == f.kind);
            let was = old.iter().find(|c| c.type_ == f.kind);
            new.map(|c| (&c.status, &c.reason)) != was.map(|c| (&c.status, &c.reason))
        })
        .cloned()
        .collect();
    K::observe(&mut status, generation, conditions);
    if object.status() == Some(&status) {
        return Ok(Vec::new());
    }
    let api: Api<K> = namespaced(client, object)?;
    let patch = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "name": object.name_any() },
        "status": status,
    });
    let params = PatchParams::apply(MANAGER).force();
    match api
        .patch_status(&object.name_any(), &params, &Patch::Apply(&patch))
        .await
    {
        // Gone meanwhile: nobody is left to read it.
        Err(kube::Error::Api(e)) if e.code == 404 => Ok(Vec::new()),
        answer => answer.doing("write the status").map(|_| changed),
    }
}

pub(crate) fn namespaced<K: Kind>(client: &Client, object: &K) -> Result<Api<K>, Error> {
    let namespace = object.namespace().ok_or(Error::Incomplete("namespace"))?;
    Ok(Api::namespaced(client.clone(), &namespace))
}
