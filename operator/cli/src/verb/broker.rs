//! `millrace broker`: one node.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::runtime;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Properties file, one key=value a line
    #[arg(long)]
    config: PathBuf,
    /// A key=value that goes over the file's; may be given more than once
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// End when the process that started this one ends, however it ends
    #[arg(long, hide = true)]
    exit_with_parent: bool,
}

pub(crate) fn run(args: Args) -> Result<()> {
    if args.exit_with_parent {
        follow_parent()?;
    }
    runtime::log("info,openraft=error");
    let config = broker::Config::load(&args.config, &args.overrides)?;
    runtime::all_cores(broker::run(config))
}

/// SIGKILL: a parent that was killed is often started again at once, and needs the ports.
fn follow_parent() -> Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot follow the parent")?;
    // It may have ended before the line above.
    anyhow::ensure!(
        parent.is_some() && getppid() == parent,
        "the parent has ended"
    );
    Ok(())
}
