//! `/v1/vhosts/{vhost}/queues`.

use std::sync::Arc;
use std::time::Duration;

use api::admin::{ErrorCode, Outcome, Put, Queue, QueueKind, QueueSpec};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use futures::future::join_all;
use machine::metadata::command::{Command, Reply};
use machine::metadata::image::{self, Image, Vhost};
use machine::value::Value;
use serde::Deserialize;

use super::error::{Body, Failure, Params};
use super::{Api, arguments};
use crate::amqp;
use crate::queue::Stats;

const QUEUE_TYPE: &str = "x-queue-type";
/// Time for a queue's host to say what is in it; a queue whose host is silent is shown without.
const STATS_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn list(
    State(api): State<Api>,
    Path(vhost): Path<String>,
) -> Result<Json<Vec<Queue>>, Failure> {
    let image = api.image();
    let queues = find_vhost(&image, &vhost)?.queues.values();
    let shown = queues.map(|queue| shown(&api, &image, queue));
    Ok(Json(join_all(shown).await))
}

pub(super) async fn show(
    State(api): State<Api>,
    Path((vhost, name)): Path<(String, String)>,
) -> Result<Json<Queue>, Failure> {
    let (image, queue) = find(&api, &vhost, &name)?;
    Ok(Json(shown(&api, &image, &queue).await))
}

pub(super) async fn put(
    State(api): State<Api>,
    Path((vhost, name)): Path<(String, String)>,
    Body(spec): Body<QueueSpec>,
) -> Result<Json<Put<Queue>>, Failure> {
    let quorum = spec.kind == QueueKind::Quorum;
    if quorum && (!spec.durable || spec.auto_delete) {
        let field = if spec.auto_delete {
            "auto_delete"
        } else {
            "durable"
        };
        let message = "a quorum queue is durable and not auto-delete";
        return Err(Failure::invalid(field, message));
    }
    let mut arguments = arguments::from_json(&spec.arguments)
        .map_err(|name| Failure::invalid(&format!("arguments.{name}"), "not an AMQP value"))?;
    if quorum {
        arguments.insert(QUEUE_TYPE.to_owned(), Value::String("quorum".to_owned()));
    }
    amqp::check_queue_arguments(&vhost, &name, quorum, &arguments)
        .map_err(|message| Failure::invalid("arguments", message))?;
    let command = Command::DeclareQueue {
        vhost: vhost.clone(),
        name: name.clone(),
        quorum,
        home: api.parts.metadata.this_broker(),
        durable: spec.durable,
        auto_delete: spec.auto_delete,
        exclusive: None,
        arguments,
    };
    let outcome = declared(&api.submit(command).await?);
    let (image, queue) = find(&api, &vhost, &name)?;
    let object = shown(&api, &image, &queue).await;
    Ok(Json(Put { outcome, object }))
}

#[derive(Deserialize)]
pub(super) struct DeleteIf {
    #[serde(default)]
    if_unused: bool,
    #[serde(default)]
    if_empty: bool,
}

pub(super) async fn delete(
    State(api): State<Api>,
    Path((vhost, name)): Path<(String, String)>,
    Params(DeleteIf {
        if_unused,
        if_empty,
    }): Params<DeleteIf>,
) -> Result<StatusCode, Failure> {
    let (_, queue) = find(&api, &vhost, &name)?;
    if if_unused || if_empty {
        let Some(stats) = stats(&api, &queue).await else {
            let message = format!("the host of queue '{name}' does not answer");
            return Err(Failure::new(ErrorCode::Unavailable, message));
        };
        if if_unused && stats.consumers > 0 {
            let message = format!("queue '{name}' has {} consumers", stats.consumers);
            return Err(Failure::new(ErrorCode::InUse, message));
        }
        let messages = stats.ready + stats.unacked;
        if if_empty && messages > 0 {
            let message = format!("queue '{name}' has {messages} messages");
            return Err(Failure::new(ErrorCode::InUse, message));
        }
    }
    api.submit(Command::DeleteQueue { vhost, name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a declaration did: properties cannot change, so an equal one is all there can be.
pub(super) fn declared(reply: &Reply) -> Outcome {
    match reply {
        Reply::Declared { created: true } => Outcome::Created,
        _ => Outcome::Unchanged,
    }
}

pub(super) fn find_vhost<'a>(image: &'a Image, name: &str) -> Result<&'a Vhost, Failure> {
    let vhost = image.vhosts.get(name);
    vhost
        .map(|v| &**v)
        .ok_or_else(|| Failure::not_found("virtual host", name))
}

fn find(api: &Api, vhost: &str, name: &str) -> Result<(Arc<Image>, Arc<image::Queue>), Failure> {
    let image = api.image();
    let queue = find_vhost(&image, vhost)?.queues.get(name).cloned();
    let queue = queue.ok_or_else(|| Failure::not_found("queue", name))?;
    Ok((image, queue))
}

async fn stats(api: &Api, queue: &Arc<image::Queue>) -> Option<Stats> {
    let asked = api.parts.queues.stats(queue);
    tokio::time::timeout(STATS_TIMEOUT, asked).await.ok()?.ok()
}

async fn shown(api: &Api, image: &Image, queue: &Arc<image::Queue>) -> Queue {
    let stats = stats(api, queue).await;
    let (kind, members) = match queue.kind {
        image::QueueKind::Classic { home } => (QueueKind::Classic, vec![home.0]),
        image::QueueKind::Quorum { shard } => {
            let members = image.shards.get(&shard).map(|s| s.members.as_slice());
            let members = members.unwrap_or_default().iter().map(|b| b.0).collect();
            (QueueKind::Quorum, members)
        }
    };
    let mut arguments = arguments::to_json(&queue.arguments);
    arguments.remove(QUEUE_TYPE);
    Queue {
        vhost: queue.vhost.to_string(),
        name: queue.name.to_string(),
        kind,
        durable: queue.durable,
        auto_delete: queue.auto_delete,
        exclusive: queue.exclusive.is_some(),
        arguments,
        leader: api.parts.queues.served_by(queue).map(|b| b.0),
        members,
        ready: stats.map(|s| s.ready),
        unacked: stats.map(|s| s.unacked),
        consumers: stats.map(|s| s.consumers),
    }
}
