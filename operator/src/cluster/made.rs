//! What a cluster was made with and keeps for life: its id and its voters. They stand on the
//! StatefulSet and, for a cluster that was deleted while its volumes stayed, on the claims of those:
//! data is served only under the id that it was written under.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};

use super::build::{CLUSTER_ID, VOTERS};
use super::pods;
use crate::CLUSTER_LABEL;
use crate::error::{Doing, Error};

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) cluster_id: String,
    /// Brokers 0..voters carry the metadata group.
    pub(super) voters: i32,
    /// Brokers that volumes are known of: fewer would leave data behind.
    pub(super) brokers: i32,
}

/// `None` for a cluster that is new.
pub(super) async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<Made>, Error> {
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
    let set = sets.get_opt(name).await.doing("read the StatefulSet")?;
    if let Some(made) = set.as_ref().and_then(|set| written_on(set, 0)) {
        return Ok(Some(made));
    }
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let params = ListParams::default().labels(&format!("{CLUSTER_LABEL}={name}"));
    let claims = claims
        .list(&params)
        .await
        .doing("list the volumes' claims")?;
    Ok(from_claims(&claims.items))
}

/// One of those that are deleted with their cluster is not of the next one.
fn from_claims(claims: &[PersistentVolumeClaim]) -> Option<Made> {
    let staying = || {
        claims
            .iter()
            .filter(|c| c.metadata.deletion_timestamp.is_none())
    };
    let brokers = staying()
        .filter_map(|c| pods::ordinal_of(&c.name_any()))
        .max()?
        + 1;
    staying().find_map(|claim| written_on(claim, brokers))
}

fn written_on<K: Resource>(object: &K, brokers: i32) -> Option<Made> {
    let annotations = object.annotations();
    Some(Made {
        cluster_id: annotations.get(CLUSTER_ID)?.clone(),
        voters: annotations.get(VOTERS)?.parse().ok()?,
        brokers,
    })
}
