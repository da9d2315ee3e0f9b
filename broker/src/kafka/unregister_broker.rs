//! `UnregisterBroker`: a broker that does not come back is forgotten.

use kafka_wire::messages::unregister_broker::{Request, Response};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::command::Command;
use model::BrokerId;

use super::dispatch::{Answer, Call, Serve};
use super::topics::submit;

/// The request carries no timeout; this is Kafka's default for admin calls.
const TIMEOUT_MS: i32 = 60_000;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 0);

    async fn serve(self, call: Call) -> Answer<Response> {
        let command = Command::UnregisterBroker {
            id: BrokerId(self.broker_id),
        };
        let done = submit(&call.front, command, TIMEOUT_MS, false).await;
        let (code, error_message) = match done {
            Ok(_) => (ErrorCode::None, None),
            Err(failure) => (failure.code, Some(failure.message.into())),
        };
        Response {
            error_code: code.code(),
            error_message,
            ..Response::default()
        }
        .into()
    }
}
