//! The controller: watches the resources of `millrace.dev` and makes the brokers, and the Kubernetes
//! objects they run in, what the resources ask for. [`local`] runs the same plans over child
//! processes.
//!
//! A reconcile reads as a sentence: look, plan (pure: [`plan`], [`roller`]), take steps, write the
//! status if it differs. Everything is decided from a fresh look, so a crash at any point is mended
//! by the next reconcile.
#![forbid(unsafe_code)]

pub mod args;
pub mod await_rack;
pub mod local;
pub mod plan;
pub mod roller;

mod cluster;
mod consumer_group;
mod controller;
mod declared;
mod desk;
mod directory;
mod error;
mod exchange;
mod finalizer;
mod lease;
mod metrics;
mod queue;
mod release;
mod run;
mod status;
mod telemetry;
mod topic;

pub use run::run;

/// Field manager of everything the operator applies, and the name of its events.
const MANAGER: &str = "millrace-operator";
/// On the pods of a cluster: its name.
const CLUSTER_LABEL: &str = "millrace.dev/cluster";
