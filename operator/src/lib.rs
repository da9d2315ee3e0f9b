//! The controller: watches the resources of `millrace.dev` and makes the brokers, and the Kubernetes
//! objects they run in, what the resources ask for.
#![forbid(unsafe_code)]

pub mod plan;
