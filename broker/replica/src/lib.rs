//! One replica of one partition: its log and its machine, and what happens between the two.
//!
//! Owns their order: what is written before it is answered, what is cut and what is then forgotten,
//! what lies beside the log. Called by one thread at a time, with the time passed in; may block on the
//! disk and on nothing else. What is for others to do comes back as [`Effect`]s, in the order in which
//! it is to be done.
//!
//! ```text
//! driver, simulation ── admit, write, fetched, synced, tick ──> Local ──> machine::replica
//!          ^                                                      └─────> commitlog
//!          └── Effect: answer, propose, sync, follow, look again ──┘
//! ```
//! Knows no thread, runtime, socket or clock. Time comes in milliseconds; `wall_ms` is since 1970.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![deny(unsafe_code)]

mod copying;
mod deleting;
mod delivered;
mod delivering;
mod fault;
mod holding;
mod local;
mod open;
mod producers;
mod proposal;
mod serving;
mod upkeep;
mod watermark;

pub use deleting::NotDeleted;
pub use fault::{Fault, advice, is_of_the_disk};
pub use local::{Effect, Local, Timing};
pub use open::Opening;
pub use producers::Prepared;
pub use proposal::{Next, Proposal, Verdict};
pub use serving::{Answer, Looked, Source, Standing, epoch_end, is_diverging, look};
pub use watermark::Watermarks;
