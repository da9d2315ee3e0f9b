//! Who campaigns when. Groups have no ticks: the mesh's failure detector says when a leader is gone,
//! and this says whose turn it is.
//!
//! The preferred voter campaigns first, then the others in turn, each a step later, so that two
//! rarely campaign at once. Nobody campaigns without a majority in reach, and everybody asks first
//! whether it would be elected (Pre-Vote): a voter that could not win only raises the term, and a
//! leader that restarts with an old log would unseat its successor.
//!
//! A leader whose disk is full hands over to a voter with room, and leads again when it has room itself: it
//! could only refuse what is proposed. For the same reason it campaigns last.
//!
//! A leader that has begun to hand over refuses writes from then on, whether or not anybody takes the
//! leadership: it goes on offering it, to the other voters too, until it is rid of it.

use std::time::Duration;

use model::BrokerId;
use openraft::ServerState;
use openraft::rt::WatchReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::applier::Applier;
use super::config::VOTE_TIMEOUT_MS;
use super::rejoin::Part;
use super::types::{Vote, broker_id, node_id};
use super::wal::room::Room;
use super::{GroupId, Members, Raft, network};
use crate::peer::{Alive, Mesh};

#[cfg(test)]
mod tests;

/// How much later each further voter campaigns.
const STEP: Duration = Duration::from_millis(150);
/// A campaign that was refused (the old leader's lease, a tie) is repeated after this.
/// Doubled each time up to [`CAMPAIGN`], since answers may take longer than that.
const AGAIN: Duration = Duration::from_millis(25);
/// How long a campaign may stand: the votes for it come by then, or are lost. Each further one is given more
/// time, up to [`CAMPAIGN`], since its own vote waits for a disk too.
const STANDING: Duration = Duration::from_millis(VOTE_TIMEOUT_MS + 30);
/// How long the campaign of a rival may stand before its vote is taken back.
const CAMPAIGN: Duration = Duration::from_secs(1);
/// How long a preferred voter must be up before it is handed the leadership.
const HAND_OVER_AFTER: Duration = Duration::from_secs(3);
/// A leadership that was not taken is offered to the next voter after this; longer than a voter
/// waits for its own disk before it declines.
const OFFER_AGAIN: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing to do until something changes.
    Rest,
    /// Campaign after this time, unless a leader shows up.
    Campaign(Duration),
    /// Lead, but another voter should: let it take over after this time.
    HandOver(BrokerId, Duration),
}

/// What one voter knows.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    pub(super) this: BrokerId,
    pub(super) voters: &'a [BrokerId],
    /// May vote, for itself too; see [`super::rejoin`].
    pub(super) may_vote: bool,
    pub(super) preferred: BrokerId,
    /// The last known leader of this term.
    pub(super) leader: Option<BrokerId>,
    pub(super) leading: bool,
    /// Whom it has voted for, itself perhaps, without a leader having come of it so far: the others, or
    /// some disk, may not have answered yet.
    pub(super) voted_for: Option<BrokerId>,
    /// Should lead only if nobody else can: the disk here has no room for entries, or this voter is to
    /// leave.
    pub(super) unfit: bool,
    /// How many voters were found not fit to be offered the leadership of a full disk.
    pub(super) passed: usize,
    /// How often this leadership was offered to others in vain.
    pub(super) offers: usize,
    pub(super) alive: &'a Alive,
}

/// Decides for one voter.
pub(super) fn decide(view: &View<'_>) -> Step {
    let up = |id: &BrokerId| *id == view.this || view.alive.is_alive(*id);
    if !view.voters.contains(&view.this) || !view.may_vote {
        return Step::Rest;
    }
    if view.leading {
        let wanted = view.preferred != view.this && view.voters.contains(&view.preferred);
        if view.offers == 0 && !view.unfit {
            return if wanted && up(&view.preferred) {
                Step::HandOver(view.preferred, HAND_OVER_AFTER)
            } else {
                Step::Rest
            };
        }
        let others = in_turn(view).filter(|id| *id != view.this && up(id));
        let others: Vec<_> = others.collect();
        let turn = (view.offers + view.passed).checked_rem(others.len());
        return match turn.and_then(|turn| others.get(turn)) {
            Some(to) => Step::HandOver(*to, OFFER_AGAIN),
            None => Step::Rest,
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
    let turn = match view.unfit {
        true => view.voters.len(),
        false => in_turn(view)
            .filter(|id| up(id))
            .position(|id| id == view.this)
            .unwrap_or(0),
    };
    let after = STEP * u32::try_from(turn).unwrap_or(u32::MAX);
    Step::Campaign(match view.voted_for {
        Some(id) if id == view.this => STANDING + after,
        // A campaign of its own would take that vote back.
        Some(id) if up(&id) => CAMPAIGN + after,
        _ => after,
    })
}

/// The voters, the preferred one first.
fn in_turn(view: &View<'_>) -> impl Iterator<Item = BrokerId> {
    let start = view.voters.iter().position(|id| *id == view.preferred);
    let cycle = view.voters.iter().copied().cycle();
    cycle.skip(start.unwrap_or(0)).take(view.voters.len())
}

/// What the watch over a group stands on.
pub(super) struct Parts {
    pub(super) group: GroupId,
    pub(super) raft: Raft,
    pub(super) applier: Applier,
    pub(super) mesh: Mesh,
    pub(super) members: Members,
}

/// What the users of a group see of it.
pub(super) struct Seen {
    pub(super) leading: watch::Sender<Option<BrokerId>>,
    pub(super) voting: watch::Sender<Vec<BrokerId>>,
}

/// Watches one group for as long as it runs.
pub(super) async fn supervise(
    parts: Parts,
    mut part: watch::Receiver<Part>,
    mut room: watch::Receiver<Room>,
    mut leaving: watch::Receiver<u64>,
    seen_by_all: Seen,
) {
    let Seen {
        leading: leader,
        voting,
    } = seen_by_all;
    let Parts {
        group,
        raft,
        applier,
        mesh,
        members,
    } = parts;
    let this = mesh.this_broker();
    let mut alive = mesh.alive();
    let mut metrics = raft.server_metrics();
    let mut waiting_since: Option<Instant> = None;
    let mut again = AGAIN;
    // The vote by which this broker leads, and how often that leadership was offered.
    let mut offered: Option<(Vote, usize)> = None;
    let mut passed = 0;
    loop {
        let (view_leader, state, vote, voters) = {
            let seen = metrics.borrow_and_update();
            let voters: Vec<_> = seen.membership_config.voter_ids().map(broker_id).collect();
            let leader = seen.current_leader.map(broker_id);
            (leader, seen.state, seen.vote, voters)
        };
        let leading = state == ServerState::Leader;
        // Nobody has told of any before the group has begun.
        voting.send_if_modified(|known| {
            let differs = !voters.is_empty() && *known != voters;
            if differs {
                known.clone_from(&voters);
            }
            differs
        });
        offered = offered.filter(|(by, _)| leading && *by == vote);
        let offers = offered.map_or(0, |(_, offers)| offers);
        if !leading {
            applier.follow();
        }
        let published = view_leader.filter(|id| *id != this || leading);
        leader.send_if_modified(|known| std::mem::replace(known, published) != published);
        let may_vote = *part.borrow_and_update() == Part::Voter;
        let full = *room.borrow_and_update() != Room::Ample;
        let leaving_term = *leaving.borrow_and_update();
        let leaves = leading && leaving_term == vote.leader_id.term;
        let step = {
            let alive = alive.borrow_and_update();
            decide(&View {
                this,
                voters: &voters,
                may_vote,
                preferred: members.preferred,
                leader: view_leader,
                leading,
                voted_for: match state {
                    ServerState::Candidate => Some(this),
                    // Its own campaign of before a restart is over.
                    _ => standing_for(&vote).filter(|id| *id != this),
                },
                unfit: full || leaves,
                passed,
                offers,
                alive: &alive,
            })
        };
        let after = match step {
            Step::Rest => None,
            Step::Campaign(after) | Step::HandOver(_, after) => Some(after),
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
                changed = part.changed(), if !may_vote => changed.is_ok(),
                // It ends with the writer of the log, and the group soon after.
                Ok(()) = room.changed() => true,
                Ok(()) = leaving.changed() => true,
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
            (None, Step::HandOver(to, _)) => {
                // An offer cannot be taken back: the first goes to a voter that has caught up and has room.
                if offers > 0 || (has_all(&raft, to) && has_room(&mesh, group, to).await) {
                    offered = Some((vote, offers + 1));
                    raft.trigger().transfer_leader(node_id(to)).await
                } else {
                    passed += 1;
                    Ok(())
                }
            }
        };
        if acted.is_err() {
            return;
        }
        waiting_since = Some(Instant::now());
        if let Step::Campaign(_) = step {
            waiting_since = Some(Instant::now() + again);
            again = (again * 2).min(CAMPAIGN);
        }
    }
}

/// The candidate of a vote that has not made a leader.
fn standing_for(vote: &Vote) -> Option<BrokerId> {
    let given = !vote.committed && vote.leader_id.term > 0;
    given.then(|| broker_id(vote.leader_id.voted_for))
}

/// Whether a voter is known to have the whole log of this leader.
fn has_all(raft: &Raft, voter: BrokerId) -> bool {
    let metrics = raft.metrics();
    let seen = metrics.borrow_watched();
    let progress = seen.replication.as_ref();
    let matched = progress.and_then(|progress| progress.get(&node_id(voter)).copied().flatten());
    matched.map(|id| id.index) >= seen.last_log_index
}

/// Whether a voter says that its disk has room.
async fn has_room(mesh: &Mesh, group: GroupId, voter: BrokerId) -> bool {
    let said = timeout(OFFER_AGAIN, network::probe(mesh, group, voter)).await;
    matches!(said, Ok(Some(standing)) if standing.has_room)
}
