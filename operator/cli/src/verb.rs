//! One file per verb: its arguments, and what it does with them.

pub(crate) mod amqp_user;
pub(crate) mod broker;
pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod group;
pub(crate) mod local;
pub(crate) mod operator;
pub(crate) mod queue;
pub(crate) mod topic;

use anyhow::Result;
use api::client::Admin;

use crate::output::Format;

/// What every verb that asks a cluster takes.
#[derive(clap::Args, Debug)]
pub(crate) struct Target {
    /// Admin addresses of one or more brokers, separated by commas
    #[arg(
        long,
        global = true,
        env = "MILLRACE_ADMIN",
        default_value = "localhost:9644",
        value_delimiter = ','
    )]
    admin: Vec<String>,
    /// How to print the answer
    #[arg(short, long, global = true, value_enum, default_value_t)]
    output: Format,
}

impl Target {
    fn admin(&self) -> Result<Admin> {
        Ok(Admin::new(&self.admin)?)
    }
}

/// `key=value`, for clap.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write key=value".to_owned()),
    }
}
