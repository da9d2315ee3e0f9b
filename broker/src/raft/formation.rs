//! How a voter comes to take part in a group: a new one begins once a majority knows nothing of it,
//! and one that has forgotten is brought back as [`super::rejoin`] says.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use futures::future::join_all;
use model::BrokerId;
use openraft::EmptyNode;
use openraft::rt::WatchReceiver;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::halt::Halt;
use super::network::{self, LEADERLESS};
use super::rejoin::{Goal, Goals, Part, Standing};
use super::store::Store;
use super::types::node_id;
use super::{GroupId, Members, Raft};
use crate::peer::{Mesh, Service};

#[cfg(test)]
mod tests;

const AGAIN: Duration = Duration::from_millis(20);
/// How often a voter that has forgotten says so while it hears of no leader.
const DISCLAIM_AGAIN: Duration = Duration::from_millis(500);

/// What to do about a group that this voter has nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Too few have answered to tell.
    Wait,
    /// The group is new: vote, and where `form` is set write the first membership.
    Begin { form: bool },
    /// The group has begun without this log.
    Rejoin(Goal),
}

/// Decides for one voter by its own standing and those of the others that answered.
pub(super) fn decide(
    this: BrokerId,
    voters: &[BrokerId],
    own: Standing,
    others: &BTreeMap<BrokerId, Standing>,
) -> Verdict {
    let majority = voters.len() / 2 + 1;
    if own.is_blank() && others.values().all(Standing::is_blank) {
        if others.len() + 1 < majority {
            return Verdict::Wait;
        }
        let begun = own.last.is_some() || others.values().any(|other| other.last.is_some());
        let lowest = others.keys().all(|other| this < *other);
        return Verdict::Begin {
            form: !begun && lowest,
        };
    }
    let remembering = others.values().filter(|other| other.remembers);
    if others.len() + 1 < voters.len() || remembering.clone().count() < majority {
        return Verdict::Wait;
    }
    Verdict::Rejoin(Goal {
        term: remembering
            .clone()
            .map(|other| other.term)
            .max()
            .unwrap_or(0),
        last: remembering.filter_map(|other| other.last).max(),
    })
}

/// Ends once this broker takes part as a voter.
pub(super) struct Formation {
    pub(super) raft: Raft,
    pub(super) group: GroupId,
    pub(super) members: Members,
    pub(super) mesh: Mesh,
    pub(super) store: Store,
    pub(super) goals: Goals,
    pub(super) part: watch::Sender<Part>,
    pub(super) halt: Halt,
}

impl Formation {
    /// Brings the part from what it was at the start to [`Part::Voter`], and begins a new group.
    pub(super) async fn run(self) {
        if let Err(error) = self.take_part().await {
            self.halt.because(format!(
                "this broker cannot rejoin raft group {}: {error}; see to its disk and start it again",
                self.group.0
            ));
            // The group must not think that nobody will ever tell it more.
            std::future::pending::<()>().await;
        }
    }

    async fn take_part(&self) -> io::Result<()> {
        if !self.members.voters.contains(&self.mesh.this_broker()) {
            return Ok(());
        }
        let mut told = None;
        loop {
            let part = *self.part.borrow();
            if let Part::Rejoining(goal) = part {
                return self.reach(goal).await;
            }
            if part == Part::Voter && self.raft.is_initialized().await.unwrap_or(true) {
                return Ok(());
            }
            let own = self.store.standing(part);
            let others = self.ask().await;
            match decide(self.mesh.this_broker(), &self.members.voters, own, &others) {
                Verdict::Begin { form } => {
                    self.part.send_replace(Part::Voter);
                    if form {
                        self.form().await;
                    }
                }
                Verdict::Rejoin(goal) if part == Part::Unknown => {
                    self.begin_to_rejoin(goal).await?;
                    continue;
                }
                // Begun by others meanwhile: its first entries are on their way.
                Verdict::Rejoin(_) => {}
                Verdict::Wait => {
                    let unheard = self.unheard(&others);
                    if others.values().any(|other| !other.is_blank())
                        && told.as_ref() != Some(&unheard)
                    {
                        tracing::warn!(
                            group = self.group.0,
                            voters = ?unheard,
                            "the group has begun, but this broker's log of it is empty: it takes part once these voters have answered; start them"
                        );
                        told = Some(unheard);
                    }
                }
            }
            sleep(AGAIN).await;
        }
    }

    fn unheard(&self, others: &BTreeMap<BrokerId, Standing>) -> Vec<BrokerId> {
        let this = self.mesh.this_broker();
        let voters = self.members.voters.iter().copied();
        voters
            .filter(|id| *id != this && others.get(id).is_none_or(|other| !other.remembers))
            .collect()
    }

    async fn ask(&self) -> BTreeMap<BrokerId, Standing> {
        let this = self.mesh.this_broker();
        let voters = self.members.voters.iter().filter(|id| **id != this);
        let asking = voters.map(|voter| async move {
            let standing = network::probe(&self.mesh, self.group, *voter).await?;
            Some((*voter, standing))
        });
        join_all(asking).await.into_iter().flatten().collect()
    }

    /// Tells the voters that this broker leads nothing.
    async fn disclaim(&self) {
        let this = self.mesh.this_broker();
        let voters = self.members.voters.iter().filter(|id| **id != this);
        let telling = voters.map(|voter| {
            let told = network::request(LEADERLESS, self.group).freeze();
            self.mesh.call(*voter, Service::Raft, told)
        });
        // Told again as long as nobody leads.
        drop(join_all(telling).await);
    }

    async fn form(&self) {
        let voters = &self.members.voters;
        let nodes: BTreeMap<_, _> = voters
            .iter()
            .map(|id| (node_id(*id), EmptyNode::new()))
            .collect();
        match self.raft.initialize(nodes).await {
            Ok(()) => tracing::info!(group = self.group.0, ?voters, "group formed"),
            Err(error) => tracing::debug!(group = self.group.0, %error, "group not formed"),
        }
    }

    async fn begin_to_rejoin(&self, goal: Goal) -> io::Result<()> {
        tracing::warn!(
            group = self.group.0,
            term = goal.term,
            last = ?goal.last,
            "the group has begun, but this broker's log of it is empty: it follows without a vote until it has caught up"
        );
        let (goals, group) = (self.goals.clone(), self.group);
        tokio::task::spawn_blocking(move || goals.put(group, goal)).await??;
        self.part.send_replace(Part::Rejoining(goal));
        Ok(())
    }

    /// Waits until the log has come to the goal, durably, then votes.
    async fn reach(&self, goal: Goal) -> io::Result<()> {
        let mut metrics = self.raft.metrics();
        while self.store.last() < goal.last {
            if metrics.borrow_and_update().current_leader.is_none() {
                self.disclaim().await;
            }
            if let Ok(Err(_)) = timeout(DISCLAIM_AGAIN, metrics.changed()).await {
                return Ok(());
            }
        }
        self.store.sync().await?;
        let (goals, group) = (self.goals.clone(), self.group);
        tokio::task::spawn_blocking(move || goals.remove(group)).await??;
        self.part.send_replace(Part::Voter);
        tracing::info!(group = self.group.0, "caught up: this broker votes again");
        Ok(())
    }
}
