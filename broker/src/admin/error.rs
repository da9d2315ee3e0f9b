//! Failures to HTTP: the one place where causes become codes of the admin API.

use api::admin::{ErrorBody, ErrorCode};
use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use machine::metadata::command::Refusal;
use serde::de::DeserializeOwned;

use crate::metadata;

/// Why a request was not carried out.
#[derive(Debug)]
pub(super) struct Failure(ErrorBody);

impl Failure {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(ErrorBody {
            code,
            message: message.into(),
            field: None,
        })
    }

    /// The value of `field` in the body can never be accepted.
    pub(super) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, message).about(field)
    }

    pub(super) fn not_found(what: &str, name: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("no {what} '{name}'"))
    }

    fn about(mut self, field: &str) -> Self {
        self.0.field = Some(field.to_owned());
        self
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let (code, field) = match refusal {
            Refusal::UnknownTopic | Refusal::UnknownPartition | Refusal::NotFound(_) => {
                (ErrorCode::NotFound, None)
            }
            Refusal::TopicExists(_) | Refusal::Inequivalent(_) | Refusal::Locked(_) => {
                (ErrorCode::Conflict, None)
            }
            Refusal::InvalidPartitions(_) | Refusal::TooManyPartitions => {
                (ErrorCode::Invalid, Some("partitions"))
            }
            Refusal::InvalidReplicationFactor(_) => {
                (ErrorCode::Invalid, Some("replication_factor"))
            }
            Refusal::InvalidConfig(_) => (ErrorCode::Invalid, Some("configs")),
            Refusal::InvalidTopicName(_) => (ErrorCode::Invalid, Some("name")),
            Refusal::InvalidReplicaAssignment(_) | Refusal::NoReassignmentInProgress => {
                (ErrorCode::Invalid, None)
            }
            Refusal::BrokerNotRegistered(_) => (ErrorCode::NotFound, None),
            Refusal::InUse(_) => (ErrorCode::InUse, None),
            Refusal::PermitHeld { .. } => (ErrorCode::PermitHeld, None),
            Refusal::LevelTooLow { .. } | Refusal::LevelNotSupported { .. } => {
                (ErrorCode::Invalid, None)
            }
            // Somebody else was quicker; the same request may succeed now.
            Refusal::StaleBrokerEpoch
            | Refusal::FencedLeaderEpoch
            | Refusal::StalePartitionEpoch
            | Refusal::IneligibleReplica => (ErrorCode::Unavailable, None),
        };
        let failure = Self::new(code, message);
        match field {
            Some(field) => failure.about(field),
            None => failure,
        }
    }
}

impl From<metadata::Unavailable> for Failure {
    fn from(unavailable: metadata::Unavailable) -> Self {
        Self::new(ErrorCode::Unavailable, unavailable.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}

pub(super) async fn no_such_path() -> Failure {
    Failure::new(ErrorCode::NotFound, "no such path in the admin API")
}

/// A JSON body whose faults are answered like every other failure.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        match Json::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Failure::new(ErrorCode::Invalid, rejection.body_text())),
        }
    }
}

/// A query string, likewise.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => Err(Failure::new(ErrorCode::Invalid, rejection.body_text())),
        }
    }
}
