//! A channel in tx mode: what is to happen at commit.

use std::collections::HashSet;
use std::sync::Arc;

use amqp_wire::Content;
use amqp_wire::method::basic;
use machine::metadata::image::Queue;

use super::direct_reply::Token;
use crate::queue::{Message, Outcome, Receipt};

/// Why a transaction cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot switch from confirm to tx mode")]
    ConfirmMode,
    #[error("cannot switch from tx to confirm mode")]
    TransactionMode,
    #[error("channel is not transactional")]
    NotTransactional,
    #[error("unexpected command while processing 'tx.commit'")]
    Committing,
    #[error("partial tx completion")]
    Partial,
    #[error("a transaction of {bytes} bytes is larger than the limit of {max}")]
    TooLarge { bytes: usize, max: usize },
}

/// A publish that was routed when it came: a missing exchange is an error at once, not at commit.
#[derive(Debug)]
pub(super) struct Publish {
    pub(super) routed: Vec<Arc<Queue>>,
    pub(super) replies: Vec<Token>,
    pub(super) message: Message,
    /// Kept whole for the return that a mandatory message may need at commit.
    pub(super) returned: Option<(basic::Return, Content)>,
}

#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) publishes: Vec<Publish>,
    pub(super) settles: Vec<(Vec<(u64, Receipt)>, Outcome)>,
    bytes: usize,
    /// Sequence numbers given to publishes so far; they go on over commits.
    last_seq: u64,
    /// Publishes of the commit under way that no queue has answered for yet.
    waiting: HashSet<u64>,
    refused: bool,
    committing: bool,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    Done,
    /// A queue refused a message of it.
    Partly,
}

impl Transaction {
    pub(super) fn is_committing(&self) -> bool {
        self.committing
    }

    /// Adds a publish unless the transaction would hold more than `max` bytes.
    pub(super) fn publish(&mut self, publish: Publish, max: usize) -> Result<(), Error> {
        let bytes = self.bytes + publish.message.size();
        if bytes > max {
            return Err(Error::TooLarge { bytes, max });
        }
        self.bytes = bytes;
        self.publishes.push(publish);
        Ok(())
    }

    /// Takes the publishes out for a commit.
    pub(super) fn begin_commit(&mut self) -> Vec<Publish> {
        self.bytes = 0;
        self.committing = true;
        self.refused = false;
        std::mem::take(&mut self.publishes)
    }

    /// Number of the next publish of the commit.
    pub(super) fn number(&mut self) -> u64 {
        self.last_seq += 1;
        self.waiting.insert(self.last_seq);
        self.last_seq
    }

    /// A queue has answered for a publish. `Some` with the last one.
    pub(super) fn answered(&mut self, seq: u64, ack: bool) -> Option<Committed> {
        self.waiting.remove(&seq);
        self.refused |= !ack;
        self.end_if_done()
    }

    /// Ends a commit that waits for nothing.
    pub(super) fn end_if_done(&mut self) -> Option<Committed> {
        if !self.committing || !self.waiting.is_empty() {
            return None;
        }
        self.committing = false;
        Some(if self.refused {
            Committed::Partly
        } else {
            Committed::Done
        })
    }

    /// Forgets everything; the settlements go back to the channel.
    pub(super) fn roll_back(&mut self) -> Vec<(u64, Receipt)> {
        self.publishes.clear();
        self.bytes = 0;
        let settles = std::mem::take(&mut self.settles);
        settles.into_iter().flat_map(|(taken, _)| taken).collect()
    }
}
