//! The Kafka front: unmodified Kafka clients in, partitions, groups and metadata of the cluster behind.
//!
//! Owns connections, fetch sessions and the translation of every inner error to an error code
//! ([`error_code`], nowhere else). A handler decodes nothing and decides nothing: it takes a request,
//! calls what it needs, and builds the response. [`dispatch`] lists which request goes where, and so
//! which versions are offered.
//!
//! ```text
//! socket -> connection -> dispatch -> produce | fetch | metadata | … -> partition, metadata, coordinator
//!        <- one write per wake-up, replies in order of requests <----------'
//! ```

mod acls;
mod api_versions;
mod configs;
mod connection;
mod delete_records;
mod directory;
mod dispatch;
mod elect_leaders;
mod epochs;
mod error_code;
mod features;
mod fetch;
mod find_coordinator;
mod groups;
mod init_producer_id;
mod limits;
mod list_offsets;
mod log_dirs;
mod metadata;
mod offsets;
mod produce;
mod quorum;
mod quotas;
mod raft_voters;
mod reassignments;
mod replicas;
mod topics;
mod unregister_broker;

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::coordinator::Coordinators;
use crate::net::{self, Connections, Room};
use crate::partition::Roster;
use crate::telemetry::Telemetry;
use crate::{Config, metadata as cluster_metadata};

pub use limits::Limits;

/// What the handlers work on; one per broker, shared by its connections.
pub struct Front {
    config: Arc<Config>,
    limits: ArcSwap<Limits>,
    metadata: cluster_metadata::Handle,
    roster: Roster,
    groups: Coordinators,
    producer_ids: init_producer_id::ProducerIds,
    fetch_sessions: fetch::Sessions,
    creations: topics::Creations,
    quotas: quotas::Quotas,
    /// For requests, from their first byte until they are answered.
    requests: Arc<Room>,
    /// For replies, until their clients have taken them.
    replies: Arc<Room>,
    /// For what groups keep of their members.
    members: Arc<Room>,
    connections: Connections,
    /// The broker stops: long polls end, connections finish what they took.
    stop: CancellationToken,
}

impl Front {
    pub fn new(
        config: Arc<Config>,
        metadata: cluster_metadata::Handle,
        roster: Roster,
        groups: Coordinators,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let limits = Limits::from_config(&config);
        Arc::new(Self {
            requests: Room::new(limits.inflight_bytes_max),
            replies: Room::new(limits.reply_bytes_max),
            members: Room::new(limits.group_bytes_max),
            connections: Connections::new(limits.connections.clone()),
            fetch_sessions: fetch::Sessions::new(limits.fetch_sessions_max),
            creations: topics::Creations::default(),
            quotas: quotas::Quotas::new(&config),
            producer_ids: init_producer_id::ProducerIds::default(),
            config,
            limits: ArcSwap::from_pointee(limits),
            metadata,
            roster,
            groups,
            stop,
        })
    }

    /// Takes over what may change of the limits while the broker runs.
    pub fn reconfigure(&self, config: &Config) {
        let limits = Limits::from_config(config);
        if **self.limits.load() == limits {
            return;
        }
        self.requests.resize(limits.inflight_bytes_max);
        self.replies.resize(limits.reply_bytes_max);
        self.members.resize(limits.group_bytes_max);
        self.connections.bound(limits.connections.clone());
        self.limits.store(Arc::new(limits));
    }

    /// Puts the metrics of the front in.
    pub fn register(&self, telemetry: &Telemetry) {
        self.quotas.register(telemetry);
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.connections.open()
    }
}

/// Serves clients on `listener` until the front is told to stop and every connection has ended.
pub async fn serve(listener: TcpListener, front: Arc<Front>) {
    let connections = front.connections.clone();
    let stop = front.stop.clone();
    net::accept(listener, connections, stop, |stream, peer| {
        connection::serve(stream, peer, front.clone())
    })
    .await;
}

#[cfg(test)]
mod testing;
