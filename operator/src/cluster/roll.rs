//! Carries out what the [roller](crate::roller) decides, one step at a time.

use api::admin::{ErrorCode, PermitRequest};
use api::client::Admin;
use crds::broker_cluster::{
    BrokerCluster, BrokerClusterStatus, Restart, Roll, RollPhase, UpdateStrategy,
};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt};

use super::pods;
use super::validated::Cluster;
use crate::desk::Note;
use crate::error::{Doing, Error};
use crate::roller::{self, Brokers, Next, World};

/// Life of a permit; a restart that takes longer asks again.
const PERMIT_MS: u64 = 10 * 60 * 1000;

/// Steps taken before status is written anew.
#[derive(Default)]
pub(super) struct Step {
    pub(super) roll: Option<Roll>,
    pub(super) note: Option<Note>,
    /// The next step can follow at once.
    pub(super) more: bool,
}

pub(super) struct Look<'a> {
    pub(super) client: &'a Client,
    pub(super) object: &'a BrokerCluster,
    pub(super) cluster: &'a Cluster,
    pub(super) target: &'a str,
    pub(super) pods: &'a [Pod],
    /// `None`: no broker answers.
    pub(super) brokers: Option<(&'a Admin, &'a api::admin::Cluster)>,
}

impl Look<'_> {
    /// Takes at most one step and says where the roll is.
    pub(super) async fn step(&self, now_ms: i64) -> Result<Step, Error> {
        let before = self
            .object
            .status
            .as_ref()
            .and_then(|s: &BrokerClusterStatus| s.roll.as_ref());
        let current = before.and_then(|r| r.current.as_ref());
        let pods: Vec<roller::Pod> = self
            .pods
            .iter()
            .filter_map(|pod| pods::for_roller(pod, self.cluster))
            .collect();
        let holder = format!(
            "operator of {}/{}",
            self.cluster.namespace,
            self.object.name_any()
        );
        let mut world = World {
            replicas: self.cluster.replicas,
            target: self.target,
            pods: &pods,
            current,
            brokers: None,
            paused: self.object.spec.update.strategy == UpdateStrategy::Paused,
            holder: &holder,
        };
        let answers = self.ask(&mut world, &pods, current.is_some()).await;
        world.brokers = answers.as_ref();
        let next = roller::next(&world, now_ms);
        self.take(next, current.cloned(), &pods, &holder).await
    }

    /// What the brokers say about the candidate; silence is no answer, not an error.
    async fn ask(
        &self,
        world: &mut World<'_>,
        pods: &[roller::Pod],
        under_way: bool,
    ) -> Option<Brokers> {
        let (admin, seen) = self.brokers?;
        let mut brokers = Brokers {
            controller: seen.controller,
            unfenced: pods::unfenced(seen),
            ..Brokers::default()
        };
        if pods.iter().all(|p| p.target == self.target) && !under_way {
            return Some(brokers);
        }
        brokers.permit = admin.restart_permit().await.ok()?;
        if under_way && let Some(pod) = roller::candidate(world) {
            brokers.verdict = admin.verdict(pod.broker).await.ok();
            brokers.movable_leaders = match seen.brokers.iter().find(|b| b.id == pod.broker) {
                // A drain is asked for before the first look at what is left of it.
                Some(b) if !b.fenced => b.draining.then_some(b.leaders),
                // One that is out or never was in leads nothing that could move.
                _ => Some(0),
            };
            if brokers.movable_leaders.is_some_and(|n| n > 0)
                && let Ok(drain) = admin.drain(pod.broker).await
            {
                brokers.movable_leaders = Some(drain.leaders.saturating_sub(drain.stuck));
            }
        }
        Some(brokers)
    }

    async fn take(
        &self,
        next: Next,
        current: Option<Restart>,
        pods: &[roller::Pod],
        holder: &str,
    ) -> Result<Step, Error> {
        let done = pods
            .iter()
            .filter(|p| p.target == self.target && p.ready)
            .count();
        let roll = |phase, current: Option<Restart>, waiting_for| Roll {
            target: self.target.to_owned(),
            phase,
            done: i32::try_from(done).unwrap_or(i32::MAX),
            total: self.cluster.replicas,
            current,
            waiting_for,
        };
        let rolling = |current, why| Step {
            roll: Some(roll(RollPhase::Rolling, current, why)),
            note: None,
            more: true,
        };
        Ok(match next {
            Next::Idle => Step {
                roll: Some(roll(RollPhase::Idle, None, Vec::new())),
                ..Step::default()
            },
            Next::Paused { outdated } => Step {
                roll: Some(roll(
                    RollPhase::Paused,
                    None,
                    vec![format!("{outdated} brokers wait for update.strategy Auto")],
                )),
                ..Step::default()
            },
            Next::Wait { why } => Step {
                more: false,
                ..rolling(current, vec![why])
            },
            Next::Blocked { why } => Step {
                roll: Some(roll(RollPhase::Blocked, current, why)),
                ..Step::default()
            },
            // Only written here; the next look acts on it.
            Next::Record(restart) => rolling(Some(restart), Vec::new()),
            Next::Acquire { broker } => match self.acquire(broker, holder).await? {
                Ok(token) => rolling(
                    current.map(|c| Restart {
                        permit: Some(token),
                        ..c
                    }),
                    Vec::new(),
                ),
                Err(why) => Step {
                    roll: Some(roll(RollPhase::Blocked, current, vec![why])),
                    ..Step::default()
                },
            },
            Next::Drain { broker } => {
                if let Some((admin, _)) = self.brokers {
                    admin.drain(broker).await.doing("drain the broker")?;
                }
                let why = format!("leaderships are moving away from broker {broker}");
                rolling(current, vec![why])
            }
            Next::Delete {
                pod,
                uid,
                resource_version,
            } => {
                let deleted =
                    pods::delete(self.client, self.cluster, &pod, uid, resource_version).await?;
                let mut step = rolling(current, Vec::new());
                step.note = deleted.then(|| {
                    Note::normal(
                        "RestartingBroker",
                        format!("deleted {pod} to run what is asked for now"),
                    )
                    .about(self.pods.iter().find(|p| p.name_any() == pod))
                });
                step.more = false;
                step
            }
            Next::Finish { permit } => {
                if let (Some(token), Some((admin, _))) = (permit, self.brokers) {
                    // Expired or unknown is as good as given back.
                    if let Err(e) = admin.release_restart_permit(&token).await
                        && e.is_transient()
                    {
                        return Err(e).doing("give the restart permit back");
                    }
                }
                rolling(None, Vec::new())
            }
        })
    }

    /// `Err`: why there is no permit now.
    async fn acquire(&self, broker: i32, holder: &str) -> Result<Result<String, String>, Error> {
        let Some((admin, _)) = self.brokers else {
            return Ok(Err("no broker answers".to_owned()));
        };
        let request = PermitRequest {
            broker,
            holder: holder.to_owned(),
            ttl_ms: PERMIT_MS,
        };
        match admin.acquire_restart_permit(&request).await {
            Ok(permit) => Ok(Ok(permit.token)),
            Err(e)
                if matches!(
                    e.code(),
                    Some(ErrorCode::PermitHeld | ErrorCode::UnsafeToStop)
                ) =>
            {
                Ok(Err(e.to_string()))
            }
            Err(e) => Err(e).doing("grant the restart permit"),
        }
    }
}
