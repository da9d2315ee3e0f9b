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
    let directives = filter.to_string();
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_env_filter(filter)
        .with_filter_reloading();
    let reload = builder.reload_handle();
    builder.init();
    let set = move |directives: &str| {
        let filter = EnvFilter::try_new(directives).map_err(|error| error.to_string())?;
        reload.reload(filter).map_err(|error| error.to_string())
    };
    broker::telemetry::levels::install(&directives, Box::new(set));
}
