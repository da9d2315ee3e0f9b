//! `ListConfigResources`: what has configs (KIP-1142).

use kafka_wire::messages::list_config_resources::{ConfigResource as Line, Request, Response};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::image::ConfigResource;

use super::resource_type::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use crate::kafka::directory;
use crate::kafka::dispatch::{Answer, Call, Serve};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 1);

    async fn serve(self, call: Call) -> Answer<Response> {
        // Version 0 lists client metrics subscriptions, of which there are none.
        if call.version == 0 {
            return Response::default().into();
        }
        let known = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];
        if !self.resource_types.iter().all(|kind| known.contains(kind)) {
            return Response {
                error_code: ErrorCode::UnsupportedVersion.code(),
                ..Response::default()
            }
            .into();
        }
        let image = call.front.metadata.image();
        let asked =
            |kind: i8| self.resource_types.is_empty() || self.resource_types.contains(&kind);
        let mut lines = Vec::new();
        let mut add = |kind: i8, name: Str| {
            if asked(kind) {
                lines.push(Line {
                    resource_name: name,
                    resource_type: kind,
                });
            }
        };
        for name in image.topic_names.keys() {
            add(TOPIC, Str::from(&**name));
        }
        for (broker, _) in directory::reachable(&image) {
            add(BROKER, Str::from(broker.id.to_string()));
            add(BROKER_LOGGER, Str::from(broker.id.to_string()));
        }
        for resource in image.configs.keys() {
            if let ConfigResource::Group(name) = resource {
                add(GROUP, Str::from(&**name));
            }
        }
        Response {
            config_resources: lines,
            ..Response::default()
        }
        .into()
    }
}
