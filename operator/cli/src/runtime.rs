//! The runtimes that the verbs run on, and where their logs go.

use std::future::Future;

use anyhow::{Context as _, Result};
use tracing_subscriber::EnvFilter;

/// Runs a client verb, or local mode, on the main thread.
pub(crate) fn one_thread(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(work)
}

/// Runs a server on a thread per core.
pub(crate) fn all_cores(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(work)
}

/// Log lines on standard error: `RUST_LOG` chooses, else `default`.
pub(crate) fn log(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
}
