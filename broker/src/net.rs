//! Sockets of the fronts: binding, accepting within limits, draining at the end, and the memory that
//! connections share.
//!
//! Knows addresses and connections; never what is said on them.

mod connections;
mod listener;
mod room;

pub use connections::{Bounds, Connections, Permit};
pub use listener::{BindError, accept, bind};
pub use room::{Claim, Progress, Room};
