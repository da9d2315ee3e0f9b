//! Whether this broker could learn that it leads a partition no more.

use std::time::Duration;

use model::BrokerId;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::peer::Alive;

/// How long a broker follows a metadata leader that it does not hear before it counts as uninformed. Longer
/// than an election takes.
const UNINFORMED_AFTER: Duration = Duration::from_millis(500);

/// What this broker hears of the voters and of its replicas' other holders. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Contact {
    this: BrokerId,
    voters: watch::Receiver<Vec<BrokerId>>,
    alive: watch::Receiver<Alive>,
    /// See [`watch_leader`].
    uninformed: watch::Receiver<bool>,
}

impl Contact {
    pub(super) fn new(
        this: BrokerId,
        voters: watch::Receiver<Vec<BrokerId>>,
        alive: watch::Receiver<Alive>,
        uninformed: watch::Receiver<bool>,
    ) -> Self {
        Self {
            this,
            voters,
            alive,
            uninformed,
        }
    }

    /// Of a broker that is its own quorum: never lost.
    pub(super) fn alone(this: BrokerId) -> Self {
        let (_, alive) = watch::channel(Alive::default());
        let (_, uninformed) = watch::channel(false);
        Self::new(this, watch::channel(vec![this]).1, alive, uninformed)
    }

    /// Ends when this broker is not [`Self::is_informed`], and does not hear all of `in_sync` either: a
    /// successor may have been elected, and whoever waits for the in-sync set may wait in vain. While every
    /// member is heard they decide alone, and nobody else was elected among them who would not tell.
    pub async fn lost(&self, in_sync: &[BrokerId]) {
        let mut alive = self.alive.clone();
        let mut voters = self.voters.clone();
        let mut uninformed = self.uninformed.clone();
        loop {
            alive.mark_unchanged();
            voters.mark_unchanged();
            uninformed.mark_unchanged();
            if self.is_lost(in_sync) {
                return;
            }
            tokio::select! {
                Ok(()) = alive.changed() => {}
                Ok(()) = voters.changed() => {}
                Ok(()) = uninformed.changed() => {}
                // Nothing changes any more.
                else => std::future::pending().await,
            }
        }
    }

    /// As [`Self::lost`], now.
    pub fn is_lost(&self, in_sync: &[BrokerId]) -> bool {
        let uninformed = *self.uninformed.borrow();
        let (voters, alive) = (self.voters.borrow(), self.alive.borrow());
        is_lost(self.this, &voters, &alive, uninformed, in_sync)
    }

    /// Whether this broker would be told of a new leader: it hears a majority of the voters, of which it may
    /// be one, and has not been following a leader of them for long that it does not hear.
    pub fn is_informed(&self) -> bool {
        self.has_majority() && !*self.uninformed.borrow()
    }

    /// Whether a majority of the voters is heard, this broker included where it is one.
    pub fn has_majority(&self) -> bool {
        hears_majority(self.this, &self.voters.borrow(), &self.alive.borrow())
    }
}

fn is_lost(
    this: BrokerId,
    voters: &[BrokerId],
    alive: &Alive,
    uninformed: bool,
    in_sync: &[BrokerId],
) -> bool {
    let heard = |id: &BrokerId| *id == this || alive.is_alive(*id);
    (uninformed || !hears_majority(this, voters, alive)) && !in_sync.iter().all(heard)
}

fn hears_majority(this: BrokerId, voters: &[BrokerId], alive: &Alive) -> bool {
    let heard = |id: &&BrokerId| **id == this || alive.is_alive(**id);
    voters.iter().filter(heard).count() > voters.len() / 2
}

/// Says while this broker has been following a metadata leader for long that it does not hear: a voter that
/// both hear keeps the leader in place, and what the leader decides does not come here.
pub(super) async fn watch_leader(
    this: BrokerId,
    mut leader: watch::Receiver<Option<BrokerId>>,
    mut alive: watch::Receiver<Alive>,
    uninformed: watch::Sender<bool>,
) {
    let mut unheard_since = None;
    loop {
        let followed = *leader.borrow_and_update();
        let unheard = {
            let alive = alive.borrow_and_update();
            followed.is_some_and(|leader| leader != this && !alive.is_alive(leader))
        };
        let due = match (unheard, unheard_since) {
            (false, _) => None,
            (true, Some((of, since))) if of == followed => Some(since + UNINFORMED_AFTER),
            (true, _) => {
                let now = Instant::now();
                unheard_since = Some((followed, now));
                Some(now + UNINFORMED_AFTER)
            }
        };
        if !unheard {
            unheard_since = None;
        }
        let long = due.is_some_and(|due| due <= Instant::now());
        uninformed.send_if_modified(|known| std::mem::replace(known, long) != long);
        let change = async {
            tokio::select! {
                changed = leader.changed() => changed.is_ok(),
                changed = alive.changed() => changed.is_ok(),
            }
        };
        let going = match due.filter(|_| !long) {
            Some(due) => timeout_at(due, change).await.unwrap_or(true),
            None => change.await,
        };
        if !going {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIS: BrokerId = BrokerId(0);

    fn brokers(ids: &[i32]) -> Vec<BrokerId> {
        ids.iter().copied().map(BrokerId).collect()
    }

    fn hearing(alive: &[i32]) -> Alive {
        let peers = brokers(alive).into_iter().map(|id| (id, true)).collect();
        Alive { peers }
    }

    fn lost(voters: &[i32], alive: &[i32], uninformed: bool, in_sync: &[i32]) -> bool {
        let alive = hearing(alive);
        is_lost(
            THIS,
            &brokers(voters),
            &alive,
            uninformed,
            &brokers(in_sync),
        )
    }

    #[test]
    fn a_leader_that_hears_nobody_is_cut_off() {
        assert!(lost(&[0, 1, 2], &[], false, &[0, 1, 2]));
        assert!(lost(&[1, 2, 3], &[1], false, &[0, 2]));
    }

    #[test]
    fn a_leader_that_hears_a_majority_would_be_told() {
        assert!(!lost(&[0, 1, 2], &[1], false, &[0, 1, 2]));
        assert!(!lost(&[1, 2, 3], &[2, 3], false, &[0, 4]));
    }

    #[test]
    fn a_majority_does_not_tell_what_a_metadata_leader_out_of_reach_decides() {
        assert!(lost(&[0, 1, 2], &[1], true, &[0, 1, 2]));
        assert!(!lost(&[0, 1, 2], &[1], true, &[0, 1]));
    }

    #[test]
    fn a_leader_whose_in_sync_set_is_with_it_needs_no_quorum() {
        assert!(!lost(&[1, 2, 3], &[4, 5], false, &[0, 4, 5]));
        assert!(!lost(&[0, 1, 2], &[], false, &[0]));
    }

    #[tokio::test]
    async fn the_loss_is_noticed_when_it_comes() {
        let (sender, alive) = watch::channel(hearing(&[1]));
        let (_voters, voters) = watch::channel(brokers(&[0, 1]));
        let (_informed, uninformed) = watch::channel(false);
        let contact = Contact::new(THIS, voters, alive, uninformed);
        let in_sync = brokers(&[0, 1]);
        let lost = contact.lost(&in_sync);
        tokio::pin!(lost);
        assert!(futures::poll!(&mut lost).is_pending());
        sender.send_replace(Alive::default());
        lost.await;
    }

    #[tokio::test]
    async fn a_leader_that_is_not_heard_for_long_leaves_this_broker_uninformed_until_there_is_another()
     {
        let (leading, leader) = watch::channel(Some(BrokerId(1)));
        let (_peers, alive) = watch::channel(hearing(&[2]));
        let (sender, mut uninformed) = watch::channel(false);
        tokio::spawn(watch_leader(THIS, leader, alive, sender));
        uninformed.wait_for(|told| *told).await.expect("it watches");
        leading.send_replace(Some(BrokerId(2)));
        uninformed
            .wait_for(|told| !*told)
            .await
            .expect("it watches");
    }
}
