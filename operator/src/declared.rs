//! Resources that live inside the brokers: topics, queues, exchanges, groups. One reconcile for all;
//! each kind adds how it is declared and removed.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api::client::Admin;
use crds::condition::{Finding, READY, Summary};
use crds::deletion::DeletionPolicy;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Client, ResourceExt};

use crate::controller::Reconciler;
use crate::directory::Directory;
use crate::error::{Doing, Error};
use crate::finalizer;
use crate::metrics::Metrics;
use crate::plan::Refusal;
use crate::status::{self, Kind};

/// Wait before a resource that is stalled by the brokers' state is looked at again.
const STALLED: Duration = Duration::from_secs(60);
/// Wait for a cluster that is not there or not up; its watch usually comes first.
const CLUSTER: Duration = Duration::from_secs(15);

/// A kind that lives inside the brokers.
pub(crate) trait Declared: Kind {
    /// Name of its BrokerCluster, in the same namespace.
    fn cluster(&self) -> &str;

    /// What deleting the resource does, as far as it is known now.
    fn deletion(&self) -> DeletionPolicy;

    /// Whether deleting may have something to delete: true also before anything was created.
    fn needs_finalizer(&self) -> bool {
        self.deletion() == DeletionPolicy::Delete
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

/// An event to come.
pub(crate) struct Note {
    pub(crate) warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Note {
    pub(crate) fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            warning: false,
            reason,
            message: message.into(),
        }
    }

    pub(crate) fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            warning: true,
            reason,
            message: message.into(),
        }
    }
}

/// What all kinds' reconcilers share.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) client: Client,
    pub(crate) directory: Directory,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Metrics,
}

impl Desk {
    /// Events tell people; failing to write one fails nothing.
    pub(crate) async fn publish<K: Kind>(&self, object: &K, note: Note) {
        let event = Event {
            type_: if note.warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: note.reason.to_owned(),
            note: Some(note.message),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(e) = self.recorder.publish(&event, &object.object_ref(&())).await {
            tracing::debug!(error = %e, "event not written");
        }
    }

    /// Writes the status; a change of `Ready` becomes an event.
    pub(crate) async fn conclude<K: Kind>(
        &self,
        object: &K,
        status: K::Status,
        summary: &Summary,
        findings: Vec<Finding>,
    ) -> Result<(), Error> {
        let mut all = summary.findings();
        all.extend(findings);
        let changed = status::write(&self.client, object, status, &all).await?;
        let ready = matches!(summary, Summary::Ready { .. });
        self.metrics.ready(
            &K::kind(&()),
            &object.namespace().unwrap_or_default(),
            &object.name_any(),
            Some(ready),
        );
        if let (true, Summary::Stalled { message, .. }) =
            (changed.iter().any(|f| f.kind == READY), summary)
        {
            self.publish(object, Note::warning("Stalled", message))
                .await;
        }
        Ok(())
    }
}

/// The reconcile of kind `K`.
pub(crate) struct Declarer<K> {
    desk: Desk,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K> Declarer<K> {
    pub(crate) fn new(desk: Desk) -> Self {
        Self {
            desk,
            kind: std::marker::PhantomData,
        }
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
            message: error.to_string(),
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
        if finalizer::is_set(object) && object.deletion() == DeletionPolicy::Delete {
            let forced = object
                .annotations()
                .get(finalizer::FORCE)
                .is_some_and(|v| v == "true");
            // A cluster that is gone or going takes what it holds with it.
            let cluster = self
                .desk
                .directory
                .cluster(&namespace, object.cluster())
                .filter(|c| c.metadata.deletion_timestamp.is_none());
            if cluster.is_some() && !forced {
                let brokers = self.desk.directory.admin(&namespace, object.cluster())?;
                if let Err(e) = object.remove(&brokers).await
                    && !e.is_not_found()
                {
                    if e.code() == Some(api::admin::ErrorCode::InUse) {
                        return self.wait(object, "InUse", e.to_string()).await;
                    }
                    return Err(e).doing("delete it");
                }
                tracing::info!(
                    kind = %K::kind(&()), namespace, name = object.name_any(), "deleted in the brokers"
                );
            }
        }
        finalizer::set(&self.desk.client, object, false).await?;
        self.desk
            .metrics
            .ready(&K::kind(&()), &namespace, &object.name_any(), None);
        object.measure(&self.desk.metrics, true);
        Ok(None)
    }
}
