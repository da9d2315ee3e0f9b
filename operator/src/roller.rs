//! Which broker may be restarted next: the state of the roll in, one step out. Pure; `now` is
//! passed in.
//!
//! A restart happens at most once per broker and target, whoever crashes in between:
//!
//! 1. [`Next::Record`]: the intent (pod and its uid) goes into the cluster's status.
//! 2. [`Next::Acquire`]: the brokers' metadata group grants the one restart permit, or refuses.
//! 3. [`Next::Drain`]: leaderships move away until none is left that can.
//! 4. [`Next::Delete`]: the verdict still allows it; the pod is deleted with its uid and resource
//!    version as preconditions, so that a stale view deletes nothing.
//! 5. [`Next::Wait`]: another uid is there, ready, registered with the brokers.
//! 6. [`Next::Finish`]: the permit is given back and the intent cleared.
//!
//! Each call looks at the world anew, so a restart of the operator at any step goes on from there. A
//! pod that runs the target is never deleted.

use std::collections::BTreeMap;

use api::admin::{Permit, Verdict};
use crds::broker_cluster::Restart;

#[cfg(test)]
mod tests;

/// A permit that ends sooner than this is renewed before it is used.
const PERMIT_MARGIN_MS: i64 = 60_000;
/// Reasons shown when a step is blocked; the rest is counted.
const REASONS_MAX: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub broker: i32,
    /// Hash of the template that it was made from.
    pub target: String,
    pub ready: bool,
    /// Deletion has begun.
    pub terminating: bool,
    /// Its broker has run, be it for a moment.
    pub started: bool,
    /// Its container cannot start (image, configuration, crash loop, no node).
    pub broken: bool,
    /// What keeps it from being ready, in words, where that is known.
    pub trouble: Option<String>,
}

impl Pod {
    /// Deleting it takes nothing away.
    fn is_idle(&self) -> bool {
        self.broken || !self.started
    }
}

/// What the brokers say, when one of them answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brokers {
    pub controller: Option<i32>,
    /// Alive and caught up.
    pub unfenced: Vec<i32>,
    pub permit: Option<Permit>,
    /// Of the candidate; see [`candidate`].
    pub verdict: Option<Verdict>,
    /// Leaderships that can still move away from the candidate, after the last drain call.
    pub movable_leaders: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct World<'a> {
    pub replicas: i32,
    pub target: &'a str,
    pub pods: &'a [Pod],
    pub current: Option<&'a Restart>,
    /// `None`: no broker answers.
    pub brokers: Option<&'a Brokers>,
    pub paused: bool,
    pub holder: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Every pod runs the target.
    Idle,
    /// There is something to restart and it is not allowed to.
    Paused {
        outdated: usize,
    },
    /// A restart is under way and takes its time; look again soon.
    Wait {
        why: String,
    },
    /// The next restart is not allowed now; look again later.
    Blocked {
        why: Vec<String>,
    },
    Record(Restart),
    Acquire {
        broker: i32,
    },
    Drain {
        broker: i32,
    },
    Delete {
        pod: String,
        uid: String,
        resource_version: String,
    },
    Finish {
        permit: Option<String>,
    },
}

/// The broker that the next step is about: its verdict has to be fetched before [`next`].
#[must_use]
pub fn candidate<'a>(world: &World<'a>) -> Option<&'a Pod> {
    match world.current {
        Some(current) => world.pods.iter().find(|p| p.name == current.pod),
        None => outdated(world).into_iter().next(),
    }
}

#[must_use]
pub fn next(world: &World<'_>, now_ms: i64) -> Next {
    match world.current {
        Some(current) => go_on(world, current, now_ms),
        None => begin(world),
    }
}

fn begin(world: &World<'_>) -> Next {
    let outdated = outdated(world);
    let Some(pod) = outdated.first() else {
        return Next::Idle;
    };
    if world.paused {
        return Next::Paused {
            outdated: outdated.len(),
        };
    }
    // A pod that has not started is repaired first and takes nobody's availability. Otherwise every
    // other broker has to be there, or a second one would be down.
    if !pod.is_idle()
        && let Some(why) = somebody_missing(world, pod)
    {
        return blocked(why);
    }
    Next::Record(Restart {
        pod: pod.name.clone(),
        uid: pod.uid.clone(),
        permit: None,
    })
}

fn go_on(world: &World<'_>, current: &Restart, now_ms: i64) -> Next {
    let finish = Next::Finish {
        permit: current
            .permit
            .clone()
            .or_else(|| ours(world).map(|p| p.token.clone())),
    };
    let Some(pod) = world.pods.iter().find(|p| p.name == current.pod) else {
        return wait(format!("{} is being made anew", current.pod));
    };
    if pod.uid != current.uid {
        return back(world, pod, finish);
    }
    if pod.terminating {
        return wait(format!("{} is stopping", pod.name));
    }
    if pod.target == world.target {
        // The change was taken back before the pod was deleted.
        return finish;
    }
    if pod.is_idle() {
        return delete(pod);
    }
    if let Some(why) = somebody_missing(world, pod) {
        return blocked(why);
    }
    let Some(brokers) = world.brokers else {
        return blocked("no broker answers".to_owned());
    };
    let Some(verdict) = &brokers.verdict else {
        return blocked(format!("no verdict about broker {} yet", pod.broker));
    };
    if !verdict.may_stop {
        return Next::Blocked {
            why: reasons(verdict),
        };
    }
    match &brokers.permit {
        // Left from a restart that was called off while no broker could be told.
        Some(p) if p.holder == world.holder && p.broker != pod.broker => {
            return Next::Finish {
                permit: Some(p.token.clone()),
            };
        }
        Some(p) if p.holder != world.holder => {
            return blocked(format!(
                "{} holds the restart permit for broker {}",
                p.holder, p.broker
            ));
        }
        Some(p) if p.expires_at_ms - now_ms >= PERMIT_MARGIN_MS => {}
        Some(_) | None => return Next::Acquire { broker: pod.broker },
    }
    if brokers.movable_leaders != Some(0) {
        return Next::Drain { broker: pod.broker };
    }
    delete(pod)
}

/// The pod was deleted; is its successor back?
fn back(world: &World<'_>, pod: &Pod, finish: Next) -> Next {
    if pod.target != world.target {
        // The target moved on meanwhile; the new pod is outdated again and takes its own turn.
        return finish;
    }
    if !pod.ready {
        // It may need those that have not started either, for a majority; they take nothing away.
        if outdated(world).iter().any(|p| p.is_idle()) {
            return finish;
        }
        // A successor that cannot start holds the roll here: no second broker is harmed.
        return if pod.broken {
            blocked(with_trouble(pod, "cannot start with the new template"))
        } else {
            wait(with_trouble(pod, "is starting"))
        };
    }
    match world.brokers {
        Some(b) if b.unfenced.contains(&pod.broker) => finish,
        Some(_) => wait(format!("broker {} is catching up", pod.broker)),
        None => wait("no broker answers".to_owned()),
    }
}

/// Pods to restart, in order: those that have not started, those not ready, then from the highest
/// ordinal down, the controller last.
fn outdated<'a>(world: &World<'a>) -> Vec<&'a Pod> {
    let controller = world.brokers.and_then(|b| b.controller);
    let mut pods: Vec<&Pod> = world
        .pods
        .iter()
        .filter(|p| p.target != world.target && !p.terminating)
        .collect();
    pods.sort_by_key(|p| {
        (
            !p.is_idle(),
            p.ready,
            Some(p.broker) == controller,
            -i64::from(p.broker),
        )
    });
    pods
}

fn somebody_missing(world: &World<'_>, except: &Pod) -> Option<String> {
    let by_broker: BTreeMap<i32, &Pod> = world.pods.iter().map(|p| (p.broker, p)).collect();
    (0..world.replicas)
        .filter(|id| *id != except.broker)
        .find_map(|id| match by_broker.get(&id) {
            None => Some(format!("broker {id} has no pod")),
            Some(p) if p.terminating => Some(format!("{} is stopping", p.name)),
            Some(p) if !p.ready => Some(with_trouble(p, "is not ready")),
            Some(_) => None,
        })
}

fn with_trouble(pod: &Pod, state: &str) -> String {
    match &pod.trouble {
        Some(trouble) => format!("{} {state}: {trouble}", pod.name),
        None => format!("{} {state}", pod.name),
    }
}

fn ours<'a>(world: &World<'a>) -> Option<&'a Permit> {
    world
        .brokers
        .and_then(|b| b.permit.as_ref())
        .filter(|p| p.holder == world.holder)
}

fn delete(pod: &Pod) -> Next {
    Next::Delete {
        pod: pod.name.clone(),
        uid: pod.uid.clone(),
        resource_version: pod.resource_version.clone(),
    }
}

fn wait(why: String) -> Next {
    Next::Wait { why }
}

fn blocked(why: String) -> Next {
    Next::Blocked { why: vec![why] }
}

/// The verdict in words.
#[must_use]
pub fn reasons(verdict: &Verdict) -> Vec<String> {
    let id = verdict.broker;
    let offline = verdict
        .would_go_offline
        .iter()
        .map(|p| format!("{p} would go offline without broker {id}"));
    let blocked = verdict
        .would_block_writes
        .iter()
        .map(|p| format!("{p} would be below min.insync.replicas without broker {id}"));
    let quorums = verdict
        .quorum_critical
        .iter()
        .map(|g| format!("{g:?} would lose its majority without broker {id}"));
    let mut all: Vec<String> = offline.chain(quorums).chain(blocked).collect();
    if all.is_empty() {
        all.push(format!("broker {id} may not stop now"));
    }
    let more = all.len().saturating_sub(REASONS_MAX);
    if more > 0 {
        all.truncate(REASONS_MAX);
        all.push(format!("and {more} more"));
    }
    all
}
