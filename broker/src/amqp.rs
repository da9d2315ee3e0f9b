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
mod confirms;
mod connection;
mod consume;
mod metrics;
mod publish;
mod reply_code;
mod topology;
mod transaction;
mod unacked;
mod users;
pub(crate) mod values;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::metadata;
use crate::queue::Queues;
pub(crate) use topology::check_queue_arguments;

pub use metrics::Metrics;
pub use users::{InvalidUsers, Users, users_file_line};

/// Bounds of the front; each is a documented `millrace.amqp.*` key of the broker's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.amqp.connections.max`: connections open at once; the next one is closed unanswered.
    pub connections_max: usize,
    /// `millrace.amqp.handshake.timeout.ms`: from accept to the open vhost.
    pub handshake_timeout: Duration,
    /// `millrace.amqp.channel.max`: channels of one connection.
    pub channel_max: u16,
    /// `millrace.amqp.frame.max`: bytes of a frame, overhead included.
    pub frame_max: u32,
    /// `millrace.amqp.heartbeat.s`: interval offered to clients; 0 = none.
    pub heartbeat_s: u16,
    /// `millrace.amqp.message.bytes.max`: bytes of a message body.
    pub message_bytes_max: u64,
    /// `millrace.amqp.transaction.bytes.max`: bytes of publishes that one channel holds before a commit.
    pub transaction_bytes_max: usize,
    /// `millrace.amqp.consumers.max`: consumers of one connection.
    pub consumers_max: usize,
    /// `millrace.amqp.product` and `millrace.amqp.version`: what clients read in the server properties
    /// before they use RabbitMQ's extensions.
    pub product: String,
    pub version: String,
}

impl Default for Config {
    fn default() -> Self {
        let wire = amqp_wire::session::Config::default();
        Self {
            connections_max: 10_000,
            handshake_timeout: Duration::from_secs(10),
            channel_max: wire.channel_max,
            frame_max: wire.frame_max,
            heartbeat_s: wire.heartbeat_s,
            message_bytes_max: wire.message_bytes_max,
            transaction_bytes_max: 64 << 20,
            consumers_max: 10_000,
            product: wire.product,
            version: wire.version,
        }
    }
}

/// What all connections share.
pub struct Front {
    pub config: Config,
    pub metadata: metadata::Handle,
    pub queues: Queues,
    pub users: Users,
    pub metrics: Metrics,
    /// `cluster_name` of the server properties.
    pub cluster_name: String,
}

/// Accepts until `stop`, then closes every connection with 320 and returns when all are gone.
pub async fn serve(listener: TcpListener, front: Arc<Front>, stop: CancellationToken) {
    let permits = Arc::new(Semaphore::new(front.config.connections_max));
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_ended) = tasks.join_next() => continue,
            () = stop.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, mostly: the listener itself stays usable.
                tracing::warn!(%error, "cannot accept an AMQP connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(permit) = permits.clone().try_acquire_owned() else {
            front.metrics.connections_refused.inc();
            tracing::warn!(%peer, max = front.config.connections_max, "too many AMQP connections");
            continue;
        };
        let (front, stop) = (front.clone(), stop.clone());
        tasks.spawn(async move {
            connection::run(stream, peer, front, stop).await;
            drop(permit);
        });
    }
    while tasks.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests;
