//! `exchange.declare` and `exchange.delete`.

use amqp_wire::method::exchange;
use machine::metadata::command::{Command, Refusal};
use machine::metadata::image::{Exchange, ExchangeKind};
use machine::metadata::topology::equivalence;

use super::{Client, Error, arguments, name};
use crate::amqp::values;

/// Declares, or compares with what is there.
pub(in crate::amqp) async fn declare(
    client: &Client,
    declare: &exchange::Declare,
) -> Result<(), Error> {
    let name = name(&declare.exchange);
    if name.is_empty() {
        return Err(Error::DefaultExchange);
    }
    let existing = client.vhost().exchanges.get(name.as_str()).cloned();
    if declare.passive {
        return match existing {
            Some(_) => Ok(()),
            None => Err(client.no_exchange(&name)),
        };
    }
    let asked = Exchange {
        name: name.as_str().into(),
        kind: kind(&declare.kind)?,
        durable: declare.durable,
        auto_delete: declare.auto_delete,
        internal: declare.internal,
        arguments: values::from_wire(&declare.arguments),
    };
    if let Some(existing) = existing {
        return Ok(equivalence::exchanges(&client.vhost, &existing, &asked)?);
    }
    if name.starts_with("amq.") {
        return Err(Error::Reserved {
            what: "exchange",
            name,
        });
    }
    arguments::check_exchange(&client.vhost, &name, &asked.arguments)?;
    // Compared again where it is applied: someone else may be first, with other properties.
    let command = Command::DeclareExchange {
        vhost: client.vhost.to_string(),
        name,
        kind: asked.kind,
        durable: asked.durable,
        auto_delete: asked.auto_delete,
        internal: asked.internal,
        arguments: asked.arguments,
    };
    client.submit(command).await?;
    Ok(())
}

/// Deletes; one that is not there is fine.
pub(in crate::amqp) async fn delete(
    client: &Client,
    delete: &exchange::Delete,
) -> Result<(), Error> {
    let name = name(&delete.exchange);
    if name.is_empty() {
        return Err(Error::DefaultExchange);
    }
    let vhost = client.vhost();
    if name.starts_with("amq.") {
        return Err(Error::SystemExchange {
            name,
            vhost: client.vhost.clone(),
        });
    }
    if !vhost.exchanges.contains_key(name.as_str()) {
        return Ok(());
    }
    let bound = vhost.bindings.get(name.as_str());
    if delete.if_unused && bound.is_some_and(|bindings| !bindings.is_empty()) {
        return Err(in_use(client, name));
    }
    let command = Command::DeleteExchange {
        vhost: client.vhost.to_string(),
        name: name.clone(),
        if_unused: delete.if_unused,
    };
    match client.submit(command).await {
        Ok(_) | Err(Error::Refused(Refusal::NotFound(_))) => Ok(()),
        Err(Error::Refused(Refusal::InUse(_))) => Err(in_use(client, name)),
        Err(error) => Err(error),
    }
}

fn in_use(client: &Client, name: String) -> Error {
    Error::ExchangeInUse {
        name,
        vhost: client.vhost.clone(),
    }
}

fn kind(kind: &str) -> Result<ExchangeKind, Error> {
    Ok(match kind {
        "direct" => ExchangeKind::Direct,
        "fanout" => ExchangeKind::Fanout,
        "topic" => ExchangeKind::Topic,
        "headers" => ExchangeKind::Headers,
        kind => {
            return Err(Error::UnknownKind {
                kind: kind.to_owned(),
            });
        }
    })
}
