//! `/v1/vhosts` and its exchanges and bindings.

use api::admin::{Binding, Destination, ErrorCode, Exchange, ExchangeKind, ExchangeSpec, Put};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use machine::metadata::command::Command;
use machine::metadata::image::{self, Vhost};
use machine::value::Table;
use serde::Deserialize;

use super::error::{Body, Failure, Params};
use super::queue::{declared, find_vhost};
use super::{Api, arguments};

/// Names that no declaration may make or take away.
const RESERVED: &str = "amq.";

pub(super) async fn vhosts(State(api): State<Api>) -> Json<Vec<String>> {
    Json(api.image().vhosts.keys().map(ToString::to_string).collect())
}

pub(super) async fn put_vhost(
    State(api): State<Api>,
    Path(name): Path<String>,
) -> Result<StatusCode, Failure> {
    api.submit(Command::CreateVhost { name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn list(
    State(api): State<Api>,
    Path(vhost): Path<String>,
) -> Result<Json<Vec<Exchange>>, Failure> {
    let image = api.image();
    let found = find_vhost(&image, &vhost)?;
    let exchanges = found.exchanges.values();
    Ok(Json(exchanges.map(|e| shown(&vhost, found, e)).collect()))
}

pub(super) async fn show(
    State(api): State<Api>,
    Path((vhost, name)): Path<(String, String)>,
) -> Result<Json<Exchange>, Failure> {
    Ok(Json(get(&api, &vhost, &name)?))
}

pub(super) async fn put(
    State(api): State<Api>,
    Path((vhost, name)): Path<(String, String)>,
    Body(spec): Body<ExchangeSpec>,
) -> Result<Json<Put<Exchange>>, Failure> {
    let known = find_vhost(&api.image(), &vhost)?
        .exchanges
        .contains_key(name.as_str());
    if name.is_empty() || (name.starts_with(RESERVED) && !known) {
        let message = format!("exchange names that begin with '{RESERVED}' belong to the broker");
        return Err(Failure::invalid("name", message));
    }
    let command = Command::DeclareExchange {
        vhost: vhost.clone(),
        name: name.clone(),
        kind: match spec.kind {
            ExchangeKind::Direct => image::ExchangeKind::Direct,
            ExchangeKind::Fanout => image::ExchangeKind::Fanout,
            ExchangeKind::Topic => image::ExchangeKind::Topic,
            ExchangeKind::Headers => image::ExchangeKind::Headers,
        },
        durable: spec.durable,
        auto_delete: spec.auto_delete,
        internal: spec.internal,
        arguments: table(&spec.arguments)?,
    };
    let outcome = declared(&api.submit(command).await?);
    let object = get(&api, &vhost, &name)?;
    Ok(Json(Put { outcome, object }))
}

#[derive(Deserialize)]
pub(super) struct DeleteIf {
    #[serde(default)]
    if_unused: bool,
}

pub(super) async fn delete(
    State(api): State<Api>,
    Path((vhost, name)): Path<(String, String)>,
    Params(DeleteIf { if_unused }): Params<DeleteIf>,
) -> Result<StatusCode, Failure> {
    get(&api, &vhost, &name)?;
    if name.is_empty() || name.starts_with(RESERVED) {
        let message = format!("exchange '{name}' belongs to the broker");
        return Err(Failure::new(ErrorCode::Invalid, message));
    }
    let command = Command::DeleteExchange {
        vhost,
        name,
        if_unused,
    };
    api.submit(command).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn bind(
    State(api): State<Api>,
    Path((vhost, source)): Path<(String, String)>,
    Body(binding): Body<Binding>,
) -> Result<StatusCode, Failure> {
    get(&api, &vhost, &source)?;
    let arguments = table(&binding.arguments)?;
    let command = Command::Bind {
        vhost,
        source,
        destination: destination(binding.destination),
        routing_key: binding.routing_key,
        arguments,
    };
    api.submit(command).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn unbind(
    State(api): State<Api>,
    Path((vhost, source)): Path<(String, String)>,
    Body(binding): Body<Binding>,
) -> Result<StatusCode, Failure> {
    get(&api, &vhost, &source)?;
    let arguments = table(&binding.arguments)?;
    let command = Command::Unbind {
        vhost,
        source,
        destination: destination(binding.destination),
        routing_key: binding.routing_key,
        arguments,
    };
    api.submit(command).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn table(arguments: &api::admin::Arguments) -> Result<Table, Failure> {
    arguments::from_json(arguments)
        .map_err(|name| Failure::invalid(&format!("arguments.{name}"), "not an AMQP value"))
}

fn destination(destination: Destination) -> image::Destination {
    match destination {
        Destination::Queue(name) => image::Destination::Queue(name.into()),
        Destination::Exchange(name) => image::Destination::Exchange(name.into()),
    }
}

fn get(api: &Api, vhost: &str, name: &str) -> Result<Exchange, Failure> {
    let image = api.image();
    let found = find_vhost(&image, vhost)?;
    let exchange = found.exchanges.get(name);
    let exchange = exchange.ok_or_else(|| Failure::not_found("exchange", name))?;
    Ok(shown(vhost, found, exchange))
}

fn shown(vhost: &str, of: &Vhost, exchange: &image::Exchange) -> Exchange {
    let bindings = of.bindings.get(&exchange.name).into_iter().flatten();
    Exchange {
        vhost: vhost.to_owned(),
        name: exchange.name.to_string(),
        kind: match exchange.kind {
            image::ExchangeKind::Direct => ExchangeKind::Direct,
            image::ExchangeKind::Fanout => ExchangeKind::Fanout,
            image::ExchangeKind::Topic => ExchangeKind::Topic,
            image::ExchangeKind::Headers => ExchangeKind::Headers,
        },
        durable: exchange.durable,
        auto_delete: exchange.auto_delete,
        internal: exchange.internal,
        arguments: arguments::to_json(&exchange.arguments),
        bindings: bindings
            .map(|binding| Binding {
                destination: match &binding.destination {
                    image::Destination::Queue(name) => Destination::Queue(name.to_string()),
                    image::Destination::Exchange(name) => Destination::Exchange(name.to_string()),
                },
                routing_key: binding.routing_key.to_string(),
                arguments: arguments::to_json(&binding.arguments),
            })
            .collect(),
    }
}
