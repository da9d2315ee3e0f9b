//! Classic consumer groups: who is in, which generation they share, what each was assigned, and how
//! far each group has read. One [`State`] per partition of `__consumer_offsets`.
//!
//! ```text
//! Command --decide--> Decision { records, replies, next membership }
//!                       | records: to the log, acknowledged by all in-sync replicas
//!                       | accept: the state moves on
//!                       ` replies: released when the log has them
//! log ----apply----> the same offsets and the same groups, with nobody waiting
//! ```
//!
//! A rebalance in progress is volatile by design, as in Kafka: only its outcome (the generation and its
//! assignments) is a record. After a fail-over the last outcome is loaded and members find their way.
//! Everything that depends on time has a deadline in the state; [`State::next_deadline_ms`] tells the
//! driver when to come back with [`Command::Elapse`].
//!
//! What members say to each other (subscriptions, assignments: eager or cooperative) is opaque here,
//! apart from the names of subscribed topics. Topics' existence, authorisation and protocol versions are
//! the front's business.
//!
//! Source: KIP-134 (initial delay), KIP-345 (static members), KIP-394 (member id first), KIP-211
//! (expiry from the time a group became empty), KIP-814 (skip assignment), Kafka 4.4's observed codes.

mod command;
mod config;
mod draft;
mod inspect;
mod join;
mod member;
mod membership;
mod offsets;
mod rebalance;
mod record;
mod reply;
mod session;
mod state;
mod subscription;
mod sync;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use command::{Command, Commit, CommitPartition, Heartbeat, Join, Leave, Leaving, Sync};
pub use config::Config;
pub use inspect::{Description, Listed, MemberDescription};
pub use member::Protocol;
pub use offsets::Committed;
pub use record::{Generation, OffsetKey, Record, StoredMember};
pub use reply::{Error, Joined, JoinedMember, Left, Reply, Synced};
pub use state::{Decision, State};

/// `group.id`.
pub type GroupId = Arc<str>;

/// Given by the coordinator: client id (or instance id) and a random part.
pub type MemberId = Arc<str>;

/// Names a request that waits for its answer. The driver draws them; each is answered exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What a group is doing, by the names that Kafka's tools print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// No members; offsets may remain.
    Empty,
    /// Waiting for members to (re)join.
    PreparingRebalance,
    /// Waiting for the leader's assignment.
    CompletingRebalance,
    Stable,
}

impl Condition {
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}
