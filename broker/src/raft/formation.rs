//! How a group begins: its voters are known beforehand, and the lowest one in reach writes the first
//! membership once a majority says that the group has not begun.
//!
//! A voter that lost its disk finds that the group has begun and waits to be told.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use model::BrokerId;
use openraft::EmptyNode;
use tokio::time::sleep;

use super::network::{self, PROBE};
use super::types::node_id;
use super::{GroupId, Members, Raft};
use crate::peer::{Mesh, Service};

const AGAIN: Duration = Duration::from_millis(20);

/// Ends once the group has begun here.
pub(super) async fn form(raft: Raft, group: GroupId, members: Members, mesh: Mesh) {
    let this = mesh.this_broker();
    if !members.voters.contains(&this) {
        return;
    }
    loop {
        match raft.is_initialized().await {
            Ok(false) => {}
            Ok(true) | Err(_) => return,
        }
        let mut fresh = vec![this];
        let mut begun = false;
        for voter in members.voters.iter().filter(|id| **id != this) {
            match probe(&mesh, *voter, group).await {
                Some(true) => begun = true,
                Some(false) => fresh.push(*voter),
                None => {}
            }
        }
        let lowest = fresh.iter().min() == Some(&this);
        if !begun && lowest && fresh.len() * 2 > members.voters.len() {
            let nodes: BTreeMap<_, _> = members
                .voters
                .iter()
                .map(|id| (node_id(*id), EmptyNode::new()))
                .collect();
            match raft.initialize(nodes).await {
                Ok(()) => tracing::info!(group = group.0, voters = ?members.voters, "group formed"),
                Err(error) => tracing::debug!(group = group.0, %error, "group not formed"),
            }
        }
        sleep(AGAIN).await;
    }
}

/// Whether the group has begun there; `None` = no answer.
async fn probe(mesh: &Mesh, voter: BrokerId, group: GroupId) -> Option<bool> {
    let request: Bytes = network::request(PROBE, group).freeze();
    let reply = mesh.call(voter, Service::Raft, request).await.ok()?;
    reply.first().map(|begun| *begun != 0)
}
