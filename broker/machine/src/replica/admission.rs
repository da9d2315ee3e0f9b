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
        now_ms: i64,
        deadline_ms: i64,
        token: Token,
    ) -> Admission {
        if let Some(why) = self.inability(ack) {
            let expected = self.producers.expected(header);
            self.missed.note_refused(header, expected, &why, now_ms);
            return Admission::Refused(why);
        }
        let known = match self.producers.check(header) {
            Err(refusal) => {
                let missed = match refusal {
                    Refusal::OutOfOrder { expected, .. } => {
                        self.missed.reason(header, Some(expected), now_ms)
                    }
                    _ => None,
                };
                return Admission::Refused(missed.unwrap_or(refusal));
            }
            Ok(Known::First) => {
                if let Some(why) = self.missed.reason(header, None, now_ms) {
                    return Admission::Refused(why);
                }
                Known::First
            }
            Ok(known) => known,
        };
        let epoch = self.membership.leader_epoch;
        let Some(leading) = &mut self.leading else {
            return Admission::Refused(Refusal::NotLeader);
        };
        match known {
            Known::Before(placed) => {
                let upto = Offset(placed.last_offset.0 + 1);
                leading.waiting.add(ack, upto, deadline_ms, token);
                Admission::Duplicate(placed)
            }
            Known::Next | Known::First => {
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

    /// Refuses a batch for a reason of the broker's own, after which it comes again.
    pub fn refuse(&mut self, header: &Header, why: Refusal, now_ms: i64) -> Admission {
        if self.leading.is_none() {
            return Admission::Refused(Refusal::NotLeader);
        }
        let expected = self.producers.expected(header);
        self.missed.note_refused(header, expected, &why, now_ms);
        Admission::Refused(why)
    }

    /// Why this replica takes nothing that is to be acknowledged like that.
    fn inability(&self, ack: Ack) -> Option<Refusal> {
        let (in_sync, required) = (self.membership.in_sync.len(), self.required());
        if self.leading.is_none() {
            return Some(Refusal::NotLeader);
        }
        if let Some(failing) = &self.failing {
            return Some(Refusal::Storage(failing.why.clone()));
        }
        (ack == Ack::InSync && in_sync < required)
            .then_some(Refusal::NotEnough { in_sync, required })
    }
}
