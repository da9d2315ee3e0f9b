//! Batches of idempotent producers that this replica refused a moment ago and that will come again.
//!
//! A client sends more before it hears of the first. When the reason of a refusal is over before the
//! next batch arrives (this replica leads now, others are in sync again), that one stands behind a gap
//! which is not the client's. Kafka calls it out of order, or takes it when it knows nothing of the
//! producer. librdkafka then begins a new epoch and sends again, to whatever partition, what it has not
//! heard of: what of it was written is there twice. Or it counts the refused batch as written.
//!
//! So whatever comes behind a refused batch is refused for the same reason until that one has come.

use std::collections::VecDeque;

use model::batch::Header;

use super::{Refusal, producers::Lost};

/// Producers that are remembered; the oldest gives way.
const KEPT_MAX: usize = 64;
/// Milliseconds for which a refusal explains a gap: longer than an answer and what was sent before it
/// take to cross. A client that leaves the batch out for good is told after that.
const KEPT_MS: i64 = 5000;

/// See the module. Oldest first, one of each producer.
#[derive(Debug, Default)]
pub(super) struct Missed(VecDeque<Run>);

/// Batches of one producer, one behind the other.
#[derive(Debug)]
struct Run {
    first: Lost,
    last: Lost,
    why: Refusal,
    until_ms: i64,
}

impl Missed {
    /// Notes a batch that was refused. `expected` is the sequence with which its producer would go on in
    /// the log; `None` when the log knows nothing of it.
    pub(super) fn note_refused(
        &mut self,
        header: &Header,
        expected: Option<i32>,
        why: &Refusal,
        now_ms: i64,
    ) {
        let lost = Lost::from(header);
        if header.is_idempotent() && !is_there(&lost, expected) {
            self.note(lost, expected, why, now_ms);
        }
    }

    /// Notes a batch that is in the log no more: its producer would go on with it.
    pub(super) fn note_lost(&mut self, lost: Lost, why: &Refusal, now_ms: i64) {
        self.note(lost, Some(lost.sequence), why, now_ms);
    }

    fn note(&mut self, lost: Lost, expected: Option<i32>, why: &Refusal, now_ms: i64) {
        let until_ms = now_ms.saturating_add(KEPT_MS);
        let known = self.0.iter_mut().find(|run| {
            run.first.is_before(&lost) && run.until_ms > now_ms && !is_there(&run.last, expected)
        });
        if let Some(run) = known {
            run.last = lost;
            run.until_ms = until_ms;
            return;
        }
        self.0.retain(|run| run.first.producer != lost.producer);
        if self.0.len() == KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Run {
            first: lost,
            last: lost,
            why: why.clone(),
            until_ms,
        });
    }

    /// Why the batch before this one is missing, if that is known: then this one is missing too. For
    /// `expected` see [`Self::note_refused`].
    pub(super) fn reason(
        &mut self,
        header: &Header,
        expected: Option<i32>,
        now_ms: i64,
    ) -> Option<Refusal> {
        let given = Lost::from(header);
        let run = self.0.iter_mut().find(|run| {
            run.first.is_before(&given) && run.until_ms > now_ms && run.explains(expected)
        })?;
        if run.last.is_before(&given) {
            run.last = given;
        }
        Some(run.why.clone())
    }
}

impl Run {
    /// Whether a log that goes on with `expected` lacks one of these first.
    fn explains(&self, expected: Option<i32>) -> bool {
        expected.is_none_or(|sequence| {
            let next = Lost {
                sequence,
                ..self.first
            };
            !next.is_before(&self.first) && !self.last.is_before(&next)
        })
    }
}

/// Whether a log that goes on with `expected` has it.
fn is_there(lost: &Lost, expected: Option<i32>) -> bool {
    expected.is_some_and(|sequence| lost.is_before(&Lost { sequence, ..*lost }))
}
