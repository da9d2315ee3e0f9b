//! What happens, and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use commitlog::SyncTask;
use machine::{
    metadata::{command::Reply, submission::Submission},
    replica::{Ack, Membership, Position, Refusal},
};
use model::{BrokerId, Epoch, Offset, TopicPartition, batch::Batch};
use replica::{Answer, Proposal, Standing};

/// A node, by its place: broker `n + 1`.
pub(crate) type NodeId = usize;

/// A follower's request, as between brokers.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub session: u64,
    pub full: bool,
    pub changed: Vec<(TopicPartition, Standing)>,
    pub removed: Vec<TopicPartition>,
}

#[derive(Clone, Debug)]
pub(crate) enum Response {
    UnknownSession,
    Partitions(Vec<(TopicPartition, Epoch, Answer)>),
}

/// One call of a follower's life to a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub follower: NodeId,
    pub life: u32,
    pub leader: NodeId,
    pub number: u64,
}

/// An attempt of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attempt {
    pub producer: usize,
    pub number: u64,
}

/// One of a producer's connections, to one life of a broker. Batches on it arrive in order until it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Connection {
    pub producer: usize,
    pub number: u64,
    pub life: u32,
}

/// What a driver is asked to do; see the broker's `driver::Job`.
#[derive(Debug)]
pub(crate) enum Job {
    Assign {
        partition: TopicPartition,
        membership: Membership,
    },
    Append {
        partition: TopicPartition,
        batch: Batch,
        ack: Ack,
        timeout_ms: i64,
        attempt: Attempt,
    },
    DeleteRecords {
        partition: TopicPartition,
        before: Offset,
    },
    FollowerAt {
        partition: TopicPartition,
        from: NodeId,
        epoch: Epoch,
        partition_epoch: i32,
        position: Position,
    },
    Lost {
        partition: TopicPartition,
        unheard: Arc<BTreeSet<BrokerId>>,
    },
    Fetched {
        partition: TopicPartition,
        leader: NodeId,
        session: u64,
        epoch: Epoch,
        answer: Answer,
    },
    Synced {
        partition: TopicPartition,
        outcome: Result<Offset, commitlog::Error>,
    },
    ProposalRefused {
        partition: TopicPartition,
        partition_epoch: i32,
    },
    ResignationRefused {
        partition: TopicPartition,
        partition_epoch: i32,
    },
}

/// What waits for an answer of the quorum.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Registration,
    Unfence,
    Drain,
    Proposal(TopicPartition, i32, Proposal),
    Resignation(TopicPartition, i32),
}

#[derive(Debug)]
pub(crate) enum Event {
    // Between brokers.
    Request {
        call: Call,
        request: Request,
    },
    Response {
        call: Call,
        response: Option<Response>,
    },
    // Inside a broker. The number is its life.
    Drive(NodeId, u32),
    Answer(NodeId, u32, NodeId),
    Fetch(NodeId, u32, NodeId),
    Sync(NodeId, u32, TopicPartition, Box<SyncTask>),
    Submit(NodeId, u32, Asked),
    Apply(NodeId, u32),
    // The quorum.
    Offered(Box<Submission>, u32),
    Replied(NodeId, u32, u64, Option<(u64, Reply)>),
    Supervise,
    // Clients.
    Produce {
        to: NodeId,
        partition: TopicPartition,
        batch: Batch,
        ack: Ack,
        timeout_ms: i64,
        attempt: Attempt,
        on: Connection,
    },
    Produced {
        attempt: Attempt,
        outcome: Result<Offset, Option<Refusal>>,
    },
    Producer(usize),
    Consumer(usize),
    // What goes wrong.
    Fault,
    Resume(NodeId),
    Restart(NodeId),
    Mend(Wound),
    Close(NodeId, u32),
}

/// What a fault did and time heals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wound {
    /// No messages from the first to the second.
    Link(NodeId, NodeId),
    Quorum(NodeId),
    FullDisk(NodeId),
}

impl Event {
    /// The node that has to be awake for it.
    pub(crate) fn at(&self) -> Option<NodeId> {
        match self {
            Self::Request { call, .. } => Some(call.leader),
            Self::Response { call, .. } => Some(call.follower),
            Self::Drive(n, _)
            | Self::Answer(n, _, _)
            | Self::Fetch(n, _, _)
            | Self::Sync(n, _, _, _)
            | Self::Submit(n, _, _)
            | Self::Apply(n, _)
            | Self::Replied(n, _, _, _)
            | Self::Close(n, _) => Some(*n),
            Self::Produce { to, .. } => Some(*to),
            _ => None,
        }
    }
}

/// Events by time; those of one time in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    events: BTreeMap<(u64, u64), Event>,
    next: u64,
}

impl Agenda {
    pub(crate) fn at(&mut self, time_us: u64, event: Event) {
        self.events.insert((time_us, self.next), event);
        self.next += 1;
    }

    /// The next one, if it comes by then. A later one keeps its place among those of its time.
    pub(crate) fn pop_until(&mut self, until_us: u64) -> Option<(u64, Event)> {
        let first = self.events.first_entry()?;
        let (at, _) = *first.key();
        (at <= until_us).then(|| (at, first.remove()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_time_keep_their_order_when_a_look_ends_before_them() {
        let mut agenda = Agenda::default();
        agenda.at(20, Event::Resume(1));
        agenda.at(20, Event::Resume(2));
        agenda.at(10, Event::Resume(0));
        let mut happened = Vec::new();
        for until in [5, 15, 20] {
            while let Some((_, Event::Resume(n))) = agenda.pop_until(until) {
                happened.push(n);
            }
        }
        assert_eq!(happened, [0, 1, 2]);
    }
}
