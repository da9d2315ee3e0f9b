//! The admin HTTP API: what the operator, local mode, the command line and Prometheus ask a broker.
//! Types and paths are those of [`api::admin`].
//!
//! Every path answers from any broker: reads come from the metadata image here, changes go through
//! the metadata group. Decides nothing but the restart verdict, which is a pure function of the
//! image ([`verdict`]).
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod arguments;
mod cluster;
mod error;
mod exchange;
mod group;
mod opening;
mod probe;
mod queue;
mod restart;
#[cfg(test)]
mod tests;
mod topic;
pub mod verdict;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use machine::metadata::command::{Command, Reply};
use machine::metadata::image::Image;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Config;
use crate::coordinator::Coordinators;
use crate::metadata;
use crate::queue::Queues;
use crate::telemetry::Telemetry;
use error::Failure;
pub use opening::Opening;

/// Bytes of a request body.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Time in which the metadata group must carry a change out, else 503.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// What the API stands on. Cheap to clone.
#[derive(Clone)]
pub struct Parts {
    pub config: Arc<Config>,
    pub metadata: metadata::Handle,
    pub queues: Queues,
    pub coordinators: Coordinators,
    pub telemetry: Telemetry,
    /// True once every listener serves and this life of the broker is registered.
    pub started: watch::Receiver<bool>,
    /// Cancelled when the broker begins to stop: it is not ready from then on, and nobody waits for changes.
    pub stopping: CancellationToken,
}

/// The API with its parts, and what it learns while it runs.
#[derive(Clone)]
struct Api {
    parts: Parts,
    caught_up: watch::Receiver<bool>,
}

/// Serves on `listeners` until `stop`, then finishes the requests under way.
pub async fn serve(listeners: Vec<TcpListener>, opening: Opening, stop: CancellationToken) {
    let router = opening.router();
    let mut servers = JoinSet::new();
    for listener in listeners {
        let stop = stop.clone();
        let server = axum::serve(listener, router.clone())
            .with_graceful_shutdown(async move { stop.cancelled().await });
        servers.spawn(async move {
            if let Err(error) = server.await {
                tracing::error!(%error, "admin listener ended");
            }
        });
    }
    servers.join_all().await;
}

/// The whole API.
fn whole(parts: Parts) -> Router {
    let (caught_up, is_caught_up) = watch::channel(false);
    tokio::spawn(probe::watch_catch_up(parts.clone(), caught_up));
    routes().with_state(Api {
        parts,
        caught_up: is_caught_up,
    })
}

fn routes() -> Router<Api> {
    Router::new()
        .route("/healthz", get(probe::health))
        .route("/readyz", get(probe::ready))
        .route("/metrics", get(probe::metrics))
        .route("/v1/cluster", get(cluster::overview))
        .route(
            "/v1/configs",
            get(cluster::configs).patch(cluster::alter_configs),
        )
        .route("/v1/changes", get(cluster::changes))
        .route("/v1/topics", get(topic::list))
        .route(
            "/v1/topics/{name}",
            get(topic::show).put(topic::put).delete(topic::delete),
        )
        .route("/v1/vhosts", get(exchange::vhosts))
        .route(
            "/v1/vhosts/{vhost}",
            axum::routing::put(exchange::put_vhost),
        )
        .route("/v1/vhosts/{vhost}/queues", get(queue::list))
        .route(
            "/v1/vhosts/{vhost}/queues/{name}",
            get(queue::show).put(queue::put).delete(queue::delete),
        )
        .route("/v1/vhosts/{vhost}/exchanges", get(exchange::list))
        .route(
            "/v1/vhosts/{vhost}/exchanges/{name}",
            get(exchange::show)
                .put(exchange::put)
                .delete(exchange::delete),
        )
        .route(
            "/v1/vhosts/{vhost}/exchanges/{name}/bindings",
            post(exchange::bind).delete(exchange::unbind),
        )
        .route("/v1/groups", get(group::list))
        .route("/v1/groups/{id}", get(group::show).delete(group::delete))
        .route("/v1/brokers/{id}/verdict", get(restart::verdict))
        .route("/v1/brokers/{id}/drain", post(restart::drain))
        .route(
            "/v1/restart-permit",
            get(restart::permit)
                .post(restart::acquire)
                .delete(restart::release),
        )
        .fallback(error::no_such_path)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

impl Api {
    fn image(&self) -> Arc<Image> {
        self.parts.metadata.image()
    }

    /// Has the cluster carry out `command`; a refusal is a failure here.
    async fn submit(&self, command: Command) -> Result<Reply, Failure> {
        let submitted = self.parts.metadata.submit(command);
        match tokio::time::timeout(SUBMIT_TIMEOUT, submitted).await {
            Ok(Ok(Reply::Refused(refusal))) => Err(refusal.into()),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(unavailable)) => Err(unavailable.into()),
            Err(_) => Err(metadata::Unavailable.into()),
        }
    }
}
