//! Exchanges, queues and bindings: looks in the image, lets the metadata group change it.
//!
//! Rules that RabbitMQ checks before it changes anything are checked here, on the image of this
//! broker; what may race is decided again where the command is applied.

mod arguments;
pub(super) mod exchange;
pub(super) mod queue;

use std::sync::Arc;

use amqp_wire::ShortStr;
use machine::metadata::command::{Command, Refusal, Reply};
use machine::metadata::image::{Destination, Exchange, Queue, Vhost};
use model::BrokerId;

use super::Front;
use super::outage::Outage;
use crate::metadata;
use crate::queue::Owner;

/// Whether a queue can have these arguments, for those who declare queues without a connection.
pub(crate) fn check_queue_arguments(
    vhost: &str,
    name: &str,
    quorum: bool,
    arguments: &machine::value::Table,
) -> Result<(), String> {
    arguments::check_queue(vhost, name, quorum, arguments).map_err(|error| error.to_string())
}

/// Who asks: one connection, logged in and in a virtual host.
pub(super) struct Client {
    pub(super) front: Arc<Front>,
    pub(super) vhost: Arc<str>,
    pub(super) user: String,
    /// Owner of the connection's exclusive queues.
    pub(super) owner: Owner,
}

/// Why a topology method changed nothing. Texts are RabbitMQ's.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("no queue '{name}' in vhost '{vhost}'")]
    NoQueue { name: String, vhost: Arc<str> },
    #[error("no exchange '{name}' in vhost '{vhost}'")]
    NoExchange { name: String, vhost: Arc<str> },
    #[error("no previously declared queue")]
    NoQueueDeclared,
    #[error("{what} name '{name}' contains reserved prefix 'amq.*'")]
    Reserved { what: &'static str, name: String },
    #[error("operation not permitted on the default exchange")]
    DefaultExchange,
    #[error("deletion of system exchange '{name}' in vhost '{vhost}' not allowed")]
    SystemExchange { name: String, vhost: Arc<str> },
    #[error(
        "cannot obtain exclusive access to locked queue '{name}' in vhost '{vhost}'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration."
    )]
    Locked { name: String, vhost: Arc<str> },
    #[error("{0}")]
    InvalidArgument(String),
    #[error("invalid property '{property}' for queue '{name}' in vhost '{vhost}'")]
    InvalidProperty {
        property: &'static str,
        name: String,
        vhost: Arc<str>,
    },
    #[error("invalid exchange type '{kind}'")]
    UnknownKind { kind: String },
    #[error("cannot declare server-named queue '{name}' of type quorum")]
    ServerNamed { name: String },
    #[error("exchange '{name}' in vhost '{vhost}' in use")]
    ExchangeInUse { name: String, vhost: Arc<str> },
    #[error("queue '{name}' in vhost '{vhost}' in use")]
    QueueInUse { name: String, vhost: Arc<str> },
    #[error("queue '{name}' in vhost '{vhost}' not empty")]
    QueueNotEmpty { name: String, vhost: Arc<str> },
    /// Other properties than what is there has, mostly.
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Outage(#[from] Outage),
    /// Told as the [`Outage`] of the method that asked.
    #[error(transparent)]
    Metadata(#[from] metadata::Unavailable),
}

// === impl Client ===

impl Client {
    /// The virtual host as it is now; empty if it was deleted under the connection.
    pub(super) fn vhost(&self) -> Arc<Vhost> {
        let image = self.front.metadata.image();
        image.vhosts.get(&self.vhost).cloned().unwrap_or_default()
    }

    /// Is there such a broker in the cluster?
    pub(super) fn knows(&self, broker: BrokerId) -> bool {
        let metadata = &self.front.metadata;
        broker == metadata.this_broker() || metadata.image().brokers.contains_key(&broker)
    }

    async fn submit(&self, command: Command) -> Result<Reply, Error> {
        match self.front.metadata.submit(command).await? {
            Reply::Refused(refusal) => Err(Error::Refused(refusal)),
            reply => Ok(reply),
        }
    }

    /// The queue named `name`, if this connection may use it.
    pub(super) fn queue(&self, name: &str) -> Result<Arc<Queue>, Error> {
        let vhost = self.vhost();
        let Some(queue) = vhost.queues.get(name) else {
            return Err(self.no_queue(name));
        };
        self.unlocked(queue)?;
        Ok(queue.clone())
    }

    /// Refuses an exclusive queue of another connection.
    fn unlocked(&self, queue: &Queue) -> Result<(), Error> {
        match queue.exclusive {
            Some(owner) if owner != self.owner.id() => Err(self.locked(&queue.name)),
            _ => Ok(()),
        }
    }

    fn locked(&self, name: &str) -> Error {
        Error::Locked {
            name: name.to_owned(),
            vhost: self.vhost.clone(),
        }
    }

    fn exchange(&self, name: &str) -> Result<Arc<Exchange>, Error> {
        let found = self.vhost().exchanges.get(name).cloned();
        found.ok_or_else(|| self.no_exchange(name))
    }

    fn no_queue(&self, name: &str) -> Error {
        Error::NoQueue {
            name: name.to_owned(),
            vhost: self.vhost.clone(),
        }
    }

    fn no_exchange(&self, name: &str) -> Error {
        Error::NoExchange {
            name: name.to_owned(),
            vhost: self.vhost.clone(),
        }
    }
}

/// A binding that a method asks for or wants gone.
pub(super) struct BindingRequest {
    pub(super) source: String,
    pub(super) destination: Destination,
    pub(super) routing_key: String,
    pub(super) arguments: machine::value::Table,
}

/// Makes a binding; one that is there already is fine.
pub(super) async fn bind(client: &Client, request: BindingRequest) -> Result<(), Error> {
    check_ends(client, &request)?;
    arguments::check_binding(&request.arguments)?;
    let vhost = client.vhost();
    let existing = vhost.bindings.get(request.source.as_str());
    if existing.is_some_and(|bindings| bindings.iter().any(|binding| same(binding, &request))) {
        return Ok(());
    }
    let BindingRequest {
        source,
        destination,
        routing_key,
        arguments,
    } = request;
    client
        .submit(Command::Bind {
            vhost: client.vhost.to_string(),
            source,
            destination,
            routing_key,
            arguments,
        })
        .await?;
    Ok(())
}

/// Removes a binding; one that is not there, or whose ends are not there, is fine.
pub(super) async fn unbind(client: &Client, request: BindingRequest) -> Result<(), Error> {
    match check_ends(client, &request) {
        Ok(()) => {}
        Err(Error::NoQueue { .. } | Error::NoExchange { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    let BindingRequest {
        source,
        destination,
        routing_key,
        arguments,
    } = request;
    let command = Command::Unbind {
        vhost: client.vhost.to_string(),
        source,
        destination,
        routing_key,
        arguments,
    };
    match client.submit(command).await {
        Ok(_) | Err(Error::Refused(Refusal::NotFound(_))) => Ok(()),
        Err(error) => Err(error),
    }
}

fn same(binding: &machine::metadata::image::Binding, request: &BindingRequest) -> bool {
    binding.destination == request.destination
        && *binding.routing_key == *request.routing_key
        && binding.arguments == request.arguments
}

fn check_ends(client: &Client, request: &BindingRequest) -> Result<(), Error> {
    if request.source.is_empty() {
        return Err(Error::DefaultExchange);
    }
    match &request.destination {
        Destination::Queue(name) => {
            client.queue(name)?;
        }
        Destination::Exchange(name) if name.is_empty() => return Err(Error::DefaultExchange),
        Destination::Exchange(name) => {
            client.exchange(name)?;
        }
    }
    client.exchange(&request.source)?;
    Ok(())
}

/// A name as RabbitMQ takes it: without carriage returns and line feeds.
pub(super) fn name(text: &ShortStr) -> String {
    text.replace(['\r', '\n'], "")
}
