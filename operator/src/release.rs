//! Lets go of everything, for uninstalling: without an operator nobody would ever remove a finalizer,
//! and deleting a resource would hang.

use crds::consumer_group::ConsumerGroup;
use crds::exchange::Exchange;
use crds::queue::Queue;
use crds::topic::Topic;
use kube::api::ListParams;
use kube::{Api, Client};

use crate::error::{Doing, Error};
use crate::finalizer;
use crate::status::Kind;

/// Removes the finalizer from every resource of `namespace`, or of all. What they stand for in the
/// brokers stays.
pub(crate) async fn all(client: &Client, namespace: Option<&str>) -> Result<(), Error> {
    kind::<Topic>(client, namespace).await?;
    kind::<Queue>(client, namespace).await?;
    kind::<Exchange>(client, namespace).await?;
    kind::<ConsumerGroup>(client, namespace).await
}

async fn kind<K: Kind>(client: &Client, namespace: Option<&str>) -> Result<(), Error> {
    let api: Api<K> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let objects = match api.list(&ListParams::default()).await {
        // The definition is gone already.
        Err(kube::Error::Api(e)) if e.code == 404 => return Ok(()),
        answer => answer.doing("list the resources")?,
    };
    for object in objects {
        finalizer::set(client, &object, false).await?;
    }
    Ok(())
}
