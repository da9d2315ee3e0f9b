//! The finalizer: there exactly while deleting the resource has something to delete in the brokers.

use kube::api::{Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::error::{Doing, Error};
use crate::status::{Kind, namespaced};

pub(crate) const FINALIZER: &str = "millrace.dev/cleanup";
/// On a resource that is to go although the brokers cannot be asked: `true` gives up on them.
pub(crate) const FORCE: &str = "millrace.dev/force-finalize";

pub(crate) fn is_set<K: Kind>(object: &K) -> bool {
    object.finalizers().iter().any(|f| f == FINALIZER)
}

/// Adds or removes it. The resource version goes along, so that an edit in between is not undone.
pub(crate) async fn set<K: Kind>(client: &Client, object: &K, wanted: bool) -> Result<(), Error> {
    if is_set(object) == wanted {
        return Ok(());
    }
    let mut finalizers: Vec<&str> = object
        .finalizers()
        .iter()
        .map(String::as_str)
        .filter(|f| *f != FINALIZER)
        .collect();
    if wanted {
        finalizers.push(FINALIZER);
    }
    let patch = json!({ "metadata": {
        "resourceVersion": object.resource_version(),
        "finalizers": finalizers,
    }});
    let api = namespaced(client, object)?;
    match api
        .patch(
            &object.name_any(),
            &PatchParams::default(),
            &Patch::Merge(&patch),
        )
        .await
    {
        Err(kube::Error::Api(e)) if e.code == 404 => Ok(()),
        answer => answer.doing("set the finalizer").map(drop),
    }
}
