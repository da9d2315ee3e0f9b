//! Whether a leader takes a batch, and where it goes.

use model::{Epoch, Offset, batch::Header};

use super::{Ack, Replica, Token, producers::Known};

/// What becomes of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// To be written with this base offset and epoch. Answered by an effect, after
    /// [`Replica::written`].
    Write {
        base_offset: Offset,
        epoch: Epoch,
    },
    /// Was written before. Answered by an effect, perhaps only when its first writing is committed.
    Duplicate(Placed),
    Refused(Refusal),
}

/// Where a batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub base_offset: Offset,
    pub last_offset: Offset,
    /// Newest timestamp of the batch, milliseconds since 1970.
    pub timestamp: i64,
}

/// Why an append is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this replica does not lead")]
    NotLeader,
    /// Nothing was written.
    #[error("{in_sync} replicas in sync, {required} required")]
    NotEnough { in_sync: usize, required: usize },
    /// Written, may yet be committed.
    #[error("written, but {in_sync} replicas in sync, {required} required")]
    NotEnoughAfterWrite { in_sync: usize, required: usize },
    /// Written, may yet be committed.
    #[error("replicas did not follow in time")]
    Timeout,
    #[error("sequence {given} of producer {producer}, {expected} expected")]
    OutOfOrder {
        producer: i64,
        given: i32,
        expected: i32,
    },
    #[error("epoch {given} of producer {producer}, {current} is current")]
    StaleProducer {
        producer: i64,
        given: i16,
        current: i16,
    },
    #[error("{0}")]
    Storage(String),
}

impl Replica {
    /// Takes, recognises or refuses a batch that has been checked. What is taken must be written in
    /// the order of the calls, then [`Self::written`] or [`Self::write_failed`] told.
    pub fn admit(
        &mut self,
        header: &Header,
        ack: Ack,
        deadline_ms: i64,
        token: Token,
    ) -> Admission {
        let (in_sync, required) = (self.membership.in_sync.len(), self.required());
        let epoch = self.membership.leader_epoch;
        let Some(leading) = &mut self.leading else {
            return Admission::Refused(Refusal::NotLeader);
        };
        if let Some(failing) = &self.failing {
            return Admission::Refused(Refusal::Storage(failing.why.clone()));
        }
        if ack == Ack::InSync && in_sync < required {
            return Admission::Refused(Refusal::NotEnough { in_sync, required });
        }
        match self.producers.check(header) {
            Err(refusal) => Admission::Refused(refusal),
            Ok(Known::Before(placed)) => {
                let upto = Offset(placed.last_offset.0 + 1);
                leading.waiting.add(ack, upto, deadline_ms, token);
                Admission::Duplicate(placed)
            }
            Ok(Known::New) => {
                let base_offset = leading.staged;
                let placed = Header {
                    base_offset,
                    ..*header
                };
                self.producers.observe(&placed);
                leading.staged = placed.next_offset();
                leading.waiting.add(ack, leading.staged, deadline_ms, token);
                Admission::Write { base_offset, epoch }
            }
        }
    }
}
