//! A deterministic simulation of a cluster's partitions: the real metadata image, the real replicas
//! and their real logs on a disk that loses what was not synced, in virtual time and one thread.
//!
//! One seed draws everything: delays, losses, who is cut off from whom, what stops and how, what
//! clients do. The same seed gives the same [`Outcome::trace`], so a failing one is replayed by its
//! number.
//!
//! ```text
//! producers, consumers ──> Node: Local of every partition ──> commitlog ──> Disk: durable or not
//!         │                  │ ^ sessions between nodes                       (files in a directory)
//!         v                  v │
//!      Ledger             Quorum: one log of commands ──> Image on every node, sooner or later
//! ```
//! What is not here: sockets, threads, the quorum's own replication (Raft is tested by itself), the
//! checks of a batch's records.
//!
//! [`Mutation`] breaks the glue on purpose: a checker that finds none of these finds nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod client;
mod dice;
mod disk;
mod drive;
mod event;
mod fault;
mod fetcher;
mod ledger;
mod mutation;
mod node;
mod plan;
mod quorum;
mod session;
mod world;

pub use mutation::Mutation;

use plan::Plan;

/// What came of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Hash of everything that happened, in order.
    pub trace: u64,
    pub events: u64,
    /// Batches acknowledged to producers that asked for all replicas.
    pub acknowledged: u64,
    /// What was done to the cluster: name and how often.
    pub faults: std::collections::BTreeMap<&'static str, u64>,
    /// The first promise that was broken, if one was.
    pub violation: Option<String>,
}

/// Runs one seed. `trace` prints what happens.
pub fn run(seed: u64, mutation: Option<Mutation>, trace: bool) -> Outcome {
    world::World::new(Plan::draw(seed), mutation, trace).run()
}
