//! broker
pub mod queue;
