//! `ApiVersions`: what this broker offers.

use kafka_wire::messages::api_versions::{ApiVersion, Request, Response};
use kafka_wire::{ApiKey, ErrorCode, Versions};

use super::dispatch::{self, Answer, Call, Serve};
use super::features;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 5);

    async fn serve(self, call: Call) -> Answer<Response> {
        let unnamed =
            !is_software(&self.client_software_name) || !is_software(&self.client_software_version);
        if call.version >= 3 && unnamed {
            return error(ErrorCode::InvalidRequest).into();
        }
        if !is_meant(&self, &call) {
            return error(ErrorCode::RebootstrapRequired).into();
        }
        let image = call.front.metadata.image();
        Response {
            error_code: ErrorCode::None.code(),
            api_keys: dispatch::offered().map(|(key, v)| line(key, v)).collect(),
            supported_features: features::supported(),
            finalized_features_epoch: i64::try_from(image.index).unwrap_or(i64::MAX),
            finalized_features: features::finalized(&image),
            ..Response::default()
        }
        .into()
    }
}

/// Letters, digits, dots and dashes, with neither of these two at an end (KIP-511).
fn is_software(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    outer(name.chars().next()) && outer(name.chars().last()) && name.chars().all(inner)
}

/// A client that finds another cluster or broker at a known address must look around anew (KIP-1242).
fn is_meant(request: &Request, call: &Call) -> bool {
    let config = &call.front.config;
    let cluster = request.cluster_id.as_ref();
    cluster.is_none_or(|id| *id == config.cluster_id.as_str())
        && (request.node_id < 0 || request.node_id == config.node_id.0)
}

/// The answer, in version 0, to a version nobody here knows: the client asks again with one of these.
pub(super) fn unsupported() -> Response {
    Response {
        api_keys: vec![line(ApiKey::ApiVersions, Request::OFFERED)],
        ..error(ErrorCode::UnsupportedVersion)
    }
}

fn error(code: ErrorCode) -> Response {
    Response {
        error_code: code.code(),
        ..Response::default()
    }
}

fn line(key: ApiKey, versions: Versions) -> ApiVersion {
    ApiVersion {
        api_key: key.code(),
        min_version: versions.min,
        max_version: versions.max,
    }
}
