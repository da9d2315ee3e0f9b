//! The vocabulary every other crate shares: identifiers, offsets, epochs and the record batch.
//!
//! Nothing here does IO, reads a clock or knows a protocol front. A name that only one crate needs
//! belongs to that crate.
#![forbid(unsafe_code)]

pub mod batch;
pub mod ids;

pub use ids::{BrokerId, Epoch, Offset, ShardId, TopicId, TopicPartition};
