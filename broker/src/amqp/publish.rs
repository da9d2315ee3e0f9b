//! `basic.publish`: checks what the properties claim, finds the queues, hands the message over.

use std::sync::Arc;

use amqp_wire::field::{self, ShortStr};
use amqp_wire::method::basic;
use amqp_wire::{Content, Properties, ReplyCode, Table, Value};
use machine::metadata::image::Queue;
use machine::routing;

use super::channel::Channel;
use super::topology::Client;
use super::{topology, values};
use crate::queue::Message;

/// Why a message was not taken. Texts are RabbitMQ's.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("no exchange '{name}' in vhost '{vhost}'")]
    NoExchange { name: String, vhost: Arc<str> },
    #[error("cannot publish to internal exchange '{name}' in vhost '{vhost}'")]
    InternalExchange { name: String, vhost: Arc<str> },
    #[error("user_id property set to '{claimed}' but authenticated user was '{user}'")]
    UserId { claimed: String, user: String },
    #[error("invalid expiration '{text}': {why}")]
    Expiration { text: String, why: String },
    #[error("invalid message: {{unacceptable_type_in_header,\"{header}\"}}")]
    SenderSelected { header: &'static str },
    #[error("message properties: {0}")]
    Properties(#[from] field::Invalid),
}

/// A message with the queues it goes to.
pub(super) struct Routed {
    pub(super) queues: Vec<Arc<Queue>>,
    pub(super) message: Message,
    /// Set when it is mandatory and reaches nobody: goes back before its confirm.
    pub(super) returned: Option<(basic::Return, Content)>,
}

/// Headers whose values are more routing keys. BCC is taken out of what is delivered.
const CC: &str = "CC";
const BCC: &str = "BCC";

/// Checks and routes one publish.
pub(super) fn route(
    client: &Client,
    cache: &mut routing::Cache,
    channel: &mut Channel,
    publish: &basic::Publish,
    content: Content,
) -> Result<Routed, Error> {
    let vhost = client.vhost();
    let exchange = publish.exchange.as_str();
    let exchange = if exchange.contains(['\r', '\n']) {
        &topology::name(&publish.exchange)
    } else {
        exchange
    };
    if let Some(found) = vhost.exchanges.get(exchange)
        && found.internal
    {
        return Err(Error::InternalExchange {
            name: exchange.to_owned(),
            vhost: client.vhost.clone(),
        });
    }
    let mut properties = Properties::parse(content.properties.clone())?;
    check_user(client, &properties)?;
    let expiration = expiration(&properties)?;
    let headers = properties.headers.as_ref();
    let mut keys = vec![publish.routing_key.as_str()];
    keys.extend(sender_selected(headers, CC)?);
    keys.extend(sender_selected(headers, BCC)?);
    let all_headers = || headers.map(values::from_wire).unwrap_or_default();
    let routed = cache
        .route(&vhost, exchange, &keys, &all_headers)
        .map_err(|_| Error::NoExchange {
            name: exchange.to_owned(),
            vhost: client.vhost.clone(),
        })?;
    let queues = routed.queues.clone();
    let returned =
        (publish.mandatory && queues.is_empty()).then(|| (unroutable(publish), content.clone()));
    let persistent = properties.is_persistent();
    let priority = properties.priority;
    let stripped = properties.headers.as_mut().and_then(|h| h.remove(BCC));
    let encoded = match stripped {
        Some(_) => properties.to_bytes(),
        None => content.properties,
    };
    let (exchange, routing_key) = address(channel, exchange, &publish.routing_key);
    Ok(Routed {
        queues,
        message: Message {
            exchange,
            routing_key,
            properties: encoded,
            body: content.body,
            persistent,
            expiration,
            priority,
            deaths: None,
        },
        returned,
    })
}

/// Consecutive publishes to one place share its name.
fn address(channel: &mut Channel, exchange: &str, routing_key: &str) -> (Arc<str>, Arc<str>) {
    let (last_exchange, last_key) = &mut channel.last_address;
    if **last_exchange != *exchange {
        *last_exchange = exchange.into();
    }
    if **last_key != *routing_key {
        *last_key = routing_key.into();
    }
    (last_exchange.clone(), last_key.clone())
}

fn check_user(client: &Client, properties: &Properties) -> Result<(), Error> {
    match &properties.user_id {
        Some(claimed) if claimed.as_str() != client.user => Err(Error::UserId {
            claimed: claimed.to_string(),
            user: client.user.clone(),
        }),
        _ => Ok(()),
    }
}

fn expiration(properties: &Properties) -> Result<Option<u64>, Error> {
    let Some(text) = &properties.expiration else {
        return Ok(None);
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    // The reasons are RabbitMQ's, word by word.
    let why = match text.strip_prefix('-').map(str::parse::<u64>) {
        _ if digits > 0 && digits == text.len() => match text.parse() {
            Ok(milliseconds) => return Ok(Some(milliseconds)),
            Err(_) => format!("{{value_too_big,{text}}}"),
        },
        Some(Ok(negative)) => format!("{{value_negative,-{negative}}}"),
        _ if digits == 0 => "no_integer".to_owned(),
        _ => {
            let rest = text.get(digits..).unwrap_or_default();
            format!("{{leftover_string,\"{rest}\"}}")
        }
    };
    Err(Error::Expiration {
        text: text.to_string(),
        why,
    })
}

fn sender_selected<'a>(
    headers: Option<&'a Table>,
    header: &'static str,
) -> Result<Vec<&'a str>, Error> {
    let wrong = Error::SenderSelected { header };
    match headers.and_then(|headers| headers.get(header)) {
        None => Ok(Vec::new()),
        Some(Value::Array(keys)) => {
            let keys = keys.iter().map(Value::as_text);
            keys.collect::<Option<_>>().ok_or(wrong)
        }
        Some(_) => Err(wrong),
    }
}

fn unroutable(publish: &basic::Publish) -> basic::Return {
    basic::Return {
        reply_code: ReplyCode::NoRoute.number(),
        reply_text: ShortStr::from_static(ReplyCode::NoRoute.name()),
        exchange: publish.exchange.clone(),
        routing_key: publish.routing_key.clone(),
    }
}
