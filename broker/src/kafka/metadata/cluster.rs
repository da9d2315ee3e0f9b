//! `DescribeCluster`.

use kafka_wire::messages::describe_cluster::{DescribeClusterBroker, Request, Response};
use kafka_wire::{ErrorCode, Str, Versions};

use crate::kafka::directory;
use crate::kafka::dispatch::{Answer, Call, Serve};

/// `endpoint_type`: brokers are what this listener tells of.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        if self.endpoint_type != BROKERS {
            let (code, text) = match self.endpoint_type {
                CONTROLLERS => (
                    ErrorCode::MismatchedEndpointType,
                    "The request was sent to an endpoint of the wrong type.",
                ),
                _ => (
                    ErrorCode::UnsupportedEndpointType,
                    "This endpoint type is not supported yet.",
                ),
            };
            return Response {
                error_code: code.code(),
                error_message: Some(Str::from_static(text)),
                ..Response::default()
            }
            .into();
        }
        let image = call.front.metadata.image();
        let fenced_too = self.include_fenced_brokers;
        let brokers = image
            .brokers
            .values()
            .filter(|broker| fenced_too || !broker.fenced)
            .filter_map(|broker| {
                let endpoint = directory::endpoint(broker)?;
                Some(DescribeClusterBroker {
                    broker_id: broker.id.0,
                    host: Str::from(endpoint.host.as_str()),
                    port: i32::from(endpoint.port),
                    rack: directory::rack(broker),
                    // Version 2 alone can say so, and then only fenced brokers were asked for.
                    is_fenced: broker.fenced,
                })
            })
            .collect();
        let mut response = Response {
            cluster_id: Str::from(call.front.config.cluster_id.as_str()),
            controller_id: super::any_controller(&call, &image),
            brokers,
            ..Response::default()
        };
        if self.include_cluster_authorized_operations {
            response.cluster_authorized_operations = directory::operations::CLUSTER;
        }
        response.into()
    }
}
