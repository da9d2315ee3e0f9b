//! `/metrics` and `/healthz` of the operator.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

#[cfg(test)]
mod tests;

/// Serves until the future is dropped.
pub(crate) async fn serve(address: SocketAddr, registry: Registry) -> anyhow::Result<()> {
    let listener = bind(address)
        .await
        .with_context(|| format!("cannot listen at {address} for /metrics and /healthz"))?;
    let app = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(registry));
    axum::serve(listener, app)
        .await
        .context("the metrics server stopped")
}

/// `[::]` takes IPv4 too; a machine without IPv6 serves IPv4 alone.
async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error) if address.ip().is_unspecified() && lacks_ipv6(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    }
}

fn lacks_ipv6(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

async fn metrics(State(registry): State<Arc<Registry>>) -> impl IntoResponse {
    let mut text = String::new();
    let status = match prometheus_client::encoding::text::encode(&mut text, &registry) {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    (status, [(header::CONTENT_TYPE, kind)], text)
}
