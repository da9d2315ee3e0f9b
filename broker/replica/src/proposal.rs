//! Asking the cluster for another in-sync set (KIP-497), as often as it takes to know the outcome.
//!
//! A leader counts the members it proposed until it knows that the set was not taken. So an outcome
//! that is unknown is never told as a refusal: the proposal is made again until the cluster has
//! answered or the image has moved past the version it was made for.

use machine::metadata::{
    command::{Command, Refusal, Reply},
    image::{Image, Partition},
};
use model::{BrokerId, Epoch, TopicPartition};

/// One proposal, until its outcome is known.
#[derive(Clone, Debug)]
pub struct Proposal {
    partition: TopicPartition,
    leader: BrokerId,
    leader_epoch: Epoch,
    partition_epoch: i32,
    isr: Vec<BrokerId>,
    /// An earlier attempt may be carried out yet.
    unsure: bool,
}

/// What an answer of the quorum says of a proposal.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The image has a later version, agreed on or made otherwise: it reaches the leader by itself.
    Settled,
    /// Not taken.
    Refused(String),
    /// It may be carried out or not.
    Unknown,
}

/// What to do after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: the image says it.
    Done,
    /// Tell the replica that the set was not taken and never will be.
    Refuse(String),
    /// Submit again, after a pause.
    Again,
}

impl Proposal {
    /// Of the replica on `leader` that leads `partition`.
    pub fn new(
        partition: TopicPartition,
        leader: BrokerId,
        in_sync: Vec<BrokerId>,
        leader_epoch: Epoch,
        partition_epoch: i32,
    ) -> Self {
        Self {
            partition,
            leader,
            leader_epoch,
            partition_epoch,
            isr: in_sync,
            unsure: false,
        }
    }

    /// Members may stay as they are; whoever joins must be alive and staying. The quorum checks the
    /// same: looking here first keeps what is known to be refused off its log.
    pub fn is_eligible(&self, image: &Image) -> bool {
        let Some(current) = find(image, self.partition) else {
            return false;
        };
        let mut joining = self.isr.iter().filter(|b| !current.isr.contains(b));
        joining.all(|b| image.is_active(*b))
    }

    pub fn command(&self) -> Command {
        Command::AlterPartition {
            topic: self.partition.topic,
            partition: self.partition.partition,
            leader: self.leader,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            isr: self.isr.clone(),
        }
    }

    /// What follows from the quorum's answer; `image` is the newest here.
    pub fn answered(&mut self, verdict: Verdict, image: &Image) -> Next {
        match verdict {
            Verdict::Settled => return Next::Done,
            Verdict::Refused(why) if !self.unsure => return Next::Refuse(why),
            Verdict::Refused(_) => match find(image, self.partition) {
                // Agreeing on what is agreed on already makes the earlier attempt stale.
                Some(agreed) => self.isr.clone_from(&agreed.isr),
                None => return Next::Done,
            },
            Verdict::Unknown => self.unsure = true,
        }
        match find(image, self.partition) {
            Some(agreed) if agreed.partition_epoch <= self.partition_epoch => Next::Again,
            // Past it, or gone.
            _ => Next::Done,
        }
    }
}

impl Verdict {
    /// `None` when no answer came.
    pub fn of(answer: Option<Reply>) -> Self {
        match answer {
            // The quorum may have carried out the same proposal before, when its answer was lost.
            Some(Reply::Refused(Refusal::StalePartitionEpoch | Refusal::FencedLeaderEpoch)) => {
                Self::Settled
            }
            Some(Reply::Refused(refusal)) => Self::Refused(refusal.to_string()),
            Some(_) => Self::Settled,
            None => Self::Unknown,
        }
    }
}

fn find(image: &Image, partition: TopicPartition) -> Option<&Partition> {
    let number = usize::try_from(partition.partition).ok()?;
    let topic = image.topics.get(&partition.topic)?;
    topic.partitions.get(number).map(AsRef::as_ref)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_of_unknown_outcome_is_not_taken_for_refused() {
        assert_eq!(Verdict::of(None), Verdict::Unknown);
        for refusal in [Refusal::StalePartitionEpoch, Refusal::FencedLeaderEpoch] {
            let answer = Some(Reply::Refused(refusal));
            assert_eq!(Verdict::of(answer), Verdict::Settled);
        }
        let refusal = Refusal::IneligibleReplica;
        let refused = Verdict::Refused(refusal.to_string());
        assert_eq!(Verdict::of(Some(Reply::Refused(refusal))), refused);
        let taken = Verdict::of(Some(Reply::PartitionEpoch(3)));
        assert_eq!(taken, Verdict::Settled);
    }
}
