//! From what a request names to the replica on this broker that answers for it.

use kafka_wire::ErrorCode;
use machine::metadata::image::Image;
use model::{BrokerId, Epoch, TopicPartition};
use uuid::Uuid;

use super::{Front, directory};
use crate::partition::{Handle, Role, Status};

/// No replica here can answer. Names the leader where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) code: ErrorCode,
    pub(super) leader: Option<(BrokerId, Epoch)>,
}

impl Missing {
    fn new(code: ErrorCode) -> Self {
        Self { code, leader: None }
    }
}

/// The replica of a partition named by topic id, or by name when the id is nil.
pub(super) fn find(
    front: &Front,
    image: &Image,
    name: &str,
    id: Uuid,
    index: i32,
) -> Result<Handle, Missing> {
    let Some(topic) = directory::topic(image, name, id) else {
        return Err(Missing::new(if id.is_nil() {
            ErrorCode::UnknownTopicOrPartition
        } else {
            ErrorCode::UnknownTopicId
        }));
    };
    let Some(partition) = directory::partition(topic, index) else {
        return Err(Missing::new(ErrorCode::UnknownTopicOrPartition));
    };
    let target = TopicPartition {
        topic: topic.id,
        partition: index,
    };
    front.roster.get(target).ok_or_else(|| Missing {
        code: ErrorCode::NotLeaderOrFollower,
        leader: partition.leader.map(|id| (id, partition.leader_epoch)),
    })
}

/// The state of a replica that leads, in the epoch the client believes in if it states one (-1: not).
pub(super) fn leading(replica: &Handle, believed_epoch: i32) -> Result<Status, ErrorCode> {
    let status = replica.status();
    let current = status.leader_epoch.0;
    if believed_epoch >= 0 && believed_epoch < current {
        return Err(ErrorCode::FencedLeaderEpoch);
    }
    if believed_epoch > current {
        return Err(ErrorCode::UnknownLeaderEpoch);
    }
    match status.role {
        Role::Leader => Ok(status),
        Role::Follower => Err(ErrorCode::NotLeaderOrFollower),
    }
}
