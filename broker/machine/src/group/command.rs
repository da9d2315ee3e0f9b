//! What can be asked of one group.

use std::sync::Arc;

use model::TopicId;

use super::{MemberId, member::Protocol};

#[derive(Clone, Debug)]
pub enum Command {
    Join(Join),
    Sync(Sync),
    Heartbeat(Heartbeat),
    Leave(Leave),
    Commit(Commit),
    /// Removes the group and its offsets; refused while it has members.
    Delete,
    /// Removes offsets of topics that no member subscribes to, in the order given.
    DeleteOffsets(Vec<(Arc<str>, i32)>),
    /// Removes offsets of topics that are gone from the cluster; answers nothing. Offsets of a new topic
    /// of the same name stay.
    ForgetTopics(Arc<[(Arc<str>, TopicId)]>),
    /// Time has passed: run the deadlines that are due; answers nothing of its own.
    Elapse,
    /// Drops offsets past their retention, and the group when nothing is left; answers nothing.
    ExpireOffsets,
}

#[derive(Clone, Debug)]
pub struct Join {
    /// Empty for a member that has none yet.
    pub member_id: MemberId,
    /// What to call the member if it has no id: unique, drawn by the caller.
    pub fresh_member_id: MemberId,
    /// `group.instance.id`: a static member keeps its place over restarts.
    pub instance_id: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub session_timeout_ms: i32,
    pub rebalance_timeout_ms: i32,
    pub protocol_type: Arc<str>,
    /// In order of preference.
    pub protocols: Vec<Protocol>,
    /// The client takes an id first and joins with it (JoinGroup v4, KIP-394).
    pub id_required_first: bool,
    /// The client understands "you lead, but nothing is to be assigned" (JoinGroup v9, KIP-814).
    pub can_skip_assignment: bool,
}

#[derive(Clone, Debug)]
pub struct Sync {
    pub member_id: MemberId,
    pub instance_id: Option<Arc<str>>,
    pub generation: i32,
    pub protocol_type: Option<Arc<str>>,
    pub protocol: Option<Arc<str>>,
    /// From the leader only.
    pub assignments: Vec<(MemberId, bytes::Bytes)>,
}

#[derive(Clone, Debug)]
pub struct Heartbeat {
    pub member_id: MemberId,
    pub instance_id: Option<Arc<str>>,
    pub generation: i32,
}

#[derive(Clone, Debug)]
pub struct Leave {
    pub members: Vec<Leaving>,
}

/// An empty `member_id` with an `instance_id` is an administrator removing a static member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    pub member_id: MemberId,
    pub instance_id: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub struct Commit {
    /// Empty from consumers that assign partitions themselves, and from admin tools.
    pub member_id: MemberId,
    pub instance_id: Option<Arc<str>>,
    /// -1 from the same.
    pub generation: i32,
    /// Retention asked for by clients up to OffsetCommit v4; `None` = the broker's.
    pub retention_ms: Option<i64>,
    pub partitions: Vec<CommitPartition>,
}

#[derive(Clone, Debug)]
pub struct CommitPartition {
    pub topic: Arc<str>,
    pub topic_id: TopicId,
    pub partition: i32,
    pub offset: i64,
    /// -1 when the client does not know.
    pub leader_epoch: i32,
    pub metadata: Arc<str>,
}
