//! Appends that wait for others: for this replica's disk or for the high watermark.

use std::collections::VecDeque;

use model::Offset;

use super::{Ack, Effect, Refusal, Token};

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// For the watermark, by rising offset.
    in_sync: VecDeque<Waiter>,
    /// For this replica to hold it, by rising offset.
    leader: VecDeque<Waiter>,
    /// Not later than the earliest deadline of any waiter; there may be none at that time any more.
    deadline_ms: Option<i64>,
}

#[derive(Debug)]
struct Waiter {
    /// Answered when this is reached: the offset after the batch.
    upto: Offset,
    deadline_ms: i64,
    token: Token,
}

impl Waiting {
    pub(super) fn add(&mut self, ack: Ack, upto: Offset, deadline_ms: i64, token: Token) {
        let queue = match ack {
            Ack::InSync => &mut self.in_sync,
            Ack::Leader | Ack::Written => &mut self.leader,
        };
        // Nearly always at the end; a duplicate waits for its first place.
        let at = queue.partition_point(|w| w.upto <= upto);
        queue.insert(
            at,
            Waiter {
                upto,
                deadline_ms,
                token,
            },
        );
        self.deadline_ms = Some(self.deadline_ms.map_or(deadline_ms, |d| d.min(deadline_ms)));
    }

    /// Answers what `held` and `watermark` have reached.
    pub(super) fn reach(&mut self, held: Offset, watermark: Offset, effects: &mut Vec<Effect>) {
        for (queue, reached) in [(&mut self.leader, held), (&mut self.in_sync, watermark)] {
            while queue.front().is_some_and(|w| w.upto <= reached) {
                if let Some(waiter) = queue.pop_front() {
                    effects.push(waiter.answer(Ok(())));
                }
            }
        }
    }

    pub(super) fn expire(&mut self, now_ms: i64, why: &Refusal) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.deadline_ms.is_none_or(|d| d > now_ms) {
            return effects;
        }
        let mut next: Option<i64> = None;
        for queue in [&mut self.leader, &mut self.in_sync] {
            queue.retain(|w| {
                if w.deadline_ms <= now_ms {
                    effects.push(w.answer(Err(why.clone())));
                    return false;
                }
                next = Some(next.map_or(w.deadline_ms, |n| n.min(w.deadline_ms)));
                true
            });
        }
        self.deadline_ms = next;
        effects
    }

    pub(super) fn fail_all(&mut self, why: &Refusal) -> Vec<Effect> {
        self.fail_from(Offset(i64::MIN), why)
    }

    /// Fails what waits for records at `from` or later.
    pub(super) fn fail_from(&mut self, from: Offset, why: &Refusal) -> Vec<Effect> {
        let mut effects = Vec::new();
        for queue in [&mut self.leader, &mut self.in_sync] {
            let first = queue.partition_point(|w| w.upto <= from);
            effects.extend(queue.drain(first..).map(|w| w.answer(Err(why.clone()))));
        }
        effects
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.deadline_ms
    }
}

impl Waiter {
    fn answer(&self, outcome: Result<(), Refusal>) -> Effect {
        Effect::Answer {
            token: self.token,
            outcome,
        }
    }
}
