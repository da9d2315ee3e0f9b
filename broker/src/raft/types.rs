//! openraft's type parameters for every group, and short names for what follows from them.

use std::fmt;

use bytes::Bytes;
use model::BrokerId;
use openraft::type_config::alias;

openraft::declare_raft_types!(
    /// One configuration for all groups: an entry is opaque bytes, a node is its broker id, and a
    /// term has one leader (so that a log id is term and index).
    pub(super) TypeConfig:
        D = Payload,
        R = Replies,
        NodeId = u64,
        Node = openraft::EmptyNode,
        LeaderId = openraft::impls::leader_id_std::LeaderId<u64, u64>,
        AsyncRuntime = openraft_rt_tokio::TokioRuntime,
);

pub(super) type Entry = alias::EntryOf<TypeConfig>;
pub(super) type EntryPayload = openraft::EntryPayload<Payload, u64, openraft::EmptyNode>;
pub(super) type LogId = alias::LogIdOf<TypeConfig>;
pub(super) type Vote = alias::VoteOf<TypeConfig>;
pub(super) type Membership = openraft::Membership<u64, openraft::EmptyNode>;
pub(super) type StoredMembership = alias::StoredMembershipOf<TypeConfig>;
pub(super) type SnapshotMeta = alias::SnapshotMetaOf<TypeConfig>;

/// The commands of one entry, as encoded by [`super::codec::encode_commands`]; encoded once by the
/// leader and carried unchanged.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Payload(pub(super) Bytes);

/// What the machine answered, one per command.
#[derive(Clone, Debug, Default)]
pub(super) struct Replies(pub(super) Vec<Bytes>);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

pub(super) fn log_id(term: u64, index: u64) -> LogId {
    LogId::new(alias::CommittedLeaderIdOf::<TypeConfig>::new(term), index)
}

pub(super) fn term(log_id: &LogId) -> u64 {
    *log_id.leader_id
}

/// Broker ids are never negative.
pub(super) fn node_id(broker: BrokerId) -> u64 {
    u64::from(broker.0.unsigned_abs())
}

pub(super) fn broker_id(node: u64) -> BrokerId {
    BrokerId(i32::try_from(node).unwrap_or(-1))
}
