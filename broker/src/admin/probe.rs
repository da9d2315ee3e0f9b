//! `/healthz`, `/readyz` and `/metrics`.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use machine::metadata::image::Image;
use model::BrokerId;
use tokio::sync::watch;

use super::{Api, Parts};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The process answers; nothing more is promised, so that no outage elsewhere gets it killed.
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Ready = this life of the broker serves and goes on to, is not fenced, and has once caught up.
pub(super) async fn ready(State(api): State<Api>) -> (StatusCode, &'static str) {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    if !*api.parts.started.borrow() {
        return (unavailable, "starting\n");
    }
    if api.parts.stopping.is_cancelled() {
        return (unavailable, "stopping\n");
    }
    if !api.image().is_active(api.parts.metadata.this_broker()) {
        return (unavailable, "fenced or draining\n");
    }
    if !*api.caught_up.borrow() {
        return (unavailable, "catching up\n");
    }
    (StatusCode::OK, "ready\n")
}

pub(super) async fn metrics(State(api): State<Api>) -> impl IntoResponse {
    let text = api.parts.telemetry.encode();
    ([(header::CONTENT_TYPE, OPENMETRICS)], text)
}

/// Sets `caught_up` once, when the broker is in the ISR of all it keeps. It stays set: a replica
/// that falls behind later is the verdict's business and takes no client away.
pub(super) async fn watch_catch_up(mut parts: Parts, caught_up: watch::Sender<bool>) {
    if parts.started.wait_for(|started| *started).await.is_err() {
        return;
    }
    let this = parts.metadata.this_broker();
    let mut images = parts.metadata.watch();
    let done = images
        .wait_for(|image| image.is_active(this) && in_sync(image, this))
        .await
        .is_ok();
    caught_up.send_replace(done);
}

/// Partitions without a leader have nobody to catch up with and do not count.
fn in_sync(image: &Image, broker: BrokerId) -> bool {
    image
        .topics
        .values()
        .flat_map(|topic| &topic.partitions)
        .filter(|p| p.leader.is_some() && p.replicas.contains(&broker))
        .all(|p| p.isr.contains(&broker))
}
