//! What the reconcilers of all kinds share: clients, and the way to tell people what happened.

use crds::condition::{Finding, READY, Summary};
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Client, Resource, ResourceExt};

use crate::directory::Directory;
use crate::error::Error;
use crate::metrics::Metrics;
use crate::status::{self, Kind};

/// An event to come.
pub(crate) struct Note {
    pub(crate) warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Another object that it is about. Without one, events of equal reason are counted as one.
    pub(crate) about: Option<ObjectReference>,
}

impl Note {
    pub(crate) fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            warning: false,
            reason,
            message: message.into(),
            about: None,
        }
    }

    pub(crate) fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            warning: true,
            reason,
            message: message.into(),
            about: None,
        }
    }

    /// Of what was made because it was not there; `before`: although it had been.
    pub(crate) fn made(what: &str, name: &str, before: bool) -> Self {
        if before {
            let message = format!("{what} {name} was gone and was made again, empty");
            Self::warning("Recreated", message)
        } else {
            Self::normal("Created", format!("made {what} {name}"))
        }
    }

    pub(crate) fn about(mut self, pod: Option<&Pod>) -> Self {
        self.about = pod.map(|p| p.object_ref(&()));
        self
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
            secondary: note.about,
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
