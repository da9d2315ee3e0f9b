//! What coordinators of different brokers ask each other: positions in logs, and standings of groups.

use std::sync::Arc;

use api::admin::Group;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::future::BoxFuture;
use machine::group::{Command, Error, Reply};
use model::BrokerId;

use super::lag::{Ask, Position, Positions, get_asks, get_positions, put_asks, put_positions};
use super::{Coordinators, DeleteError, Unavailable};
use crate::metadata;
use crate::peer::{self, Handler, Mesh, Service};

/// First byte of a request.
const POSITIONS: u8 = 1;
/// The groups of a broker, as JSON.
const GROUPS: u8 = 2;
/// Delete a group: its name follows.
const DELETE: u8 = 3;

/// Answers to [`DELETE`]; any other byte means that the coordinator cannot answer now.
const DELETED: u8 = 0;
const NOT_FOUND: u8 = 1;
const HAS_MEMBERS: u8 = 2;

pub(super) struct Server {
    coordinators: Coordinators,
    positions: Arc<Positions>,
}

impl Server {
    pub(super) fn new(coordinators: Coordinators) -> Self {
        let roster = coordinators.0.roster.clone();
        Self {
            coordinators,
            positions: Arc::new(Positions::new(roster)),
        }
    }
}

impl Handler for Server {
    fn call(&self, from: BrokerId, mut request: Bytes) -> BoxFuture<'static, Bytes> {
        match request.try_get_u8() {
            Ok(POSITIONS) => {
                let positions = Arc::clone(&self.positions);
                let answer = move || {
                    let mut out = BytesMut::new();
                    put_positions(&mut out, &positions.answer(from, &get_asks(request)));
                    out.freeze()
                };
                Box::pin(async move {
                    let answered = tokio::task::spawn_blocking(answer).await;
                    answered.unwrap_or_default()
                })
            }
            Ok(GROUPS) => {
                let report = self.coordinators.report();
                let json = serde_json::to_vec(&report.groups).unwrap_or_default();
                Box::pin(std::future::ready(Bytes::from(json)))
            }
            Ok(DELETE) => {
                let coordinators = self.coordinators.clone();
                Box::pin(async move {
                    let answer = delete_here(&coordinators, &request).await;
                    Bytes::copy_from_slice(&answer)
                })
            }
            _ => Box::pin(std::future::ready(Bytes::new())),
        }
    }
}

/// One answer per question; fewer when the other side speaks of something else.
pub(super) async fn positions(
    mesh: &Mesh,
    leader: BrokerId,
    asks: &[Ask],
) -> Result<Vec<Option<Position>>, peer::Error> {
    let mut request = BytesMut::new();
    request.put_u8(POSITIONS);
    put_asks(&mut request, asks);
    let answer = mesh
        .call(leader, Service::Coordinator, request.freeze())
        .await?;
    Ok(get_positions(answer))
}

/// Groups of every broker that answers, by name.
pub(super) async fn groups_of_all(mesh: &Mesh, metadata: &metadata::Handle) -> Vec<Group> {
    let image = metadata.image();
    let questions = image.brokers.keys().map(|broker| groups_of(mesh, *broker));
    let mut groups: Vec<Group> = futures::future::join_all(questions)
        .await
        .into_iter()
        .flatten()
        .collect();
    groups.sort_by(|a, b| a.summary.id.cmp(&b.summary.id));
    groups
}

async fn groups_of(mesh: &Mesh, broker: BrokerId) -> Vec<Group> {
    let request = Bytes::from_static(&[GROUPS]);
    match mesh.call(broker, Service::Coordinator, request).await {
        Ok(json) => serde_json::from_slice(&json).unwrap_or_else(|error| {
            tracing::warn!(%broker, %error, "groups of another broker are unreadable");
            Vec::new()
        }),
        Err(error) => {
            tracing::debug!(%broker, %error, "groups of another broker are unknown");
            Vec::new()
        }
    }
}

async fn delete_here(coordinators: &Coordinators, name: &[u8]) -> Vec<u8> {
    let Ok(name) = std::str::from_utf8(name) else {
        return vec![NOT_FOUND];
    };
    match coordinators.submit(&name.into(), Command::Delete).await {
        Ok(Reply::Delete(Ok(()))) => vec![DELETED],
        Ok(Reply::Delete(Err(Error::NonEmptyGroup))) => vec![HAS_MEMBERS],
        Ok(Reply::Delete(Err(_))) => vec![NOT_FOUND],
        Ok(_) | Err(_) => Vec::new(),
    }
}

pub(super) async fn delete(
    mesh: &Mesh,
    coordinator: BrokerId,
    group: &str,
) -> Result<(), DeleteError> {
    let mut request = BytesMut::with_capacity(1 + group.len());
    request.put_u8(DELETE);
    request.put_slice(group.as_bytes());
    let answer = mesh
        .call(coordinator, Service::Coordinator, request.freeze())
        .await;
    match answer.as_deref() {
        Ok([DELETED]) => Ok(()),
        Ok([NOT_FOUND]) => Err(DeleteError::NotFound),
        Ok([HAS_MEMBERS]) => Err(DeleteError::HasMembers),
        _ => Err(Unavailable::NotAvailable.into()),
    }
}
