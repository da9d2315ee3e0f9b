//! How a voter comes to take part in a group: a new one begins as below, and one that has forgotten is
//! brought back as [`super::rejoin`] says.
//!
//! An empty log is that of a new group, or what is left of one whose disk was lost. Two of three voters
//! with empty logs must not begin a group of their own while the third holds its log and is down. So a
//! group begins only
//!
//! - when every voter has answered and none holds anything of it, or
//! - when a majority of its voters holds nothing and still has the data directories that were there when
//!   the group was made: had it begun, one of a majority would know. That is known of a queue shard, whose
//!   metadata names the directories; nothing older than the metadata could name those of its own group.
//!
//! Otherwise it waits, for ever if need be. When the voter that is missing is gone for good, so is what
//! only it had: whoever accepts that empties the data directories of all voters and starts them together.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use futures::future::join_all;
use model::BrokerId;
use openraft::EmptyNode;
use openraft::rt::WatchReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::halt::Halt;
use super::membership;
use super::network::{self, LEADERLESS};
use super::rejoin::{Goal, Goals, Part, Standing};
use super::store::Store;
use super::types::node_id;
use super::{GroupId, Members, Raft};
use crate::peer::{Mesh, Service};

#[cfg(test)]
mod tests;

const AGAIN: Duration = Duration::from_millis(20);
/// How long a voter waits for the others before it says whom it waits for.
const PATIENCE: Duration = Duration::from_secs(5);
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

/// Decides for one voter by its own standing and those of the others that answered. `voters` are those of
/// the configuration and all whom others hold for voters; a majority of each of the `memberships` that were
/// told must remember, or of `voters` where none was.
pub(super) fn decide(
    this: BrokerId,
    voters: &[BrokerId],
    own: Standing,
    others: &BTreeMap<BrokerId, Standing>,
    memberships: &[Vec<BrokerId>],
) -> Verdict {
    let majority = voters.len() / 2 + 1;
    if own.is_blank() && others.values().all(Standing::is_blank) {
        let original = others.values().filter(|other| other.original).count();
        let known_new = own.original && original + 1 >= majority;
        if others.len() + 1 < voters.len() && !known_new {
            return Verdict::Wait;
        }
        let begun = own.last.is_some() || others.values().any(|other| other.last.is_some());
        let lowest = others.keys().all(|other| this < *other);
        return Verdict::Begin {
            form: !begun && lowest,
        };
    }
    let remembering = others.values().filter(|other| other.remembers);
    let remembers = |members: &[BrokerId]| {
        let remembering = |id: &&BrokerId| others.get(id).is_some_and(|other| other.remembers);
        members.iter().filter(remembering).count() > members.len() / 2
    };
    let majorities = match memberships {
        [] => remembers(voters),
        told => told.iter().all(|members| remembers(members)),
    };
    if others.len() + 1 < voters.len() || !majorities {
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
        let begun = Instant::now();
        let mut voters = self.members.voters.clone();
        loop {
            let part = *self.part.borrow();
            if let Part::Rejoining(goal) = part {
                return self.reach(goal).await;
            }
            if part == Part::Voter && self.raft.is_initialized().await.unwrap_or(true) {
                return Ok(());
            }
            let own = self.store.standing(part, self.members.original);
            let (others, memberships) = self.ask(&mut voters).await;
            match decide(self.mesh.this_broker(), &voters, own, &others, &memberships) {
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
                    let has_begun = others.values().any(|other| !other.is_blank());
                    // Voters that start together find each other in a moment.
                    if has_begun || begun.elapsed() >= PATIENCE {
                        self.tell_wait(&voters, &others, has_begun, &mut told);
                    }
                }
            }
            sleep(AGAIN).await;
        }
    }

    /// Says who is waited for, whenever that changes.
    fn tell_wait(
        &self,
        voters: &[BrokerId],
        others: &BTreeMap<BrokerId, Standing>,
        has_begun: bool,
        told: &mut Option<(bool, Vec<BrokerId>)>,
    ) {
        let this = self.mesh.this_broker();
        let missing = |id: &BrokerId| match others.get(id) {
            Some(other) => has_begun && !other.remembers,
            None => true,
        };
        let voters = voters.iter().copied();
        let voters: Vec<_> = voters.filter(|id| *id != this && missing(id)).collect();
        let now = (has_begun, voters);
        if told.as_ref() == Some(&now) {
            return;
        }
        let (_, voters) = &*told.insert(now);
        let group = self.group.0;
        if has_begun {
            tracing::warn!(
                group,
                ?voters,
                "the group has begun, but this broker's log of it is empty: it takes part once these voters have answered; start them"
            );
        } else {
            tracing::warn!(
                group,
                ?voters,
                "no voter that has answered knows the group: it begins once these have answered, since one of them may hold its log; start them"
            );
        }
    }

    /// Standings of all that answer but this broker, and the memberships that they know. Whom these name
    /// beside `voters` is asked too from the next time on: the configuration may be older than they are.
    async fn ask(
        &self,
        voters: &mut Vec<BrokerId>,
    ) -> (BTreeMap<BrokerId, Standing>, Vec<Vec<BrokerId>>) {
        let this = self.mesh.this_broker();
        let others = voters.iter().filter(|id| **id != this);
        let asking = others.map(|voter| async move {
            // In this order: the membership is as new as what the standing tells.
            let standing = network::probe(&self.mesh, self.group, *voter).await?;
            let told = membership::ask(&self.mesh, self.group, *voter).await;
            Some((*voter, standing, told.unwrap_or_default()))
        });
        let answers = join_all(asking).await;
        let mut standings = BTreeMap::new();
        let mut memberships = Vec::new();
        for (voter, standing, told) in answers.into_iter().flatten() {
            standings.insert(voter, standing);
            if !told.voters.is_empty() {
                memberships.push(told.voters.iter().map(|(id, _)| *id).collect());
            }
            for (id, address) in told.voters {
                if !voters.contains(&id) {
                    voters.push(id);
                }
                if let Some(address) = address {
                    self.mesh.reach(id, address);
                }
            }
        }
        (standings, memberships)
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
