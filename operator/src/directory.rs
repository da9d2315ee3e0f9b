//! Where the brokers are: the clusters and their pods as the watch shows them, an admin client per
//! cluster, and word of changes in the brokers' metadata.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::client::Admin;
use crds::broker_cluster::{ADMIN_PORT, BrokerCluster};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::watch;

use crate::CLUSTER_LABEL;
use crate::error::Error;

/// One look at the change stream waits this long for a change.
const POLL: Duration = Duration::from_secs(50);
/// Changes closer together than this are told as one; also the wait after a failed poll.
const GATHER: Duration = Duration::from_secs(2);

/// Namespace and name of a cluster.
pub(crate) type Name = (String, String);

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Directory {
    clusters: Store<BrokerCluster>,
    pods: Store<Pod>,
    clients: Arc<Mutex<HashMap<Name, Client>>>,
    changed: watch::Sender<u64>,
}

struct Client {
    addresses: Vec<String>,
    admin: Admin,
}

impl Directory {
    pub(crate) fn new(clusters: Store<BrokerCluster>, pods: Store<Pod>) -> Self {
        Self {
            clusters,
            pods,
            clients: Arc::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn cluster(&self, namespace: &str, name: &str) -> Option<Arc<BrokerCluster>> {
        self.clusters.get(&ObjectRef::new(name).within(namespace))
    }

    /// A client of the brokers that run now.
    pub(crate) fn admin(&self, namespace: &str, cluster: &str) -> Result<Admin, Error> {
        let mut addresses: Vec<(bool, String)> = self
            .pods
            .state()
            .iter()
            .filter(|p| p.namespace().as_deref() == Some(namespace))
            .filter(|p| p.labels().get(CLUSTER_LABEL).map(String::as_str) == Some(cluster))
            .filter(|p| p.metadata.deletion_timestamp.is_none())
            .filter_map(|p| Some((!is_ready(p), admin_address(p)?)))
            .collect();
        // Those that are ready are asked first.
        addresses.sort();
        let addresses: Vec<String> = addresses.into_iter().map(|(_, a)| a).collect();
        let name = (namespace.to_owned(), cluster.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&name)
            && client.addresses == addresses
        {
            return Ok(client.admin.clone());
        }
        let admin = Admin::new(&addresses).map_err(|_| Error::NoBroker(cluster.to_owned()))?;
        clients.insert(
            name,
            Client {
                addresses,
                admin: admin.clone(),
            },
        );
        Ok(admin)
    }

    /// One item per gathered change in the metadata of any cluster.
    pub(crate) fn changes(&self) -> impl Stream<Item = ()> + Send + 'static {
        let receiver = self.changed.subscribe();
        futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.changed().await.ok()?;
            Some(((), receiver))
        })
    }

    /// Follows the change streams of all clusters for ever.
    pub(crate) async fn follow(self) {
        let mut followed: HashMap<Name, tokio::task::JoinHandle<()>> = HashMap::new();
        loop {
            followed.retain(|_, task| !task.is_finished());
            for cluster in self.clusters.state() {
                let name = (cluster.namespace().unwrap_or_default(), cluster.name_any());
                followed
                    .entry(name.clone())
                    .or_insert_with(|| tokio::spawn(self.clone().follow_one(name)));
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    async fn follow_one(self, (namespace, name): Name) {
        let mut since = None;
        while self.cluster(&namespace, &name).is_some() {
            if let Ok(admin) = self.admin(&namespace, &name)
                && let Ok(changes) = admin.changes(since.unwrap_or_default(), POLL).await
                && since != Some(changes.index)
            {
                // An index that went back is a cluster that lost its data: a change, too.
                since = Some(changes.index);
                self.changed.send_modify(|n| *n = n.wrapping_add(1));
            }
            tokio::time::sleep(GATHER).await;
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.remove(&(namespace, name));
    }
}

/// Fills a store for ever, from a watch.
pub(crate) async fn fill<K>(watch: impl Stream<Item = K> + Send) {
    watch.for_each(|_| std::future::ready(())).await;
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    pod.status
        .iter()
        .flat_map(|s| s.conditions.iter().flatten())
        .any(|c| c.type_ == "Ready" && c.status == "True")
}

fn admin_address(pod: &Pod) -> Option<String> {
    let ip: IpAddr = pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok()?;
    Some(match ip {
        IpAddr::V4(ip) => format!("http://{ip}:{ADMIN_PORT}"),
        IpAddr::V6(ip) => format!("http://[{ip}]:{ADMIN_PORT}"),
    })
}
