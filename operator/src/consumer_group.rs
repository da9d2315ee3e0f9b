//! `ConsumerGroup` resources: lag into status, compared with its objective.

use std::collections::BTreeSet;
use std::time::Duration;

use api::admin;
use api::client::Admin;
use crds::condition::{Finding, Summary};
use crds::consumer_group::{ConsumerGroup, ConsumerGroupStatus, LAG_WITHIN_SLO, Lag, Slo};
use crds::deletion::{DeletionPolicy, Origin};
use kube::ResourceExt;

use crate::declared::{Declaration, Declared};
use crate::error::{Doing, Error, found};
use crate::metrics::Metrics;
use crate::metrics::objectives::{Group, Objective};

#[cfg(test)]
mod tests;

/// Between two looks. Lag in status is for people and pipelines; alerts read the brokers' metrics.
const LOOK: Duration = Duration::from_secs(30);

impl Declared for ConsumerGroup {
    fn cluster(&self) -> &str {
        &self.spec.cluster_ref.name
    }

    fn identity(&self) -> (&str, &str) {
        ("", self.id())
    }

    fn policy(&self) -> Option<DeletionPolicy> {
        Some(self.spec.deletion_policy)
    }

    fn origin(&self) -> Option<Origin> {
        None
    }

    async fn declare(&self, brokers: &Admin) -> Result<Declaration<ConsumerGroupStatus>, Error> {
        let group = found(brokers.group(self.id()).await).doing("describe the group")?;
        let before = self.status.clone().unwrap_or_default();
        let seen = observe(&self.spec.topics, group.as_ref());
        let finding = self
            .spec
            .slo
            .as_ref()
            .map(|slo| within(slo, seen.lag.as_ref()));
        let status = ConsumerGroupStatus {
            group_id: Some(self.id().to_owned()),
            lag: seen.lag.map(|l| steady(l, before.lag.as_ref())),
            state: seen.state,
            members: seen.members,
            uncommitted: seen.uncommitted,
            ..before
        };
        let summary = match &status.state {
            Some(state) => Summary::Ready {
                reason: "Observed",
                message: format!(
                    "group is {state} with {} members",
                    status.members.unwrap_or_default()
                ),
            },
            // Nobody has joined yet. The declaration itself is complete.
            None => Summary::Ready {
                reason: "NoMembersYet",
                message: "no client has joined or committed yet".to_owned(),
            },
        };
        Ok(Declaration {
            status,
            summary,
            findings: finding.into_iter().collect(),
            notes: Vec::new(),
            again: Some(LOOK),
        })
    }

    async fn remove(&self, brokers: &Admin) -> Result<(), api::client::Error> {
        brokers.delete_group(self.id()).await
    }

    fn measure(&self, metrics: &Metrics, gone: bool) {
        let group = Group {
            namespace: self.namespace().unwrap_or_default(),
            cluster: self.cluster().to_owned(),
            group: self.id().to_owned(),
        };
        let slo = self.spec.slo.as_ref().filter(|_| !gone);
        let objective = slo.map(|slo| Objective {
            topics: self.spec.topics.clone(),
            lag_seconds: slo.max_lag_time.map(crds::duration::Duration::as_secs_f64),
            lag_records: slo.max_lag_records,
        });
        metrics.objectives().set(group, objective);
    }
}

/// What is seen of a group, over the declared topics only.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    state: Option<String>,
    members: Option<i32>,
    lag: Option<Lag>,
    uncommitted: Vec<String>,
}

fn observe(topics: &[String], group: Option<&admin::Group>) -> Seen {
    let Some(group) = group else {
        return Seen {
            uncommitted: topics.to_vec(),
            ..Seen::default()
        };
    };
    let declared: Vec<_> = group
        .partitions
        .iter()
        .filter(|p| topics.contains(&p.topic))
        .collect();
    let committed: BTreeSet<&str> = declared.iter().map(|p| p.topic.as_str()).collect();
    let seconds = declared
        .iter()
        .filter_map(|p| p.lag_seconds)
        .fold(0.0, f64::max);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates; a lag is far below 2^53 ms"
    )]
    let millis = (seconds * 1000.0) as i64;
    Seen {
        state: Some(group.summary.state.clone()),
        members: i32::try_from(group.summary.members).ok(),
        lag: (!declared.is_empty()).then(|| Lag {
            records: declared.iter().filter_map(|p| p.lag_records).sum(),
            // Whole seconds: finer ones would change the status at every look.
            max_time: crds::duration::Duration::from_millis(millis / 1000 * 1000),
        }),
        uncommitted: topics
            .iter()
            .filter(|t| !committed.contains(t.as_str()))
            .cloned()
            .collect(),
    }
}

/// A lag that moved by less than a tenth stays as it was written: etcd and GitOps tools need no copy
/// of every look.
fn steady(now: Lag, before: Option<&Lag>) -> Lag {
    let close = |a: i64, b: i64| (a - b).unsigned_abs() * 10 <= b.unsigned_abs();
    match before {
        Some(b)
            if close(now.records, b.records)
                && close(now.max_time.as_millis(), b.max_time.as_millis()) =>
        {
            b.clone()
        }
        _ => now,
    }
}

fn within(slo: &Slo, lag: Option<&Lag>) -> Finding {
    let finding = |holds, reason: &str, message: String| Finding {
        kind: LAG_WITHIN_SLO,
        holds,
        reason: reason.to_owned(),
        message,
    };
    let Some(lag) = lag else {
        return finding(
            None,
            "NothingCommitted",
            "the group has committed nothing yet".into(),
        );
    };
    if let Some(max) = slo.max_lag_time
        && lag.max_time > max
    {
        return finding(
            Some(false),
            "LagTime",
            format!("{} behind, {max} allowed", lag.max_time),
        );
    }
    if let Some(max) = slo.max_lag_records
        && lag.records > max
    {
        let message = format!("{} records behind, {max} allowed", lag.records);
        return finding(Some(false), "LagRecords", message);
    }
    finding(Some(true), "WithinSLO", "lag is within spec.slo".into())
}
