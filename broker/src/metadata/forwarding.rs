//! Commands that arrive from other brokers, and what comes back.

use bytes::{BufMut, Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use machine::metadata::command::Command;
use model::BrokerId;
use tokio::sync::watch;

use super::replica;
use crate::peer::{Alive, Handler};
use crate::raft::Group;

/// What a broker says to a forwarded command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Applied(Bytes),
    /// Not carried out: this broker does not lead, or will not yet.
    Elsewhere,
    /// Perhaps carried out.
    Unknown,
}

impl Answer {
    fn encode(self) -> Bytes {
        let (kind, reply) = match self {
            Self::Applied(reply) => (1, reply),
            Self::Elsewhere => (2, Bytes::new()),
            Self::Unknown => (3, Bytes::new()),
        };
        let mut out = BytesMut::with_capacity(1 + reply.len());
        out.put_u8(kind);
        out.put_slice(&reply);
        out.freeze()
    }

    pub(super) fn decode(mut bytes: Bytes) -> Option<Self> {
        let kind = bytes.split_to(bytes.len().min(1));
        Some(match kind.first()? {
            1 => Self::Applied(bytes),
            2 => Self::Elsewhere,
            _ => Self::Unknown,
        })
    }
}

/// Proposes here; only the leader can.
pub(super) async fn propose(group: &Group, submission: Bytes) -> Answer {
    group
        .propose(submission)
        .await
        .map_or_else(Answer::from, Answer::Applied)
}

pub(super) struct Forwarded {
    group: Group,
    alive: watch::Receiver<Alive>,
}

impl Forwarded {
    pub(super) fn new(group: Group, alive: watch::Receiver<Alive>) -> Self {
        Self { group, alive }
    }

    /// Whether the log may have it now. What this build cannot read must not get into the log: brokers of
    /// the same build would stop. And a broker that this one cannot reach is not let in: it would be
    /// fenced again at once.
    fn admits(&self, from: BrokerId, submission: &[u8]) -> bool {
        match replica::decode(submission).map(|submission| submission.command) {
            Ok(Command::UnfenceBroker { id, .. }) => self.alive.borrow().is_alive(id),
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(
                    broker = %from, %error,
                    "metadata command refused that this build does not know; give every broker the build of that one"
                );
                false
            }
        }
    }
}

impl Handler for Forwarded {
    fn call(&self, from: BrokerId, submission: Bytes) -> BoxFuture<'static, Bytes> {
        if !self.admits(from, &submission) {
            return std::future::ready(Answer::Elsewhere.encode()).boxed();
        }
        let group = self.group.clone();
        async move { propose(&group, submission).await.encode() }.boxed()
    }
}
