//! Sockets of the fronts: binding, accepting within limits, and draining at the end.
//!
//! Knows addresses and connections; never what is said on them.

mod connections;
mod listener;

pub use connections::{Connections, Permit};
pub use listener::{BindError, accept, bind};
