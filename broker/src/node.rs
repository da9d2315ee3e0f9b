//! Composition root: builds every part in dependency order, runs them, drains them.

use crate::Config;

/// Runs one broker until it is told to stop.
pub async fn run(config: Config) -> anyhow::Result<()> {
    tracing::info!(broker = %config.node_id, "broker starts");
    Ok(())
}
