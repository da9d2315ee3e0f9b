//! Tests of the codec from outside, and the generator that writes its messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod codegen;
mod damaged;
mod registry;
mod round_trip;
mod vectors;
