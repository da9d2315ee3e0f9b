//! The AMQP 0-9-1 front: unmodified RabbitMQ clients in, queues and exchanges of the cluster behind.
//!
//! Owns connections, channels, confirms, consumers' tags and the translation of every inner error to a
//! reply code ([`reply_code`], nowhere else). What the protocol says of any broker is in
//! [`amqp_wire::session`]; what a queue does is in [`crate::queue`]; which queues a key reaches is in
//! `machine::routing`; what exists is in the metadata image.
//!
//! ```text
//! socket -> connection -> publish | consume | topology -> queue::Session => hosts => queue::Events
//!        <- one write per wake-up <----------------------------------------------'
//! ```

mod channel;
mod config;
mod confirms;
mod connection;
mod consume;
mod direct_reply;
mod logins;
mod metrics;
mod outage;
mod publish;
mod reply_code;
mod topology;
mod transaction;
mod unacked;
mod users;
pub(crate) mod values;

use std::sync::Arc;

use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metadata;
use crate::net::{self, Bounds, Connections, Room};
use crate::peer::Mesh;
use crate::queue::Queues;

pub use config::Config;
pub use direct_reply::Replies;
pub use logins::{Logins, UsersError};
pub use metrics::Metrics;
pub(crate) use topology::check_queue_arguments;
pub use users::{InvalidUsers, Users, users_file_line};

/// What all connections share.
pub struct Front {
    pub config: Config,
    pub metadata: metadata::Handle,
    pub queues: Queues,
    pub logins: Logins,
    pub metrics: Metrics,
    pub replies: Replies,
    /// For what clients have begun to send.
    pub contents: Arc<Room>,
    /// `cluster_name` of the server properties.
    pub cluster_name: String,
}

impl Front {
    /// The front of one broker, by its configuration. Its metrics go into `registry`.
    ///
    /// # Errors
    /// [`UsersError`] when the users file cannot be used.
    pub fn new(
        broker: &crate::Config,
        metadata: metadata::Handle,
        queues: Queues,
        mesh: Mesh,
        registry: &mut Registry,
    ) -> Result<Self, UsersError> {
        let metrics = Metrics::default();
        metrics.register(registry);
        let config = Config::from_broker(broker);
        Ok(Self {
            contents: Room::new(config.contents_bytes_max),
            config,
            metadata,
            queues,
            logins: Logins::open(broker)?,
            replies: Replies::start(mesh, metrics.clone()),
            metrics,
            cluster_name: broker.cluster_id.clone(),
        })
    }
}

/// Accepts until `stop`, then closes every connection with 320 and returns when all are gone. Limits
/// count over all `listeners`.
pub async fn serve(listeners: Vec<TcpListener>, front: Arc<Front>, stop: CancellationToken) {
    let config = &front.config;
    let connections = Connections::new(Bounds {
        total_max: config.connections_max,
        per_address_max: config.connections_per_address_max,
        ..Bounds::default()
    });
    let accepting = listeners.into_iter().map(|listener| {
        let (front, stop) = (front.clone(), stop.clone());
        net::accept(
            listener,
            connections.clone(),
            stop.clone(),
            move |stream, peer| connection::run(stream, peer, front.clone(), stop.clone()),
        )
    });
    futures::future::join_all(accepting).await;
}

#[cfg(test)]
mod tests;
