//! Followers whose connection is lost leave the in-sync sets of what is led here.
//!
//! The leader of the metadata fences who is silent to it. Two others may hear it and not each other, and
//! then it is for the one that leads to see that records are acknowledged without the one that follows.

use std::{collections::BTreeSet, sync::Arc};

use model::BrokerId;
use tokio::sync::watch;

use super::{Driver, Hosted, Job, Mailbox};
use crate::peer::Alive;

/// Tells the drivers of every change. A peer that was never heard is not lost: it is waited for.
pub(in crate::partition) async fn watch(mut alive: watch::Receiver<Alive>, drivers: Vec<Mailbox>) {
    let mut heard = BTreeSet::new();
    let mut told = BTreeSet::new();
    loop {
        let unheard = unheard(&alive.borrow_and_update(), &mut heard);
        if unheard != told {
            let unheard = Arc::new(unheard);
            told.clone_from(&unheard);
            for driver in &drivers {
                let unheard = unheard.clone();
                driver.send(Job::Lost { unheard });
            }
        }
        if alive.changed().await.is_err() {
            return;
        }
    }
}

fn unheard(alive: &Alive, heard: &mut BTreeSet<BrokerId>) -> BTreeSet<BrokerId> {
    let now = alive.peers.iter().filter(|(_, is_alive)| **is_alive);
    heard.extend(now.map(|(id, _)| *id));
    heard.retain(|id| alive.peers.contains_key(id));
    let unheard = heard.iter().filter(|id| !alive.is_alive(**id));
    unheard.copied().collect()
}

impl Driver {
    pub(super) fn lost(&mut self, unheard: Arc<BTreeSet<BrokerId>>, now_ms: i64) {
        for (partition, hosted) in &mut self.hosted {
            hosted.lost(unheard.clone(), now_ms);
            self.touched.insert(*partition);
        }
        self.unheard = unheard;
    }
}

impl Hosted {
    pub(super) fn lost(&mut self, unheard: Arc<BTreeSet<BrokerId>>, now_ms: i64) {
        let effects = self.local.lost(unheard, now_ms);
        self.act(effects);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_peer_that_was_heard_and_is_still_one_is_lost() {
        let mut heard = BTreeSet::new();
        let mut look = |peers: &[(i32, bool)]| {
            let peers = peers.iter().map(|(id, is)| (BrokerId(*id), *is));
            unheard(
                &Alive {
                    peers: peers.collect(),
                },
                &mut heard,
            )
        };
        assert!(look(&[(1, false), (2, false)]).is_empty());
        assert!(look(&[(1, true), (2, false)]).is_empty());
        assert_eq!(
            look(&[(1, false), (2, false)]),
            BTreeSet::from([BrokerId(1)])
        );
        assert!(look(&[(2, false)]).is_empty());
        assert!(look(&[(1, false), (2, false)]).is_empty());
    }
}
