//! The cluster's metadata: brokers, topics and partitions, configs, exchanges, queues, bindings.
//!
//! One Raft group carries [`command::Command`]s; every broker applies them in order to its
//! [`image::Image`] and publishes the result. `apply` is deterministic: time comes with the entry.

pub mod command;
pub mod image;
