//! The custom resources of group `millrace.dev`, one file per kind.
//!
//! Doc comments here are what `kubectl explain` shows. Every rule that one object alone can break
//! is part of its schema (ranges, patterns, CEL), so that the API server refuses it at admission;
//! [`admission`] applies the same schema where there is no API server. What needs the brokers to be
//! judged (a replication factor above their number) is left to the operator.
//!
//! `yaml/` holds the rendered definitions; a test fails when they differ from the types.
#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "derive(KubeSchema) copies each type into a function body to read its schema"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "columns of one kind have the same type or priority"
)]

pub mod broker_cluster;
pub mod consumer_group;
pub mod exchange;
pub mod queue;
pub mod topic;

pub mod admission;
pub mod argument;
pub mod cluster_ref;
pub mod condition;
pub mod definition;
pub mod deletion;
pub mod duration;
pub mod quantity;

/// API group of every kind.
pub const GROUP: &str = "millrace.dev";
/// The only version so far.
pub const VERSION: &str = "v1alpha1";
