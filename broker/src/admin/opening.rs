//! The admin listener from the broker's first moment on: that the process lives is told before anything
//! else is there, and why it is not ready while it recovers its logs or waits for its peers. A broker must
//! not be restarted for what others lack.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::watch;
use tower_service::Service;

use super::{Parts, probe, whole};
use crate::metadata;
use crate::peer::Alive;

/// What answers on the admin listener: at first little, then everything. Cheap to clone.
#[derive(Clone, Default)]
pub struct Opening(Arc<Inner>);

#[derive(Default)]
struct Inner {
    stage: Mutex<Stage>,
    whole: OnceLock<Router>,
}

/// What a starting broker is at.
#[derive(Default)]
enum Stage {
    /// Reads its logs.
    #[default]
    Recovering,
    /// Waits until the metadata group has registered it.
    Joining {
        metadata: metadata::Handle,
        alive: watch::Receiver<Alive>,
    },
}

impl Opening {
    /// The logs are read; from now on it is up to the metadata group.
    pub fn join(&self, metadata: metadata::Handle, alive: watch::Receiver<Alive>) {
        *self.0.stage.lock() = Stage::Joining { metadata, alive };
    }

    /// From now on everything is answered. Must be called inside a runtime.
    pub fn open(&self, parts: Parts) {
        // Opened once in the life of a broker.
        let _first = self.0.whole.set(whole(parts));
    }

    pub(super) fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(probe::health))
            .fallback(answer)
            .with_state(self)
    }

    fn reason(&self) -> String {
        match &*self.0.stage.lock() {
            Stage::Recovering => "starting: reading the logs\n".to_owned(),
            Stage::Joining { metadata, alive } => {
                let this = metadata.this_broker();
                let out_of_reach: Vec<BrokerId> = metadata
                    .voters()
                    .into_iter()
                    .filter(|id| *id != this && !alive.borrow().is_alive(*id))
                    .collect();
                // One that does not answer led when this broker last heard of a leader.
                let controller = metadata.controller();
                match controller.filter(|id| !out_of_reach.contains(id)) {
                    Some(controller) => {
                        format!(
                            "starting: waiting for controller {controller} to register this broker\n"
                        )
                    }
                    None if out_of_reach.is_empty() => {
                        "starting: the voters are electing a controller\n".to_owned()
                    }
                    None => {
                        let ids: Vec<_> = out_of_reach.iter().map(BrokerId::to_string).collect();
                        format!(
                            "starting: no controller, and these voters cannot be reached: {}\n",
                            ids.join(", ")
                        )
                    }
                }
            }
        }
    }
}

async fn answer(State(opening): State<Opening>, request: Request) -> Response {
    match opening.0.whole.get().cloned() {
        Some(mut whole) => {
            // A router is always ready.
            let Ok::<_, Infallible>(response) = whole.call(request).await;
            response
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, opening.reason()).into_response(),
    }
}
