//! Resources that live inside the brokers: topics, queues, exchanges, groups. One reconcile for all;
//! each kind adds how it is declared and removed.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api::client::Admin;
use crds::condition::{Finding, Summary};
use crds::deletion::{DeletionPolicy, Origin};
use kube::ResourceExt;
use kube::runtime::reflector::Store;

use crate::controller::Reconciler;
use crate::desk::{Desk, Note};
use crate::error::{Doing, Error};
use crate::finalizer;
use crate::metrics::Metrics;
use crate::plan::Refusal;
use crate::status::{self, Kind};

#[cfg(test)]
mod tests;

/// Wait before a resource that is stalled by the brokers' state is looked at again.
const STALLED: Duration = Duration::from_secs(60);
/// Wait for a cluster that is not there or not up; its watch usually comes first.
const CLUSTER: Duration = Duration::from_secs(15);

/// A kind that lives inside the brokers.
pub(crate) trait Declared: Kind {
    /// Name of its BrokerCluster, in the same namespace.
    fn cluster(&self) -> &str;

    /// Its name in the brokers, told apart from all others of its kind in that cluster.
    fn identity(&self) -> (&str, &str);

    /// The deletion policy that the resource states.
    fn policy(&self) -> Option<DeletionPolicy>;

    /// Whether the resource made what it stands for, once that is known.
    fn origin(&self) -> Option<Origin>;

    /// What deleting the resource does, as far as it is known now.
    fn deletion(&self) -> DeletionPolicy {
        DeletionPolicy::effective(self.policy(), self.origin())
    }

    /// Whether deleting may have something to delete: true also before anything was created.
    fn needs_finalizer(&self) -> bool {
        let undecided = self.policy().is_none() && self.origin().is_none();
        undecided || self.deletion() == DeletionPolicy::Delete
    }

    /// Looks, plans, takes the steps.
    fn declare(
        &self,
        brokers: &Admin,
    ) -> impl Future<Output = Result<Declaration<Self::Status>, Error>> + Send;

    /// Deletes it in the brokers; not being there is success.
    fn remove(
        &self,
        brokers: &Admin,
    ) -> impl Future<Output = Result<(), api::client::Error>> + Send;

    /// Told after each look and, with `gone`, after the last.
    fn measure(&self, _: &Metrics, _gone: bool) {}
}

/// What [`Declared`] asks of a resource where its kind has the fields `spec.clusterRef`,
/// `spec.deletionPolicy` and `status.origin`; the rest is its identity.
macro_rules! told_by_its_fields {
    (|$self:ident| $identity:expr) => {
        fn cluster(&self) -> &str {
            &self.spec.cluster_ref.name
        }

        fn identity(&$self) -> (&str, &str) {
            $identity
        }

        fn policy(&self) -> Option<crds::deletion::DeletionPolicy> {
            self.spec.deletion_policy
        }

        fn origin(&self) -> Option<crds::deletion::Origin> {
            self.status.as_ref().and_then(|s| s.origin)
        }
    };
}
pub(crate) use told_by_its_fields;

/// What a look found and the steps did.
pub(crate) struct Declaration<S> {
    pub(crate) status: S,
    pub(crate) summary: Summary,
    /// Conditions of the kind's own.
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<Note>,
    pub(crate) again: Option<Duration>,
}

impl<S> Declaration<S> {
    pub(crate) fn ready(status: S, message: String) -> Self {
        let summary = Summary::Ready {
            reason: "Declared",
            message,
        };
        Self {
            status,
            summary,
            findings: Vec::new(),
            notes: Vec::new(),
            again: None,
        }
    }

    pub(crate) fn refused(status: S, refusal: &Refusal) -> Self {
        let summary = Summary::Stalled {
            reason: refusal.reason.to_owned(),
            message: refusal.to_string(),
        };
        Self {
            status,
            summary,
            findings: Vec::new(),
            notes: Vec::new(),
            again: Some(STALLED),
        }
    }

    pub(crate) fn note(mut self, note: Note) -> Self {
        self.notes.push(note);
        self
    }
}

/// The reconcile of kind `K`.
pub(crate) struct Declarer<K: Declared> {
    desk: Desk,
    /// All of the kind, to see two that stand for the same thing.
    all: Store<K>,
}

impl<K: Declared> Declarer<K> {
    pub(crate) fn new(desk: Desk, all: Store<K>) -> Self {
        Self { desk, all }
    }
}

impl<K: Declared> Reconciler for Declarer<K> {
    type Kind = K;

    async fn reconcile(&self, object: Arc<K>) -> Result<Option<Duration>, Error> {
        let Some(object) = self.now(&object).await? else {
            return Ok(None);
        };
        if object.meta().deletion_timestamp.is_some() {
            return self.clean_up(&object).await;
        }
        finalizer::set(&self.desk.client, &object, object.needs_finalizer()).await?;
        if let Some(elder) = elder(&self.all, &object) {
            return self.yield_to(&object, &elder).await;
        }
        let namespace = object.namespace().ok_or(Error::Incomplete("namespace"))?;
        if self
            .desk
            .directory
            .cluster(&namespace, object.cluster())
            .is_none()
        {
            let message = format!(
                "there is no BrokerCluster {} in this namespace",
                object.cluster()
            );
            return self.wait(&object, "ClusterNotFound", message).await;
        }
        let Ok(brokers) = self.desk.directory.admin(&namespace, object.cluster()) else {
            let message = format!("no broker of {} runs", object.cluster());
            return self.wait(&object, "ClusterNotReady", message).await;
        };
        match object.declare(&brokers).await {
            Ok(declaration) => self.record(&object, declaration).await,
            Err(e) => self.explain(&object, e).await,
        }
    }
}

impl<K: Declared> Declarer<K> {
    /// The object as the API server has it. The cache may not know yet the status written a moment
    /// ago, in which case the topic that this resource created would look like one found there; or
    /// that the resource is gone, in which case its successor's topic would be deleted.
    async fn now(&self, cached: &K) -> Result<Option<K>, Error> {
        let object = status::namespaced(&self.desk.client, cached)?
            .get_opt(&cached.name_any())
            .await
            .doing("read the resource")?;
        Ok(object.filter(|now| now.uid() == cached.uid()))
    }

    /// Two that declare the same thing would undo each other for ever: the older one counts.
    async fn yield_to(&self, object: &K, elder: &K) -> Result<Option<Duration>, Error> {
        let refusal = Refusal {
            field: "name",
            reason: "Conflict",
            message: format!(
                "{} {}, which is older, stands for the same in {}: delete one of the two",
                K::kind(&()),
                elder.name_any(),
                object.cluster()
            ),
        };
        let d = Declaration::refused(object.status().cloned().unwrap_or_default(), &refusal);
        self.desk
            .conclude(object, d.status, &d.summary, d.findings)
            .await?;
        Ok(d.again)
    }

    async fn record(
        &self,
        object: &K,
        d: Declaration<K::Status>,
    ) -> Result<Option<Duration>, Error> {
        for note in d.notes {
            self.desk.publish(object, note).await;
        }
        self.desk
            .conclude(object, d.status, &d.summary, d.findings)
            .await?;
        object.measure(&self.desk.metrics, false);
        Ok(d.again)
    }

    /// What the brokers refuse for good is the user's to mend; the rest is tried again.
    async fn explain(&self, object: &K, error: Error) -> Result<Option<Duration>, Error> {
        use api::admin::ErrorCode::{Conflict, Invalid};
        let status = object.status().cloned().unwrap_or_default();
        if let Error::Brokers { source, .. } = &error
            && matches!(source.code(), Some(Invalid | Conflict))
        {
            let summary = Summary::Stalled {
                reason: "Refused".to_owned(),
                message: source.to_string(),
            };
            self.desk
                .conclude(object, status, &summary, Vec::new())
                .await?;
            return Ok(Some(STALLED));
        }
        let summary = Summary::Reconciling {
            reason: "BrokersUnavailable",
            message: error.chain(),
        };
        self.desk
            .conclude(object, status, &summary, Vec::new())
            .await?;
        Err(error)
    }

    async fn wait(
        &self,
        object: &K,
        reason: &'static str,
        message: String,
    ) -> Result<Option<Duration>, Error> {
        let status = object.status().cloned().unwrap_or_default();
        let summary = Summary::Reconciling { reason, message };
        self.desk
            .conclude(object, status, &summary, Vec::new())
            .await?;
        Ok(Some(CLUSTER))
    }

    async fn clean_up(&self, object: &K) -> Result<Option<Duration>, Error> {
        let namespace = object.namespace().ok_or(Error::Incomplete("namespace"))?;
        if self.has_to_remove(object, &namespace)
            && let Err(e) = self.remove(object, &namespace).await
        {
            return self.stay(object, e).await;
        }
        finalizer::set(&self.desk.client, object, false).await?;
        self.desk
            .metrics
            .ready(&K::kind(&()), &namespace, &object.name_any(), None);
        object.measure(&self.desk.metrics, true);
        Ok(None)
    }

    fn has_to_remove(&self, object: &K, namespace: &str) -> bool {
        // A cluster that is gone or going takes what it holds with it.
        let cluster = self.desk.directory.cluster(namespace, object.cluster());
        let stays = cluster.is_some_and(|c| c.metadata.deletion_timestamp.is_none());
        let forced = object.annotations().get(finalizer::FORCE);
        finalizer::is_set(object)
            && object.deletion() == DeletionPolicy::Delete
            && stays
            && forced.is_none_or(|v| v != "true")
            // Another resource stands for it from now on.
            && others(&self.all, object).next().is_none()
    }

    async fn remove(&self, object: &K, namespace: &str) -> Result<(), Error> {
        let brokers = self.desk.directory.admin(namespace, object.cluster())?;
        match object.remove(&brokers).await {
            Err(e) if !e.is_not_found() => return Err(e).doing("delete it"),
            _ => {}
        }
        let kind = K::kind(&());
        tracing::info!(kind = %kind, namespace, name = object.name_any(), "deleted in the brokers");
        Ok(())
    }

    /// Says why a resource that is deleted is still there, and how it goes all the same.
    async fn stay(&self, object: &K, error: Error) -> Result<Option<Duration>, Error> {
        if let Error::Brokers { source, .. } = &error
            && source.code() == Some(api::admin::ErrorCode::InUse)
        {
            return self.wait(object, "InUse", source.to_string()).await;
        }
        let message = format!(
            "{}; annotate it with {}=true to let it go and leave the brokers alone",
            error.chain(),
            finalizer::FORCE
        );
        self.wait(object, "DeletionBlocked", message).await?;
        Err(error)
    }
}

/// Other resources that stand for the same thing and stay.
fn others<K: Declared>(all: &Store<K>, object: &K) -> impl Iterator<Item = Arc<K>> {
    all.state()
        .into_iter()
        .filter(|o| o.namespace() == object.namespace() && o.uid() != object.uid())
        .filter(|o| o.cluster() == object.cluster() && o.identity() == object.identity())
        .filter(|o| o.meta().deletion_timestamp.is_none())
}

/// One of them that was there before: by age, and by uid between those of one second.
fn elder<K: Declared>(all: &Store<K>, object: &K) -> Option<Arc<K>> {
    let age = |o: &K| (o.creation_timestamp().map(|t| t.0), o.uid());
    others(all, object).find(|o| age(o) < age(object))
}

/// Makes the virtual host of a queue or an exchange; `/` is always there.
pub(crate) async fn make_vhost(brokers: &Admin, vhost: &str) -> Result<(), Error> {
    if vhost == "/" {
        return Ok(());
    }
    brokers
        .put_vhost(vhost)
        .await
        .doing("create the virtual host")
}
