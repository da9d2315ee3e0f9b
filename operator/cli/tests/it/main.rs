//! Tests of the whole workspace and of the binary as a user runs it.

mod edges;
mod local;
