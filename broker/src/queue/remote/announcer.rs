//! Tells the other brokers what this one is short of.

use std::collections::BTreeMap;
use std::time::Duration;

use model::BrokerId;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::frame::Frame;
use crate::peer::{Mesh, Service};
use crate::queue::pressure::Shortage;

/// Between two tries to tell a peer that answers heartbeats.
const RETRY: Duration = Duration::from_millis(200);
/// How often a shortage is told again: a peer forgets it when it takes this broker for dead, which this
/// broker need not notice.
const TELL_AGAIN: Duration = Duration::from_secs(5);

/// Runs until the broker goes down. A peer that never heard of a shortage is not told that there is none.
pub(super) async fn run(mesh: Mesh, mut here: watch::Receiver<Option<Shortage>>) {
    let mut alive = mesh.alive();
    let mut told: BTreeMap<BrokerId, (Shortage, Instant)> = BTreeMap::new();
    loop {
        let shortage = *here.borrow_and_update();
        let peers = alive.borrow_and_update().clone();
        told.retain(|broker, _| peers.is_alive(*broker));
        let mut all_told = true;
        for (broker, _) in peers.peers.iter().filter(|(_, answers)| **answers) {
            let known = told.get(broker);
            let fresh = known.is_none_or(|(_, at)| at.elapsed() < TELL_AGAIN);
            if fresh && known.map(|(of, _)| *of) == shortage {
                continue;
            }
            let frame = Frame::Shortage(shortage).encode();
            match mesh.call(*broker, Service::Queue, frame).await {
                Ok(_) => {
                    match shortage {
                        Some(shortage) => told.insert(*broker, (shortage, Instant::now())),
                        None => told.remove(broker),
                    };
                }
                Err(error) => {
                    tracing::debug!(%broker, %error, "a peer was not told of a shortage");
                    all_told = false;
                }
            }
        }
        tokio::select! {
            changed = here.changed() => if changed.is_err() { return },
            changed = alive.changed() => if changed.is_err() { return },
            () = sleep(RETRY), if !all_told => {}
            () = sleep(TELL_AGAIN), if !told.is_empty() => {}
        }
    }
}
