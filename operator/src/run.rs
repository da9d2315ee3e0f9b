//! Composition: clients, watches, one controller per kind, until a signal or a lost lead.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context as _;
use crds::broker_cluster::BrokerCluster;
use crds::consumer_group::ConsumerGroup;
use crds::exchange::Exchange;
use crds::queue::Queue;
use crds::topic::Topic;
use futures::FutureExt;
use futures::future::Shared;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::controller::Controller;
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use prometheus_client::registry::Registry;

use crate::args::Args;
use crate::controller;
use crate::declared::{Declared, Declarer};
use crate::desk::Desk;
use crate::directory::{self, Directory};
use crate::lease::Election;
use crate::metrics::Metrics;
use crate::{CLUSTER_LABEL, MANAGER, cluster, release, telemetry};

/// A reconcile that takes longer to end after SIGTERM is dropped, and mended by the next leader:
/// well below the pod's grace period, so that the lead is always handed over.
const WIND_UP: Duration = Duration::from_secs(10);

type Stop = Shared<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>;

/// Runs until SIGTERM, Ctrl-C, or until another operator leads.
///
/// # Errors
/// No API server to be found, or no port for `/metrics`.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let client = Client::try_default()
        .await
        .context("cannot find the API server: run in a pod, or set KUBECONFIG")?;
    if args.release {
        return release::all(&client, args.namespace.as_deref())
            .await
            .context("cannot let go of the resources");
    }
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let work = lead(client, args.clone(), metrics);
    tokio::select! {
        ended = telemetry::serve(args.listen, registry) => ended,
        ended = work => ended,
    }
}

async fn lead(client: Client, args: Args, metrics: Metrics) -> anyhow::Result<()> {
    let stop = signal()?;
    let Some(namespace) = &args.lease_namespace else {
        metrics.leads(true);
        Box::pin(work(client, &args, metrics, stop)).await;
        return Ok(());
    };
    let election = Election::new(
        client.clone(),
        namespace,
        args.lease_name.clone(),
        args.identity.clone(),
    );
    tokio::select! {
        () = election.win() => {}
        () = stop.clone() => return Ok(()),
    }
    tracing::info!(identity = args.identity, "leading");
    metrics.leads(true);
    let overdue = async {
        stop.clone().await;
        tokio::time::sleep(WIND_UP).await;
    };
    let ended = async {
        tokio::select! {
            () = Box::pin(work(client, &args, metrics, stop.clone())) => {}
            () = overdue => tracing::warn!("a reconcile under way is dropped"),
        }
    };
    tokio::select! {
        () = ended => {
            election.resign().await;
            Ok(())
        }
        // Ends the process: whatever is under way is dropped here, before another one may begin.
        () = election.keep() => anyhow::bail!("another operator leads now, or the API server is away"),
    }
}

async fn work(client: Client, args: &Args, metrics: Metrics, stop: Stop) {
    let scope = Scope {
        client: client.clone(),
        namespace: args.namespace.clone(),
    };
    let (clusters, cluster_writer) = reflector::store::<BrokerCluster>();
    let (pods, pod_writer) = reflector::store::<Pod>();
    let watch_clusters = reflector::reflector(
        cluster_writer,
        watcher(scope.api(), watcher::Config::default()).default_backoff(),
    );
    let of_clusters = watcher::Config::default().labels(CLUSTER_LABEL);
    let watch_pods = reflector::reflector(
        pod_writer,
        watcher(scope.api(), of_clusters.clone()).default_backoff(),
    );
    let directory = Directory::new(clusters.clone(), pods.clone());
    let reporter = Reporter {
        controller: MANAGER.to_owned(),
        instance: Some(args.identity.clone()),
    };
    let desk = Desk {
        client: client.clone(),
        directory: directory.clone(),
        recorder: Recorder::new(client, reporter),
        metrics,
    };
    let controllers = async {
        // Without the stores everything would look gone.
        let filled = futures::future::join(clusters.wait_until_ready(), pods.wait_until_ready());
        if let (Err(e), _) | (_, Err(e)) = filled.await {
            tracing::error!(error = %e, "a watch ended");
            return;
        }
        tracing::info!(
            namespace = args.namespace.as_deref().unwrap_or("all"),
            "reconciling"
        );
        tokio::join!(
            brokers(
                &scope,
                &desk,
                of_clusters,
                args.broker_image.clone(),
                stop.clone()
            ),
            declared::<Topic>(&scope, &desk, stop.clone()),
            declared::<Queue>(&scope, &desk, stop.clone()),
            declared::<Exchange>(&scope, &desk, stop.clone()),
            declared::<ConsumerGroup>(&scope, &desk, stop.clone()),
        );
    };
    tokio::select! {
        () = controllers => {}
        () = directory::fill(watch_clusters) => {}
        () = directory::fill(watch_pods) => {}
        () = directory.follow() => {}
    }
}

/// What is watched: one namespace or all.
struct Scope {
    client: Client,
    namespace: Option<String>,
}

impl Scope {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }
}

async fn brokers(scope: &Scope, desk: &Desk, pods: watcher::Config, image: String, stop: Stop) {
    let controller = Controller::new(scope.api::<BrokerCluster>(), watcher::Config::default())
        .owns(scope.api::<StatefulSet>(), pods.clone())
        .watches(scope.api::<Pod>(), pods, |pod| {
            let cluster = pod.labels().get(CLUSTER_LABEL)?;
            Some(ObjectRef::new(cluster).within(&pod.namespace()?))
        });
    let reconciler = cluster::Brokers {
        desk: desk.clone(),
        image,
    };
    let again = desk.directory.changes();
    controller::run(
        controller,
        reconciler,
        desk.metrics.clone(),
        again,
        Box::pin(stop),
    )
    .await;
}

async fn declared<K: Declared>(scope: &Scope, desk: &Desk, stop: Stop) {
    let controller = Controller::new(scope.api::<K>(), watcher::Config::default());
    let store = controller.store();
    let declarer = Declarer::new(desk.clone(), store.clone());
    // A cluster that comes up is what its resources have been waiting for.
    let controller = controller.watches(
        scope.api::<BrokerCluster>(),
        watcher::Config::default(),
        move |cluster: BrokerCluster| {
            let (namespace, name) = (cluster.namespace(), cluster.name_any());
            store
                .state()
                .into_iter()
                .filter(|o| o.namespace() == namespace && o.cluster() == name)
                .map(|o| ObjectRef::from_obj(&*o))
                .collect::<Vec<_>>()
        },
    );
    let again = desk.directory.changes();
    controller::run(
        controller,
        declarer,
        desk.metrics.clone(),
        again,
        Box::pin(stop),
    )
    .await;
    tracing::debug!(kind = %K::kind(&()), "stopped");
}

/// Resolves at SIGTERM or Ctrl-C.
fn signal() -> anyhow::Result<Stop> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let stop: Pin<Box<dyn Future<Output = ()> + Send + Sync>> = Box::pin(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    });
    Ok(stop.shared())
}
