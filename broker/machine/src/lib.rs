//! Every state machine of the cluster, pure: commands in, records, replies and effects out, time
//! passed in. No clock, no randomness, no file, no socket, no runtime.
#![forbid(unsafe_code)]

pub mod delivery;
pub mod group;
pub mod metadata;
pub mod placement;
pub mod queue;
pub mod quota;
pub mod replica;
pub mod routing;
pub mod value;
