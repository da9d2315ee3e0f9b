//! Who campaigns when. Groups have no ticks: the mesh's failure detector says when a leader is gone,
//! and this says whose turn it is.
//!
//! The preferred voter campaigns first, then the others in turn, each a step later, so that two
//! rarely campaign at once. Nobody campaigns without a majority in reach, and everybody asks first
//! whether it would be elected (Pre-Vote): a voter that could not win only raises the term, and a
//! leader that restarts with an old log would unseat its successor.

use std::time::Duration;

use model::BrokerId;
use openraft::ServerState;
use openraft::rt::WatchReceiver;
use tokio::time::{Instant, timeout_at};

use super::applier::Applier;
use super::types::{broker_id, node_id};
use super::{Members, Raft};
use crate::peer::{Alive, Mesh};

#[cfg(test)]
mod tests;

/// How much later each further voter campaigns.
const STEP: Duration = Duration::from_millis(150);
/// A campaign that was refused (the old leader's lease, a tie) is repeated after this.
/// Doubled each time up to [`CAMPAIGN`], since answers may take longer than that.
const AGAIN: Duration = Duration::from_millis(25);
/// How long a campaign may stand. The next one throws away the votes of this one, and each vote waits
/// for a disk.
const CAMPAIGN: Duration = Duration::from_secs(1);
/// How long a preferred voter must be up before it is handed the leadership.
const HAND_OVER_AFTER: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing to do until something changes.
    Rest,
    /// Campaign after this time, unless a leader shows up.
    Campaign(Duration),
    /// Lead, but the preferred voter is up: let it take over after a while.
    HandOver(BrokerId),
}

/// What one voter knows.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    pub(super) this: BrokerId,
    pub(super) voters: &'a [BrokerId],
    pub(super) preferred: BrokerId,
    /// The last known leader of this term.
    pub(super) leader: Option<BrokerId>,
    pub(super) leading: bool,
    /// Has voted for itself and waits for the others, or for its own disk.
    pub(super) campaigning: bool,
    pub(super) alive: &'a Alive,
}

/// Decides for one voter.
pub(super) fn decide(view: &View<'_>) -> Step {
    let up = |id: &BrokerId| *id == view.this || view.alive.is_alive(*id);
    if !view.voters.contains(&view.this) {
        return Step::Rest;
    }
    if view.leading {
        let elsewhere = view.preferred != view.this && view.voters.contains(&view.preferred);
        return if elsewhere && up(&view.preferred) {
            Step::HandOver(view.preferred)
        } else {
            Step::Rest
        };
    }
    // A leader of old that is this broker itself was forgotten in a restart.
    if view
        .leader
        .is_some_and(|leader| leader != view.this && up(&leader))
    {
        return Step::Rest;
    }
    let up_count = view.voters.iter().filter(|id| up(id)).count();
    if up_count * 2 <= view.voters.len() {
        return Step::Rest;
    }
    let start = view
        .voters
        .iter()
        .position(|id| *id == view.preferred)
        .unwrap_or(0);
    let turn = view
        .voters
        .iter()
        .cycle()
        .skip(start)
        .take(view.voters.len())
        .filter(|id| up(id))
        .position(|id| *id == view.this)
        .unwrap_or(0);
    let after = STEP * u32::try_from(turn).unwrap_or(u32::MAX);
    Step::Campaign(if view.campaigning {
        CAMPAIGN + after
    } else {
        after
    })
}

/// Watches one group for as long as it runs.
pub(super) async fn supervise(
    raft: Raft,
    applier: Applier,
    mesh: Mesh,
    members: Members,
    leader: tokio::sync::watch::Sender<Option<BrokerId>>,
) {
    let this = mesh.this_broker();
    let mut alive = mesh.alive();
    let mut metrics = raft.server_metrics();
    let mut waiting_since: Option<Instant> = None;
    let mut again = AGAIN;
    loop {
        let (view_leader, state, voters) = {
            let seen = metrics.borrow_and_update();
            let voters: Vec<_> = seen.membership_config.voter_ids().map(broker_id).collect();
            (seen.current_leader.map(broker_id), seen.state, voters)
        };
        let leading = state == ServerState::Leader;
        if !leading {
            applier.follow();
        }
        let published = view_leader.filter(|id| *id != this || leading);
        leader.send_if_modified(|known| std::mem::replace(known, published) != published);
        let step = {
            let alive = alive.borrow_and_update();
            decide(&View {
                this,
                voters: &voters,
                preferred: members.preferred,
                leader: view_leader,
                leading,
                campaigning: state == ServerState::Candidate,
                alive: &alive,
            })
        };
        let after = match step {
            Step::Rest => None,
            Step::Campaign(after) => Some(after),
            Step::HandOver(_) => Some(HAND_OVER_AFTER),
        };
        // Changes on the way must not put the moment off for ever.
        let due = after.map(|after| *waiting_since.get_or_insert_with(Instant::now) + after);
        if due.is_none() {
            waiting_since = None;
            again = AGAIN;
        }
        let change = async {
            tokio::select! {
                changed = metrics.changed() => changed.is_ok(),
                changed = alive.changed() => changed.is_ok(),
            }
        };
        let changed = match due {
            None => Some(change.await),
            Some(due) => timeout_at(due, change).await.ok(),
        };
        let acted = match (changed, step) {
            (Some(going), _) => {
                if !going {
                    return;
                }
                continue;
            }
            (None, Step::Rest) => continue,
            (None, Step::Campaign(_)) => raft.trigger().elect(true).await,
            (None, Step::HandOver(to)) => raft.trigger().transfer_leader(node_id(to)).await,
        };
        if acted.is_err() {
            return;
        }
        waiting_since = Some(Instant::now() + again);
        again = (again * 2).min(CAMPAIGN);
    }
}
