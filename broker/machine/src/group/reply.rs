//! What a group answers.

use std::sync::Arc;

use bytes::Bytes;

use super::{MemberId, command::Leaving};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Join(Result<Joined, Error>),
    Sync(Result<Synced, Error>),
    Heartbeat(Result<(), Error>),
    Leave(Result<Vec<Left>, Error>),
    /// One result per partition, in the order of the request.
    Commit(Result<Vec<Result<(), Error>>, Error>),
    Delete(Result<(), Error>),
    /// One result per partition, in the order of the request.
    DeleteOffsets(Result<Vec<Result<(), Error>>, Error>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub member_id: MemberId,
    pub generation: i32,
    pub protocol_type: Option<Arc<str>>,
    pub protocol: Option<Arc<str>>,
    pub leader: MemberId,
    /// Everyone, for the leader; empty for the others.
    pub members: Vec<JoinedMember>,
    pub skip_assignment: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    pub member_id: MemberId,
    pub instance_id: Option<Arc<str>>,
    /// Its subscription under the chosen protocol.
    pub metadata: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    pub protocol_type: Option<Arc<str>>,
    pub protocol: Option<Arc<str>>,
    pub assignment: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub member: Leaving,
    pub result: Result<(), Error>,
}

/// Why a group refused. The front maps each to its protocol's code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the group id is empty")]
    InvalidGroupId,
    #[error("the session timeout is outside the broker's limits")]
    InvalidSessionTimeout,
    #[error("no protocol is supported by all members")]
    InconsistentProtocol,
    #[error("the group has no such member")]
    UnknownMember,
    #[error("join again as '{0}'")]
    MemberIdRequired(MemberId),
    #[error("another member has taken this instance id")]
    FencedInstance,
    #[error("the group is full")]
    GroupFull,
    #[error("the generation is not current")]
    IllegalGeneration,
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    #[error("there is no such group")]
    GroupNotFound,
    #[error("the group has members")]
    NonEmptyGroup,
    #[error("a member subscribes to this topic")]
    SubscribedToTopic,
    #[error("the offset's metadata is too long")]
    OffsetMetadataTooLarge,
}
