//! `FindCoordinator`: which broker a group has to talk to.

use kafka_wire::messages::find_coordinator::{Coordinator, Request, Response};
use kafka_wire::{ErrorCode, Str, Versions};

use super::dispatch::{Answer, Call, Serve};
use super::{directory, error_code};

/// Key types.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 6);

    async fn serve(self, call: Call) -> Answer<Response> {
        if call.version >= 4 {
            let mut coordinators = Vec::with_capacity(self.coordinator_keys.len());
            for key in self.coordinator_keys {
                coordinators.push(find(&call, self.key_type, key).await);
            }
            return Response {
                coordinators,
                ..Response::default()
            }
            .into();
        }
        let found = find(&call, self.key_type, self.key).await;
        Response {
            error_code: found.error_code,
            error_message: found.error_message,
            node_id: found.node_id,
            host: found.host,
            port: found.port,
            ..Response::default()
        }
        .into()
    }
}

async fn find(call: &Call, key_type: i8, key: Str) -> Coordinator {
    match key_type {
        GROUP => {}
        // Every producer gives up at once on this code, with a text that names the cause.
        TRANSACTION => return failed(key, ErrorCode::UnsupportedVersion),
        _ => return failed(key, ErrorCode::InvalidRequest),
    }
    let broker = match call.front.groups.find(&key).await {
        Ok(broker) => broker,
        Err(unavailable) => return failed(key, error_code::coordinator(&unavailable)),
    };
    let image = call.front.metadata.image();
    let endpoint = directory::reachable(&image).find(|(candidate, _)| candidate.id == broker);
    match endpoint {
        Some((broker, endpoint)) => Coordinator {
            key,
            node_id: broker.id.0,
            host: Str::from(endpoint.host.as_str()),
            port: i32::from(endpoint.port),
            ..Coordinator::default()
        },
        None => failed(key, ErrorCode::CoordinatorNotAvailable),
    }
}

fn failed(key: Str, code: ErrorCode) -> Coordinator {
    Coordinator {
        key,
        node_id: -1,
        port: -1,
        error_code: code.code(),
        error_message: Some(Str::from_static(code.name())),
        ..Coordinator::default()
    }
}
