//! `/v1/groups`: standing and lag, as the coordinators of all brokers last worked them out, and
//! deletion.

use api::admin::{ErrorCode, Group, GroupSummary};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::Api;
use super::error::Failure;
use crate::coordinator::DeleteError;

pub(super) async fn list(State(api): State<Api>) -> Json<Vec<GroupSummary>> {
    let mut groups: Vec<GroupSummary> = api
        .parts
        .coordinators
        .groups()
        .await
        .into_iter()
        .map(|group| group.summary)
        .collect();
    groups.sort_by(|a, b| a.id.cmp(&b.id));
    Json(groups)
}

pub(super) async fn show(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<Group>, Failure> {
    let groups = api.parts.coordinators.groups().await;
    let group = groups.into_iter().find(|group| group.summary.id == id);
    group
        .map(Json)
        .ok_or_else(|| Failure::not_found("group", &id))
}

pub(super) async fn delete(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    match api.parts.coordinators.delete(&id).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(DeleteError::NotFound) => Err(Failure::not_found("group", &id)),
        Err(error @ DeleteError::HasMembers) => {
            Err(Failure::new(ErrorCode::InUse, error.to_string()))
        }
        Err(DeleteError::Unavailable(error)) => {
            Err(Failure::new(ErrorCode::Unavailable, error.to_string()))
        }
    }
}
