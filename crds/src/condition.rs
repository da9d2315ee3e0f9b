//! Conditions, as kstatus, Argo CD and Flux read them.
//!
//! `Ready` is normal-true; `Reconciling` and `Stalled` are abnormal-true and absent when they do not
//! hold. A refused resource is `Ready=False` and `Stalled=True` with the same reason.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

pub const READY: &str = "Ready";
pub const RECONCILING: &str = "Reconciling";
pub const STALLED: &str = "Stalled";

/// What one reconcile found out, before it is merged into the conditions that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: &'static str,
    /// `None` = Unknown.
    pub holds: Option<bool>,
    /// CamelCase, at most 128 bytes.
    pub reason: String,
    pub message: String,
}

/// The whole state of a resource in the three conditions that pipelines read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    Ready {
        reason: &'static str,
        message: String,
    },
    /// On its way; the controller goes on by itself.
    Reconciling {
        reason: &'static str,
        message: String,
    },
    /// Goes no further until somebody changes something.
    Stalled { reason: String, message: String },
}

impl Summary {
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |kind, holds, reason: &str, message: &str| Finding {
            kind,
            holds: Some(holds),
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        match self {
            Self::Ready { reason, message } => vec![finding(READY, true, reason, message)],
            Self::Reconciling { reason, message } => vec![
                finding(READY, false, reason, message),
                finding(RECONCILING, true, reason, message),
            ],
            Self::Stalled { reason, message } => vec![
                finding(READY, false, reason, message),
                finding(STALLED, true, reason, message),
            ],
        }
    }
}

/// Merges `findings` into `old`: conditions not found any more go, and the transition time changes
/// only with the status. `now` is used for changed ones only, so equal findings give equal output.
#[must_use]
pub fn merge(
    old: &[Condition],
    findings: &[Finding],
    generation: i64,
    now: &Time,
) -> Vec<Condition> {
    findings
        .iter()
        .map(|f| {
            let status = match f.holds {
                Some(true) => "True",
                Some(false) => "False",
                None => "Unknown",
            };
            let since = old
                .iter()
                .find(|c| c.type_ == f.kind && c.status == status)
                .map_or_else(|| now.clone(), |c| c.last_transition_time.clone());
            Condition {
                type_: f.kind.to_owned(),
                status: status.to_owned(),
                reason: f.reason.clone(),
                message: f.message.clone(),
                observed_generation: Some(generation),
                last_transition_time: since,
            }
        })
        .collect()
}
