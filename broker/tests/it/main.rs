//! Whole brokers, in this process and as processes of their own, on ports that the system chooses.

#![allow(clippy::unwrap_used)]

mod cluster;
mod joining;
mod kafka;
mod metadata;
