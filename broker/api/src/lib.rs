//! What broker and operator agree on: the admin HTTP API's types and client, the config catalogue, port numbers, metric
//! names.
//!
//! Depends on no other crate of the workspace, so ids are plain numbers here.
#![forbid(unsafe_code)]

pub mod admin;
pub mod client;
pub mod config;
pub mod metric;
pub mod port;
