//! `millrace check`: manifests, without running anything.

use std::path::PathBuf;

use anyhow::{Result, bail};
use operator::local::manifest;

use crate::output;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File or directory of manifests
    #[arg(short = 'f', long = "filename", value_name = "DIR")]
    manifests: PathBuf,
}

/// Prints how many resources are right, or every problem as `file:line: field: reason`. What only may be a
/// mistake is printed likewise and is none.
pub(crate) fn run(args: &Args) -> Result<()> {
    let manifests = manifest::read(&args.manifests)?;
    if let Some(brokers) = manifests.brokers() {
        manifests.fit(brokers)?;
    }
    for line in &manifests.skipped {
        output::print(&format!("skipped, not a Millrace resource: {line}\n"))?;
    }
    for problem in &manifests.doubtful {
        output::print(&format!("{problem}\n"))?;
    }
    // A wrong path in a pipeline is not to pass for right manifests.
    if manifests.is_empty() {
        bail!(
            "{}: no Millrace resource is in there; name the file or folder of the manifests",
            args.manifests.display()
        );
    }
    output::print(&format!("{} resources are right\n", manifests.len()))
}
