//! What a group writes down. The coordinator's driver turns these into the bytes of
//! `__consumer_offsets`; nothing here knows them.

use std::sync::Arc;

use bytes::Bytes;

use super::{GroupId, MemberId, offsets::Committed};

/// One record of `__consumer_offsets`; a later one of the same key replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// `None` removes the offset.
    Offset {
        key: OffsetKey,
        value: Option<Committed>,
    },
    /// `None` removes the group.
    Group {
        group: GroupId,
        value: Option<Generation>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetKey {
    pub group: GroupId,
    pub topic: Arc<str>,
    pub partition: i32,
}

/// The outcome of a rebalance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// `None` for a group that nobody has joined yet.
    pub protocol_type: Option<Arc<str>>,
    pub generation: i32,
    pub protocol: Option<Arc<str>>,
    pub leader: Option<MemberId>,
    /// When the group came into this state; `None` in records of very old brokers.
    pub since_ms: Option<i64>,
    pub members: Vec<StoredMember>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMember {
    pub id: MemberId,
    pub instance_id: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// What the member said when it joined, under the chosen protocol.
    pub subscription: Bytes,
    pub assignment: Bytes,
}
