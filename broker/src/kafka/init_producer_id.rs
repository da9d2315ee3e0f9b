//! `InitProducerId`: ids for idempotent producers, from blocks that the cluster hands out (KIP-730).

use kafka_wire::messages::init_producer_id::{Request, Response};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::command::{Command, Reply};
use tokio::sync::Mutex;

use super::dispatch::{Answer, Call, Serve};
use crate::metadata;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 5);

    async fn serve(self, call: Call) -> Answer<Response> {
        match &self.transactional_id {
            Some(id) if id.is_empty() => return failed(ErrorCode::InvalidRequest).into(),
            // Every client gives up at once on this code, with a text that names the cause.
            Some(_) => return failed(ErrorCode::UnsupportedVersion).into(),
            None => {}
        }
        // An id goes with an epoch (KIP-360).
        if (self.producer_id < 0) != (self.producer_epoch < 0) {
            return failed(ErrorCode::InvalidRequest).into();
        }
        match call.front.producer_ids.next(&call.front.metadata).await {
            Some(producer_id) => Response {
                error_code: ErrorCode::None.code(),
                producer_id,
                producer_epoch: 0,
                ..Response::default()
            },
            // Retried by every client.
            None => failed(ErrorCode::CoordinatorLoadInProgress),
        }
        .into()
    }
}

fn failed(code: ErrorCode) -> Response {
    Response {
        error_code: code.code(),
        producer_epoch: -1,
        ..Response::default()
    }
}

/// What is left of this broker's block. A block is lost at a restart; there are enough.
#[derive(Debug, Default)]
pub(super) struct ProducerIds(Mutex<std::ops::Range<i64>>);

impl ProducerIds {
    /// An id that was never handed out; `None` while the cluster gives no block.
    async fn next(&self, metadata: &metadata::Handle) -> Option<i64> {
        let mut left = self.0.lock().await;
        if left.is_empty() {
            let broker = metadata.this_broker();
            let reply = metadata
                .submit(Command::AllocateProducerIds { broker })
                .await;
            let Ok(Reply::ProducerIds { first, len }) = reply else {
                return None;
            };
            *left = first..first.saturating_add(i64::from(len));
        }
        left.next()
    }
}
