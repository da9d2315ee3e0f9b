//! The controller: watches the resources of `millrace.dev` and makes the brokers, and the Kubernetes
//! objects they run in, what the resources ask for. [`local`] runs the same plans over child
//! processes.
#![forbid(unsafe_code)]

pub mod local;
pub mod plan;
