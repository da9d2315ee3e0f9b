//! Tells the other brokers what this one is short of: each by a task of its own, so that one that does
//! not answer keeps nobody else waiting.

use std::collections::BTreeMap;
use std::time::Duration;

use model::BrokerId;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::frame::Frame;
use crate::peer::{Mesh, Service};
use crate::queue::pressure::Shortage;

/// Between two tries to tell a peer that answers heartbeats.
const RETRY: Duration = Duration::from_millis(200);
/// How often a shortage is told again: a peer forgets it when it takes this broker for dead, which this
/// broker need not notice.
const TELL_AGAIN: Duration = Duration::from_secs(5);

/// Runs until the broker goes down.
pub(super) async fn run(mesh: Mesh, here: watch::Receiver<Option<Shortage>>) {
    let mut alive = mesh.alive();
    // One task at most for a peer; all end with this one.
    let mut tasks = JoinSet::new();
    let mut told = BTreeMap::new();
    loop {
        let peers = alive.borrow_and_update().clone();
        told.retain(|broker, task: &mut tokio::task::AbortHandle| {
            let answers = peers.is_alive(*broker);
            if !answers {
                task.abort();
            }
            answers
        });
        for (broker, _) in peers.peers.iter().filter(|(_, answers)| **answers) {
            let (mesh, here) = (mesh.clone(), here.clone());
            told.entry(*broker)
                .or_insert_with(|| tasks.spawn(tell(*broker, mesh, here)));
        }
        tokio::select! {
            changed = alive.changed() => if changed.is_err() { return },
            Some(_ended) = tasks.join_next() => {}
        }
    }
}

/// Tells one peer for as long as it answers heartbeats. One that cannot have heard of a shortage is not told
/// that there is none.
async fn tell(broker: BrokerId, mesh: Mesh, mut here: watch::Receiver<Option<Shortage>>) {
    let mut may_know = false;
    loop {
        let shortage = *here.borrow_and_update();
        let mut told = true;
        if may_know || shortage.is_some() {
            may_know = true;
            let frame = Frame::Shortage(shortage).encode();
            let call = timeout(TELL_AGAIN, mesh.call(broker, Service::Queue, frame));
            told = matches!(call.await, Ok(Ok(_)));
            if told {
                may_know = shortage.is_some();
            } else {
                tracing::debug!(%broker, "a peer was not told of a shortage");
            }
        }
        tokio::select! {
            changed = here.changed() => if changed.is_err() { return },
            () = sleep(RETRY), if !told => {}
            () = sleep(TELL_AGAIN), if may_know => {}
        }
    }
}
