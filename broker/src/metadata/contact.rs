//! Whether this broker could learn that it leads a partition no more.

use model::BrokerId;
use tokio::sync::watch;

use crate::peer::Alive;

/// What this broker hears of the voters and of its replicas' other holders. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Contact {
    this: BrokerId,
    voters: watch::Receiver<Vec<BrokerId>>,
    alive: watch::Receiver<Alive>,
}

impl Contact {
    pub(super) fn new(
        this: BrokerId,
        voters: watch::Receiver<Vec<BrokerId>>,
        alive: watch::Receiver<Alive>,
    ) -> Self {
        Self {
            this,
            voters,
            alive,
        }
    }

    /// Of a broker that is its own quorum: never lost.
    pub(super) fn alone(this: BrokerId) -> Self {
        let (_, alive) = watch::channel(Alive::default());
        Self::new(this, watch::channel(vec![this]).1, alive)
    }

    /// Ends when this broker hears neither a majority of the voters nor all of `in_sync`: a successor may
    /// have been elected, and whoever waits for the in-sync set may wait in vain. While every member is
    /// heard they decide alone, and nobody else was elected among them who would not tell.
    pub async fn lost(&self, in_sync: &[BrokerId]) {
        let mut alive = self.alive.clone();
        let mut voters = self.voters.clone();
        let mut told = true;
        loop {
            drop(voters.borrow_and_update());
            let lost = |alive: &Alive| is_lost(self.this, &self.voters.borrow(), alive, in_sync);
            tokio::select! {
                still_told = async { alive.wait_for(lost).await.is_ok() } => {
                    if !still_told {
                        // Nothing changes any more.
                        std::future::pending::<()>().await;
                    }
                    return;
                }
                changed = voters.changed(), if told => told = changed.is_ok(),
            }
        }
    }

    /// As [`Self::lost`], now.
    pub fn is_lost(&self, in_sync: &[BrokerId]) -> bool {
        is_lost(
            self.this,
            &self.voters.borrow(),
            &self.alive.borrow(),
            in_sync,
        )
    }

    /// Whether a majority of the voters is heard, this broker included where it is one.
    pub fn has_majority(&self) -> bool {
        hears_majority(self.this, &self.voters.borrow(), &self.alive.borrow())
    }
}

fn is_lost(this: BrokerId, voters: &[BrokerId], alive: &Alive, in_sync: &[BrokerId]) -> bool {
    let heard = |id: &BrokerId| *id == this || alive.is_alive(*id);
    !hears_majority(this, voters, alive) && !in_sync.iter().all(heard)
}

fn hears_majority(this: BrokerId, voters: &[BrokerId], alive: &Alive) -> bool {
    let heard = |id: &&BrokerId| **id == this || alive.is_alive(**id);
    voters.iter().filter(heard).count() > voters.len() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIS: BrokerId = BrokerId(0);

    fn brokers(ids: &[i32]) -> Vec<BrokerId> {
        ids.iter().copied().map(BrokerId).collect()
    }

    fn lost(voters: &[i32], alive: &[i32], in_sync: &[i32]) -> bool {
        let peers = brokers(alive).into_iter().map(|id| (id, true)).collect();
        let alive = Alive { peers };
        is_lost(THIS, &brokers(voters), &alive, &brokers(in_sync))
    }

    #[test]
    fn a_leader_that_hears_nobody_is_cut_off() {
        assert!(lost(&[0, 1, 2], &[], &[0, 1, 2]));
        assert!(lost(&[1, 2, 3], &[1], &[0, 2]));
    }

    #[test]
    fn a_leader_that_hears_a_majority_would_be_told() {
        assert!(!lost(&[0, 1, 2], &[1], &[0, 1, 2]));
        assert!(!lost(&[1, 2, 3], &[2, 3], &[0, 4]));
    }

    #[test]
    fn a_leader_whose_in_sync_set_is_with_it_needs_no_quorum() {
        assert!(!lost(&[1, 2, 3], &[4, 5], &[0, 4, 5]));
        assert!(!lost(&[0, 1, 2], &[], &[0]));
    }

    #[tokio::test]
    async fn the_loss_is_noticed_when_it_comes() {
        let (sender, alive) = watch::channel(Alive {
            peers: [(BrokerId(1), true)].into(),
        });
        let (_voters, voters) = watch::channel(brokers(&[0, 1]));
        let contact = Contact::new(THIS, voters, alive);
        let in_sync = brokers(&[0, 1]);
        let lost = contact.lost(&in_sync);
        tokio::pin!(lost);
        assert!(futures::poll!(&mut lost).is_pending());
        sender.send_modify(|alive| {
            alive.peers.insert(BrokerId(1), false);
        });
        lost.await;
    }
}
