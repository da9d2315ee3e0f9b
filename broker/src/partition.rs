//! Replicas of topic partitions on this broker: their logs, their roles, and the copying between
//! brokers.
//!
//! Owns the driver threads, the followers' fetching and the roster that follows the metadata image.
//! Decides nothing about replication itself: that is [`machine::replica`]. Speaks no client protocol:
//! fronts and coordinators use [`Handle`].
//!
//! ```text
//! fronts, coordinators ── Handle::append ──> mailbox ──> driver thread ──> commitlog
//!                      ── Handle::read ───────────────────────────────────────┘ (no queue)
//! metadata image ──> roster ── open, assign, delete ──> driver
//! driver: replica machine decides ──> write, reply, propose in-sync set, wake followers' sessions
//! ```
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod handle;
mod roster;

pub use handle::{
    Acks, Append, AppendError, Appended, DeleteError, Handle, Limit, Origin, Progress, Read,
    ReadData, ReadError, Role, Status, TimedOffset,
};
pub use roster::Roster;
