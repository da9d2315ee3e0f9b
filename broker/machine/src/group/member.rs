//! One member of a group.

use std::sync::Arc;

use bytes::Bytes;

use super::{MemberId, Ticket, record::StoredMember};

/// A way of assigning partitions that a member can follow, and what it says under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    pub name: Arc<str>,
    pub metadata: Bytes,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) instance_id: Option<Arc<str>>,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) session_timeout_ms: i32,
    /// In order of preference, never empty.
    pub(super) protocols: Arc<[Protocol]>,
    pub(super) assignment: Bytes,
    /// The join that waits for the next generation.
    pub(super) awaiting_join: Option<Ticket>,
    /// The sync that waits for the leader's assignment.
    pub(super) awaiting_sync: Option<Ticket>,
    /// Has not been part of a generation yet: it may time out while its join waits.
    pub(super) joining: bool,
    /// When the member is dropped unless it is heard of; `None` while a request of it waits.
    pub(super) deadline_ms: Option<i64>,
}

impl Member {
    pub(super) fn votes_for(&self, candidate: impl Fn(&str) -> bool) -> Option<&Protocol> {
        self.protocols.iter().find(|p| candidate(&p.name))
    }

    pub(super) fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|p| &*p.name == protocol)
    }

    /// What the member said under `protocol`; empty when it does not know it.
    pub(super) fn metadata(&self, protocol: &str) -> Bytes {
        self.votes_for(|name| name == protocol)
            .map_or_else(Bytes::new, |p| p.metadata.clone())
    }

    pub(super) fn keep_alive(&mut self, now_ms: i64) {
        self.deadline_ms = Some(now_ms + i64::from(self.session_timeout_ms));
    }

    pub(super) fn stored(&self, protocol: Option<&str>) -> StoredMember {
        StoredMember {
            id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            subscription: protocol.map_or_else(Bytes::new, |p| self.metadata(p)),
            assignment: self.assignment.clone(),
        }
    }

    /// Loaded members know one protocol: the one that was chosen.
    pub(super) fn restored(stored: &StoredMember, protocol: Option<&Arc<str>>) -> Self {
        let protocols: Vec<Protocol> = protocol
            .map(|name| Protocol {
                name: name.clone(),
                metadata: stored.subscription.clone(),
            })
            .into_iter()
            .collect();
        Self {
            id: stored.id.clone(),
            instance_id: stored.instance_id.clone(),
            client_id: stored.client_id.clone(),
            client_host: stored.client_host.clone(),
            rebalance_timeout_ms: stored.rebalance_timeout_ms,
            session_timeout_ms: stored.session_timeout_ms,
            protocols: protocols.into(),
            assignment: stored.assignment.clone(),
            awaiting_join: None,
            awaiting_sync: None,
            joining: false,
            deadline_ms: None,
        }
    }
}
