//! Hosts on other brokers, and sessions of other brokers.

use std::sync::Arc;

use super::links::{Batch, Host, Links};
use super::protocol::{Response, SessionKey};
use crate::peer::Mesh;
use crate::raft::Groups;

pub(crate) struct Remote {}

impl Remote {
    pub(crate) fn start(_links: &Arc<Links>, _mesh: &Mesh, _groups: Groups) -> Self {
        Self {}
    }

    /// Gives the batch back when its host cannot be reached at all.
    pub(crate) fn send(&self, _host: Host, batch: Batch) -> Option<Batch> {
        Some(batch)
    }

    pub(crate) fn push(&self, _session: SessionKey, _responses: Vec<Response>) {}
}
