//! `basic.publish`: checks what the properties claim, finds the queues, hands the message over.

use std::sync::Arc;

use amqp_wire::field::{self, ShortStr};
use amqp_wire::method::basic;
use amqp_wire::{Content, Properties, ReplyCode, Table, Value};
use machine::metadata::image::Queue;
use machine::routing;

use super::channel::Channel;
use super::direct_reply::{self, Token};
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
    #[error("fast reply consumer does not exist")]
    NoReplyConsumer,
    #[error("message properties: {0}")]
    Properties(#[from] field::Invalid),
}

/// A message with the queues it goes to.
pub(super) struct Routed {
    pub(super) queues: Vec<Arc<Queue>>,
    /// Requesters that it is a direct reply to.
    pub(super) replies: Vec<Token>,
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
    let is_request = address_reply(channel, &mut properties)?;
    let expiration = expiration(&properties)?;
    let headers = properties.headers.as_ref();
    let mut keys = vec![publish.routing_key.as_str()];
    keys.extend(sender_selected(headers, CC)?);
    keys.extend(sender_selected(headers, BCC)?);
    let replies = if exchange.is_empty() {
        take_tokens(client, &mut keys)
    } else {
        Vec::new()
    };
    let all_headers = || headers.map(values::from_wire).unwrap_or_default();
    let queues = if keys.is_empty() {
        Vec::new()
    } else {
        let routed = cache.route(&vhost, exchange, &keys, &all_headers);
        let routed = routed.map_err(|_| Error::NoExchange {
            name: exchange.to_owned(),
            vhost: client.vhost.clone(),
        })?;
        routed.queues.clone()
    };
    let unrouted = queues.is_empty() && replies.is_empty();
    let returned = (publish.mandatory && unrouted).then(|| (unroutable(publish), content.clone()));
    let persistent = properties.is_persistent();
    let priority = properties.priority;
    let stripped = properties.headers.as_mut().and_then(|h| h.remove(BCC));
    let encoded = if stripped.is_some() || is_request {
        properties.to_bytes()
    } else {
        content.properties
    };
    let (exchange, routing_key) = address(channel, exchange, &publish.routing_key);
    Ok(Routed {
        queues,
        replies,
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

/// Puts the channel's own token for the pseudo queue in a request's `reply_to`.
fn address_reply(channel: &Channel, properties: &mut Properties) -> Result<bool, Error> {
    if properties.reply_to.as_deref() != Some(direct_reply::NAME) {
        return Ok(false);
    }
    let consumer = channel.replies.as_ref().ok_or(Error::NoReplyConsumer)?;
    let token = consumer.registration.token.to_string();
    properties.reply_to = Some(token.as_str().into());
    Ok(true)
}

/// Takes the tokens of requesters out of `keys`. One of a broker that the cluster has is routable,
/// whether or not its requester still lives there.
fn take_tokens(client: &Client, keys: &mut Vec<&str>) -> Vec<Token> {
    let mut tokens = Vec::new();
    keys.retain(|key| {
        if !direct_reply::is_pseudo(key) {
            return true;
        }
        if let Some(token) = Token::parse(key)
            && client.knows(token.broker())
            && !tokens.contains(&token)
        {
            tokens.push(token);
        }
        false
    });
    tokens
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
