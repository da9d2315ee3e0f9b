//! One group as its users see it: proposals, who leads, how far it has come.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use model::BrokerId;
use openraft::rt::WatchReceiver;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::applier::Applier;
use super::{Config, GroupId, Raft, types};

/// Unit in which waiting bytes are counted: semaphores count in 32 bits.
const ROOM_UNIT_BYTES: usize = 1024;

/// Why a proposal was not carried out, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Surely without effect: the entry never reached the log.
    #[error("this broker does not lead the group")]
    NotLeader { hint: Option<BrokerId> },
    /// Surely without effect.
    #[error("too many proposals wait")]
    Overloaded,
    /// Surely without effect; taken again once there is room, here or on a broker that takes over.
    #[error("the disk under the write-ahead log is full; free space on it")]
    NoRoom,
    /// Surely without effect, and will be each time.
    #[error(
        "a command of {bytes} bytes is larger than the limit of {max}; raise millrace.wal.file.bytes"
    )]
    TooLarge { bytes: usize, max: usize },
    /// Leadership was lost while the entry was under way: it may yet be applied, or not.
    #[error("the outcome is unknown: leadership changed")]
    Unknown,
    /// The group stopped on this broker: its disk failed or the broker is going down.
    #[error("the group has stopped on this broker")]
    Stopped,
}

/// Handle to one group on this broker. Cheap to clone.
#[derive(Clone)]
pub struct Group {
    pub(super) queue: Queue,
    pub(super) leader: watch::Receiver<Option<BrokerId>>,
    pub(super) voters: watch::Receiver<Vec<BrokerId>>,
    pub(super) replicated: Option<Replicated>,
}

/// Where proposals wait; bounded in number and bytes.
#[derive(Clone)]
pub(super) struct Queue {
    proposals: mpsc::Sender<Proposal>,
    room: Arc<Semaphore>,
    room_units: u32,
    command_bytes_max: usize,
}

/// What stands behind a group that is not in memory only.
#[derive(Clone)]
pub(super) struct Replicated {
    pub(super) id: GroupId,
    pub(super) raft: Raft,
    pub(super) applier: Applier,
    /// Term in which this broker is not to lead.
    pub(super) leaving: Arc<watch::Sender<u64>>,
    /// Held while the voters are changed.
    pub(super) changing: Arc<tokio::sync::Mutex<()>>,
}

/// State of one group as this broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub leader: Option<BrokerId>,
    pub term: u64,
    pub last_index: u64,
    /// Index of the last entry that is known here to be committed; `None` before the first.
    pub committed: Option<u64>,
    pub voters: Vec<BrokerId>,
    /// Whether a change of the voters has begun and not ended.
    pub changing: bool,
    pub learners: Vec<BrokerId>,
}

pub(super) struct Proposal {
    pub(super) command: Bytes,
    pub(super) reply: oneshot::Sender<Result<Bytes, ProposeError>>,
    _room: OwnedSemaphorePermit,
}

// === impl Queue ===

impl Queue {
    /// Commands of at most `command_bytes_max` bytes each, and where they come out.
    pub(super) fn new(
        config: &Config,
        command_bytes_max: usize,
    ) -> (Self, mpsc::Receiver<Proposal>) {
        let (proposals, waiting) = mpsc::channel(config.waiting_commands_max);
        let units = config.waiting_bytes_max / ROOM_UNIT_BYTES;
        let room_units = u32::try_from(units).unwrap_or(u32::MAX >> 4).max(1);
        let queue = Self {
            proposals,
            room: Arc::new(Semaphore::new(room_units as usize)),
            room_units,
            command_bytes_max,
        };
        (queue, waiting)
    }

    fn put(
        &self,
        command: Bytes,
    ) -> Result<oneshot::Receiver<Result<Bytes, ProposeError>>, ProposeError> {
        let units = u32::try_from(command.len() / ROOM_UNIT_BYTES + 1).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room)
            .try_acquire_many_owned(units.min(self.room_units))
            .map_err(|_| ProposeError::Overloaded)?;
        let (reply, outcome) = oneshot::channel();
        let proposal = Proposal {
            command,
            reply,
            _room: room,
        };
        match self.proposals.try_send(proposal) {
            Ok(()) => Ok(outcome),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ProposeError::Overloaded),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ProposeError::Stopped),
        }
    }
}

// === impl Group ===

impl Group {
    /// Has `command` replicated and applied here, and gives the machine's reply. Commands of one
    /// caller that awaits each are in order; concurrent ones share entries.
    pub async fn propose(&self, command: Bytes) -> Result<Bytes, ProposeError> {
        self.enqueue(command)?
            .await
            .unwrap_or(Err(ProposeError::Unknown))
    }

    /// [`ProposeError::TooLarge`] if no group of this configuration could ever write the command.
    pub fn check_size(&self, command: &Bytes) -> Result<(), ProposeError> {
        let (bytes, max) = (command.len(), self.queue.command_bytes_max);
        if bytes > max {
            return Err(ProposeError::TooLarge { bytes, max });
        }
        Ok(())
    }

    /// As [`Group::propose`], but queues at once and in order; the receiver yields the outcome.
    pub fn enqueue(
        &self,
        command: Bytes,
    ) -> Result<oneshot::Receiver<Result<Bytes, ProposeError>>, ProposeError> {
        self.check_size(&command)?;
        self.queue.put(command)
    }

    /// Who leads, as far as this broker knows.
    pub fn leader(&self) -> watch::Receiver<Option<BrokerId>> {
        self.leader.clone()
    }

    /// The voters: those of the configuration until the group tells others. While they are changed, those
    /// before and those after.
    pub fn voters(&self) -> watch::Receiver<Vec<BrokerId>> {
        self.voters.clone()
    }

    /// Index of the last entry applied here; for a group in memory always 0.
    pub fn applied(&self) -> watch::Receiver<u64> {
        match &self.replicated {
            Some(replicated) => replicated.applier.applied(),
            None => watch::channel(0).1,
        }
    }

    pub fn status(&self) -> Status {
        let leader = *self.leader.borrow();
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return Status {
                leader,
                term: 1,
                ..Status::default()
            };
        };
        let metrics = raft.metrics();
        let seen = metrics.borrow_watched();
        let membership = seen.membership_config.membership();
        Status {
            leader,
            term: seen.current_term,
            last_index: seen.last_log_index.unwrap_or(0),
            committed: seen.local_committed.map(|id| id.index),
            voters: membership.voter_ids().map(types::broker_id).collect(),
            changing: membership.get_joint_config().len() > 1,
            learners: membership.learner_ids().map(types::broker_id).collect(),
        }
    }

    /// Makes a broker follow the log without a vote. Only on the leader; no error if it does already.
    pub async fn add_learner(&self, broker: BrokerId) -> Result<(), ProposeError> {
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return Ok(());
        };
        let node = openraft::EmptyNode::new();
        match raft.add_learner(types::node_id(broker), node, false).await {
            Ok(_) => Ok(()),
            Err(openraft::errors::RaftError::Fatal(_)) => Err(ProposeError::Stopped),
            Err(openraft::errors::RaftError::APIError(_)) => {
                Err(ProposeError::NotLeader { hint: None })
            }
        }
    }

    /// Ends what [`Self::add_learner`] began. Only on the leader; no error if it does not follow.
    pub async fn remove_learner(&self, broker: BrokerId) -> Result<(), ProposeError> {
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return Ok(());
        };
        let gone = openraft::ChangeMembers::RemoveNodes([types::node_id(broker)].into());
        match raft.change_membership(gone, false).await {
            Ok(_) => Ok(()),
            Err(openraft::errors::RaftError::Fatal(_)) => Err(ProposeError::Stopped),
            Err(openraft::errors::RaftError::APIError(_)) => {
                Err(ProposeError::NotLeader { hint: None })
            }
        }
    }

    /// Index up to which each member's log is known to agree with the leader's, this broker; `None` where
    /// nothing is known. Empty unless this broker leads.
    pub fn progress(&self) -> BTreeMap<BrokerId, Option<u64>> {
        let Some(Replicated { raft, .. }) = &self.replicated else {
            return BTreeMap::new();
        };
        let metrics = raft.metrics();
        let seen = metrics.borrow_watched();
        seen.replication
            .iter()
            .flatten()
            .map(|(node, matched)| (types::broker_id(*node), matched.map(|id| id.index)))
            .collect()
    }
}
