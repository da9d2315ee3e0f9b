//! One node of the cluster: sockets, disks, Raft and the wiring between the pure machines.
//!
//! Read [`node`] first: it builds every part in dependency order.

pub mod admin;
pub mod amqp;
mod clock;
pub mod config;
pub mod coordinator;
mod disk;
pub mod kafka;
pub mod metadata;
pub mod net;
pub mod node;
pub mod partition;
pub mod peer;
pub mod queue;
pub mod raft;
pub mod telemetry;

pub use config::Config;
pub use node::run;
