//! `BrokerCluster`: the StatefulSet of brokers and all around it.
//!
//! Look at what is there, validate, build, apply, place pods in racks, take one step of a rolling
//! restart, write the status.

use std::sync::Arc;
use std::time::Duration;

use api::admin;
use crds::broker_cluster::{
    ADMIN_PORT, BrokerCluster, BrokerClusterStatus, BrokerStatus, Roll, RollPhase,
};
use crds::condition::{READY, Summary};
use crds::topic::Health;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::controller::Reconciler;
use crate::desk::{Desk, Note};
use crate::directory::is_ready;
use crate::error::Error;

mod apply;
mod build;
mod made;
mod pods;
mod roll;
mod trouble;
mod validated;

use validated::Cluster;

pub(crate) use validated::check_name;

/// Reason of a roll that may not go on.
const ROLL_BLOCKED: &str = "RollBlocked";
/// Between looks while something is under way.
const SOON: Duration = Duration::from_secs(2);
/// Between looks while brokers do not answer or a roll is blocked.
const LATER: Duration = Duration::from_secs(5);
/// Between looks at a cluster that is as it should be: partitions' health is not an event here.
const STEADY: Duration = Duration::from_secs(30);

pub(crate) struct Brokers {
    pub(crate) desk: Desk,
    pub(crate) image: String,
}

impl Reconciler for Brokers {
    type Kind = BrokerCluster;

    async fn reconcile(&self, object: Arc<BrokerCluster>) -> Result<Option<Duration>, Error> {
        if object.metadata.deletion_timestamp.is_some() {
            // Everything is owned by it and goes with it.
            return Ok(None);
        }
        let namespace = object.namespace().ok_or(Error::Incomplete("namespace"))?;
        let made = made::find(&self.desk.client, &namespace, &object.name_any()).await?;
        let cluster = match validated::validate(&object, &self.image, made) {
            Ok(cluster) => cluster,
            Err(refusal) => {
                let summary = Summary::Stalled {
                    reason: refusal.reason.to_owned(),
                    message: refusal.to_string(),
                };
                let status = object.status.clone().unwrap_or_default();
                self.desk
                    .conclude(&*object, status, &summary, Vec::new())
                    .await?;
                return Ok(None);
            }
        };
        let applied = apply::apply(&self.desk.client, &cluster).await?;
        let pods = pods::list(&self.desk.client, &cluster).await?;
        pods::place(&self.desk.client, &cluster, &pods).await?;
        // While one is missing, or may be made anew as before, nobody knows which configuration it will name.
        if applied.in_use && i32::try_from(pods.len()).is_ok_and(|n| n >= cluster.replicas) {
            apply::prune(&self.desk.client, &cluster, &pods).await?;
        }

        let admin = self.desk.directory.admin(&namespace, &cluster.name).ok();
        let seen = match &admin {
            Some(admin) => admin.cluster().await.ok(),
            None => None,
        };
        let look = roll::Look {
            client: &self.desk.client,
            object: &object,
            cluster: &cluster,
            target: &applied.target,
            pods: &pods,
            brokers: admin.as_ref().zip(seen.as_ref()),
        };
        let step = look.step(Timestamp::now().as_millisecond()).await?;
        if let Some(note) = step.note {
            self.desk.publish(&*object, note).await;
        }
        let status = status(&cluster, &pods, seen.as_ref(), step.roll);
        let summary = summary(&cluster, &pods, &status, seen.as_ref());
        if let Some(note) = newly_blocked(&object, &summary) {
            self.desk.publish(&*object, note).await;
        }
        let settled = matches!(summary, Summary::Ready { .. });
        self.desk
            .conclude(&*object, status, &summary, Vec::new())
            .await?;
        Ok(Some(match (settled, step.more) {
            (_, true) => SOON,
            (true, false) => STEADY,
            (false, false) => LATER,
        }))
    }
}

fn status(
    cluster: &Cluster,
    pods: &[Pod],
    seen: Option<&admin::Cluster>,
    roll: Option<Roll>,
) -> BrokerClusterStatus {
    let mut brokers: Vec<BrokerStatus> = pods
        .iter()
        .filter_map(|pod| {
            Some(BrokerStatus {
                id: pods::ordinal(pod)?,
                pod: pod.name_any(),
                zone: pods::rack(pod),
                ready: is_ready(pod),
            })
        })
        .collect();
    brokers.sort_by_key(|b| b.id);
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let labels: Vec<String> = build::selector(cluster)
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let service = format!("{}.{}.svc", cluster.name, cluster.namespace);
    BrokerClusterStatus {
        replicas: Some(count(pods.len())),
        ready_replicas: Some(count(brokers.iter().filter(|b| b.ready).count())),
        selector: Some(labels.join(",")),
        image: Some(cluster.image.clone()),
        kafka_bootstrap: Some(format!("{service}:{}", cluster.kafka_port)),
        amqp_address: Some(format!("{service}:{}", cluster.amqp_port)),
        controller_id: seen.and_then(|s| s.controller),
        health: seen.map(|s| Health {
            offline: count(s.partitions.offline),
            under_min_in_sync: count(s.partitions.under_min_isr),
            under_replicated: count(s.partitions.under_replicated),
        }),
        brokers,
        roll,
        ..BrokerClusterStatus::default()
    }
}

/// A roll that stops is worth telling, once.
fn newly_blocked(object: &BrokerCluster, summary: &Summary) -> Option<Note> {
    let Summary::Reconciling { reason, message } = summary else {
        return None;
    };
    let before = object.status.as_ref().map_or(&[][..], |s| &s.conditions);
    let known = before
        .iter()
        .any(|c| c.type_ == READY && c.reason == *reason);
    (*reason == ROLL_BLOCKED && !known).then(|| Note::warning(ROLL_BLOCKED, message))
}

fn summary(
    cluster: &Cluster,
    pods: &[Pod],
    status: &BrokerClusterStatus,
    seen: Option<&admin::Cluster>,
) -> Summary {
    let ready = status.ready_replicas.unwrap_or_default();
    let going = |reason, message| Summary::Reconciling { reason, message };
    let roll = status.roll.as_ref();
    if let Some(roll) = roll
        && matches!(roll.phase, RollPhase::Rolling | RollPhase::Blocked)
    {
        let mut message = format!(
            "{} of {} brokers run what is asked for",
            roll.done, roll.total
        );
        if !roll.waiting_for.is_empty() {
            message = format!("{message}; {}", roll.waiting_for.join("; "));
        }
        let reason = if roll.phase == RollPhase::Rolling {
            "Rolling"
        } else {
            ROLL_BLOCKED
        };
        return going(reason, message);
    }
    if ready < cluster.replicas {
        let mut message = format!("{ready} of {} brokers are ready", cluster.replicas);
        for pod in pods {
            if let Some(trouble) = trouble::of(pod, cluster.users_secret()) {
                message.push_str(&format!("; {}: {}", pod.name_any(), trouble.words));
            }
        }
        return going("BrokersNotReady", message);
    }
    let Some(seen) = seen else {
        return going(
            "BrokersUnreachable",
            format!("no broker answers the operator at port {ADMIN_PORT}"),
        );
    };
    if seen.controller.is_none() {
        return going(
            "NoController",
            "the metadata group has no leader".to_owned(),
        );
    }
    let paused = roll.filter(|r| r.phase == RollPhase::Paused);
    match paused {
        Some(roll) => Summary::Ready {
            reason: "UpdatePaused",
            message: roll.waiting_for.join("; "),
        },
        None => Summary::Ready {
            reason: "BrokersReady",
            message: format!("{ready} brokers are ready"),
        },
    }
}
