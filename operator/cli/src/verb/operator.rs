//! `millrace operator`, and the wait that its pods begin with.

use std::path::Path;

use anyhow::Result;
use operator::args::Args;

use crate::{output, runtime};

pub(crate) fn run(args: Args) -> Result<()> {
    runtime::log("info");
    runtime::all_cores(operator::run(args))
}

/// Never fails: a broker without a rack is better than none.
pub(crate) fn await_rack(file: &Path) -> Result<()> {
    let found = operator::await_rack::await_rack(file);
    let word = if found { "is there" } else { "did not come" };
    output::print(&format!("the rack {word}\n"))
}
