//! Responses to the sessions of one other broker.

use std::time::Duration;

use model::BrokerId;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::frame::Frame;
use crate::peer::{Mesh, Service};
use crate::queue::protocol::Response;

/// Pushes of one frame.
const PUSHES_MAX: usize = 1_024;
/// Between two tries to tell a peer that something was lost.
const RETRY: Duration = Duration::from_millis(100);

pub(super) struct Push {
    pub(super) session: u64,
    pub(super) responses: Vec<Response>,
}

pub(super) async fn run(broker: BrokerId, mesh: Mesh, mut pushes: mpsc::UnboundedReceiver<Push>) {
    let mut waiting = Vec::new();
    while pushes.recv_many(&mut waiting, PUSHES_MAX).await > 0 {
        let frame = Frame::Push(std::mem::take(&mut waiting)).encode();
        if let Err(error) = mesh.call(broker, Service::Queue, frame).await {
            tracing::debug!(%broker, %error, "responses to a broker may be lost");
            resync(broker, mesh.clone()).await;
        }
    }
}

/// Tells `broker` that something may be lost. A peer that stops answering is told when it is back.
pub(super) async fn resync(broker: BrokerId, mesh: Mesh) {
    let alive = mesh.alive();
    loop {
        let frame = Frame::Resync.encode();
        if mesh.call(broker, Service::Queue, frame).await.is_ok() {
            return;
        }
        if !alive.borrow().is_alive(broker) {
            return;
        }
        sleep(RETRY).await;
    }
}
