//! `/v1/groups`: standing and lag, as the coordinators of all brokers last worked them out, and
//! deletion.

use std::sync::Arc;

use api::admin::{ErrorCode, Group, GroupSummary};
use api::client::{self, Admin};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use machine::group::{Command, Error, Reply};
use machine::metadata::image::Listener;
use model::BrokerId;
use serde::Deserialize;

use super::Api;
use super::error::{Failure, Params};

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

#[derive(Deserialize)]
pub(super) struct Where {
    #[serde(default)]
    here: bool,
}

/// Carried out by the group's coordinator; another broker passes it on, once.
pub(super) async fn delete(
    State(api): State<Api>,
    Path(id): Path<String>,
    Params(Where { here }): Params<Where>,
) -> Result<StatusCode, Failure> {
    let coordinators = &api.parts.coordinators;
    let coordinator = coordinators.find(&id).await.map_err(unavailable)?;
    if here || coordinator == api.parts.metadata.this_broker() {
        let group = Arc::from(id.as_str());
        let reply = coordinators.submit(&group, Command::Delete).await;
        return match reply.map_err(unavailable)? {
            Reply::Delete(Err(Error::GroupNotFound)) => Err(Failure::not_found("group", &id)),
            Reply::Delete(Err(error)) => Err(Failure::new(ErrorCode::InUse, error.to_string())),
            _ => Ok(StatusCode::NO_CONTENT),
        };
    }
    let asked = admin_of(&api, coordinator)?.delete_group_here(&id).await;
    match asked {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(client::Error::Refused { body, .. }) => Err(body.into()),
        Err(error) => Err(Failure::new(ErrorCode::Unavailable, error.to_string())),
    }
}

fn admin_of(api: &Api, broker: BrokerId) -> Result<Admin, Failure> {
    let image = api.image();
    let endpoint = image
        .brokers
        .get(&broker)
        .and_then(|b| b.endpoints.iter().find(|e| e.listener == Listener::Admin));
    let address = endpoint.map(|e| format!("{}:{}", e.host, e.port));
    Admin::new(address).map_err(unavailable)
}

fn unavailable(cause: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::Unavailable, cause.to_string())
}
