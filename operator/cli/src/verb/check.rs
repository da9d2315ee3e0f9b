//! `millrace check`: manifests, without running anything.

use std::path::PathBuf;

use anyhow::Result;
use operator::local::manifest;

use crate::output;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File or directory of manifests
    #[arg(short = 'f', long = "filename", value_name = "DIR")]
    manifests: PathBuf,
}

/// Prints how many resources are right, or every problem as `file:line: field: reason`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let manifests = manifest::read(&args.manifests)?;
    if let Some(brokers) = manifests.brokers() {
        manifests.fit(brokers)?;
    }
    for line in &manifests.skipped {
        output::print(&format!("skipped, not a Millrace resource: {line}\n"))?;
    }
    for problem in &manifests.unread {
        output::print(&format!("{problem}\n"))?;
    }
    output::print(&format!("{} resources are right\n", manifests.len()))
}
