//! Direct reply-to, RabbitMQ's `amq.rabbitmq.reply-to`: a requester consumes from a pseudo queue, the
//! `reply_to` of its requests becomes a token, and what is published to the token through the default
//! exchange goes straight to the requester's channel, on whatever broker that is.
//!
//! There is no queue: a reply is delivered at most once, and dropped when the requester is gone or more
//! waits for its connection than [`Config::replies_bytes_max`]. A token names the broker and a channel's
//! random key; one that names nothing, or the channel of another virtual host, reaches nobody.
//!
//! ```text
//! publish -> Replies => Inbox of the requester's connection
//!               `-> mesh (Service::Reply) -> Replies of its broker => Inbox
//! ```
//!
//! [`Config::replies_bytes_max`]: super::Config::replies_bytes_max

mod frame;
mod inbox;
#[cfg(test)]
mod tests;
mod token;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use model::BrokerId;
use parking_lot::RwLock;
use uuid::Uuid;

use self::frame::Frame;
pub(super) use self::inbox::{Inbox, Reply};
pub(super) use self::token::{NAME, Token, is_pseudo};
use super::metrics::Metrics;
use crate::peer::{Handler, Mesh, Service};
use crate::queue::{ChannelId, Message};

/// Who waits for replies on this broker, and the way to those on others. Cheap to clone.
#[derive(Clone)]
pub struct Replies(Arc<Inner>);

struct Inner {
    mesh: Mesh,
    metrics: Metrics,
    /// By the key of its token.
    requesters: RwLock<HashMap<Uuid, Requester>>,
}

struct Requester {
    vhost: Arc<str>,
    channel: ChannelId,
    inbox: Arc<Inbox>,
}

/// A channel's place among the requesters; given up when dropped.
pub(super) struct Registration {
    replies: Replies,
    pub(super) token: Token,
}

impl Replies {
    /// Takes replies of other brokers from now on.
    pub(super) fn start(mesh: Mesh, metrics: Metrics) -> Self {
        let replies = Self(Arc::new(Inner {
            mesh: mesh.clone(),
            metrics,
            requesters: RwLock::default(),
        }));
        mesh.serve(Service::Reply, Arc::new(replies.clone()));
        replies
    }

    /// From now on `inbox` gets what is published to the token in `vhost`, as replies to `channel`.
    pub(super) fn register(
        &self,
        vhost: &Arc<str>,
        channel: ChannelId,
        inbox: &Arc<Inbox>,
    ) -> Registration {
        let token = Token::draw(self.0.mesh.this_broker());
        let requester = Requester {
            vhost: vhost.clone(),
            channel,
            inbox: inbox.clone(),
        };
        self.0.requesters.write().insert(token.key, requester);
        Registration {
            replies: self.clone(),
            token,
        }
    }

    /// Sends one reply on its way. Nothing is said when it does not arrive.
    pub(super) fn publish(&self, vhost: &str, token: Token, message: &Message) {
        if token.broker == self.0.mesh.this_broker() {
            self.deliver(vhost, token.key, || message.clone());
            return;
        }
        let frame = Frame::Reply {
            vhost,
            key: token.key,
            routing_key: &message.routing_key,
            properties: message.properties.clone(),
            body: message.body.clone(),
        };
        let sent = self
            .0
            .mesh
            .send(token.broker, Service::Reply, frame.encode());
        if let Err(error) = sent {
            tracing::debug!(to = %token.broker, %error, "a direct reply is lost");
            self.0.metrics.replies_dropped.inc();
        }
    }

    /// Does a channel with this token live, in `vhost`?
    pub(super) async fn exists(&self, vhost: &str, token: Token) -> bool {
        if token.broker == self.0.mesh.this_broker() {
            return self.knows(vhost, token.key);
        }
        let question = Frame::Exists {
            vhost,
            key: token.key,
        };
        let call = self
            .0
            .mesh
            .call(token.broker, Service::Reply, question.encode());
        call.await.is_ok_and(|answer| frame::is_yes(&answer))
    }

    fn knows(&self, vhost: &str, key: Uuid) -> bool {
        let requesters = self.0.requesters.read();
        requesters
            .get(&key)
            .is_some_and(|requester| *requester.vhost == *vhost)
    }

    fn deliver(&self, vhost: &str, key: Uuid, message: impl FnOnce() -> Message) {
        let found = {
            let requesters = self.0.requesters.read();
            let requester = requesters.get(&key).filter(|of| *of.vhost == *vhost);
            requester.map(|of| (of.channel, of.inbox.clone()))
        };
        let taken = found.is_some_and(|(channel, inbox)| {
            inbox.put(Reply {
                channel,
                key,
                message: message(),
            })
        });
        if !taken {
            self.0.metrics.replies_dropped.inc();
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration").field(&self.token).finish()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut requesters = self.replies.0.requesters.write();
        requesters.remove(&self.token.key);
    }
}

impl Handler for Replies {
    fn call(&self, _from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes> {
        let mut request = request;
        let known = match frame::decode(&mut request) {
            Some(frame::Received::Exists { vhost, key }) => self.knows(&vhost, key),
            _ => false,
        };
        futures::future::ready(frame::yes(known)).boxed()
    }

    fn message(&self, from: BrokerId, message: Bytes) {
        let mut message = message;
        match frame::decode(&mut message) {
            Some(frame::Received::Reply {
                vhost,
                key,
                routing_key,
                properties,
                body,
            }) => {
                self.deliver(&vhost, key, || Message {
                    routing_key: routing_key.into(),
                    properties,
                    body,
                    ..Message::default()
                });
            }
            _ => tracing::error!(%from, "direct reply of a peer is malformed"),
        }
    }
}
