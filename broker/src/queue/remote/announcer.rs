//! Tells the other brokers what this one is short of.

use std::collections::BTreeMap;
use std::time::Duration;

use model::BrokerId;
use tokio::sync::watch;
use tokio::time::sleep;

use super::frame::Frame;
use crate::peer::{Mesh, Service};
use crate::queue::pressure::Shortage;

/// Between two tries to tell a peer that answers heartbeats.
const RETRY: Duration = Duration::from_millis(200);

/// Runs until the broker goes down. A peer that comes back is told again; one that never heard of a
/// shortage is not told that there is none.
pub(super) async fn run(mesh: Mesh, mut here: watch::Receiver<Option<Shortage>>) {
    let mut alive = mesh.alive();
    let mut told: BTreeMap<BrokerId, Shortage> = BTreeMap::new();
    loop {
        let shortage = *here.borrow_and_update();
        let peers = alive.borrow_and_update().clone();
        told.retain(|broker, _| peers.is_alive(*broker));
        let mut all_told = true;
        for (broker, _) in peers.peers.iter().filter(|(_, answers)| **answers) {
            if told.get(broker).copied() == shortage {
                continue;
            }
            let frame = Frame::Shortage(shortage).encode();
            match mesh.call(*broker, Service::Queue, frame).await {
                Ok(_) => {
                    match shortage {
                        Some(shortage) => told.insert(*broker, shortage),
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
        }
    }
}
