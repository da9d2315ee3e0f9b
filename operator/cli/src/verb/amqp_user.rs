//! `millrace amqp-user`: a line for the users file of AMQP.

use std::io::Read as _;

use anyhow::{Context as _, Result};

use crate::output;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the user; the password comes from standard input
    name: String,
}

/// Prints `NAME:SALTED-HASH`. A line break at the end of the password is not part of it.
pub(crate) fn run(args: &Args) -> Result<()> {
    anyhow::ensure!(
        !args.name.is_empty() && !args.name.contains([':', '\n']),
        "the name of a user is not empty and has no ':' and no line break"
    );
    let mut password = Vec::new();
    std::io::stdin()
        .read_to_end(&mut password)
        .context("cannot read the password from standard input")?;
    if password.last() == Some(&b'\n') {
        password.pop();
    }
    anyhow::ensure!(
        !password.is_empty(),
        "the password is empty; write it to standard input"
    );
    let line = broker::amqp::users_file_line(&args.name, &password);
    output::print(&format!("{line}\n"))
}
