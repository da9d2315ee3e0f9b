//! What can be asked of the metadata group, and what it answers.

use std::sync::Arc;

use model::{BrokerId, Epoch, TopicId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::feature::Levels;
use super::image::{ConfigResource, Destination, Endpoint, ExchangeKind, RestartPermit};
use super::quota;
use crate::value::Table;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    RegisterBroker {
        id: BrokerId,
        incarnation: Uuid,
        rack: Option<String>,
        endpoints: Vec<Endpoint>,
        /// Epoch of the life before this one, where that ended in order: with every log closed.
        #[serde(default)]
        previous_epoch: Option<i64>,
        /// What the broker's build carries out.
        #[serde(default)]
        levels: Levels,
    },
    /// The leader of the group has seen no sign of life: out of every ISR, leaders moved.
    FenceBroker {
        id: BrokerId,
        epoch: i64,
    },
    UnfenceBroker {
        id: BrokerId,
        epoch: i64,
    },
    /// Controlled shutdown: move leaderships away first.
    DrainBroker {
        id: BrokerId,
        epoch: i64,
    },
    /// The stop was called off, or the operator took the drain back.
    CancelDrain {
        id: BrokerId,
    },
    /// Asks for the cluster's one restart permit; the same holder and broker renews it.
    GrantRestartPermit {
        broker: BrokerId,
        holder: String,
        token: Uuid,
        ttl_ms: i64,
    },
    ReleaseRestartPermit {
        token: Uuid,
    },
    /// What the file of the group's leader says of `unclean.leader.election.enable`: it decides the
    /// elections, as the controller's does in Kafka, and every broker must decide them alike.
    AdoptUncleanDefault {
        enabled: bool,
    },
    CreateTopic {
        name: String,
        id: TopicId,
        assignment: Assignment,
        configs: Vec<(String, String)>,
    },
    DeleteTopic {
        id: TopicId,
    },
    CreatePartitions {
        topic: TopicId,
        /// New total.
        count: i32,
        /// Replicas of the added ones only; empty = placed by the cluster.
        assignments: Vec<Vec<BrokerId>>,
    },
    AlterConfigs {
        resource: ConfigResource,
        /// `None` removes the key.
        changes: Vec<(String, Option<String>)>,
    },
    /// A leader proposes a new ISR (KIP-497). Refused unless both epochs are current.
    AlterPartition {
        topic: TopicId,
        partition: i32,
        leader: BrokerId,
        leader_epoch: Epoch,
        partition_epoch: i32,
        isr: Vec<BrokerId>,
    },
    /// A replica's log cannot be used: it leaves the ISR, and another member leads. Refused where no
    /// other member is active, since somebody must have what was acknowledged.
    ResignReplica {
        topic: TopicId,
        partition: i32,
        replica: BrokerId,
        partition_epoch: i32,
    },
    /// Preferred election; `None` = every partition that is not led by its preferred replica.
    ElectPreferred {
        partitions: Option<Vec<(TopicId, i32)>>,
    },
    /// Unclean election of partitions without a leader, each asked for by somebody who accepts the loss.
    ElectUnclean {
        partitions: Vec<(TopicId, i32)>,
    },
    AllocateProducerIds {
        broker: BrokerId,
    },
    CreateVhost {
        name: String,
    },
    DeclareExchange {
        vhost: String,
        name: String,
        kind: ExchangeKind,
        durable: bool,
        auto_delete: bool,
        internal: bool,
        arguments: Table,
    },
    DeleteExchange {
        vhost: String,
        name: String,
        if_unused: bool,
    },
    DeclareQueue {
        vhost: String,
        name: String,
        quorum: bool,
        /// Where a classic queue goes: the declaring broker unless `x-queue-leader-locator` says else.
        home: BrokerId,
        durable: bool,
        auto_delete: bool,
        exclusive: Option<Uuid>,
        arguments: Table,
    },
    DeleteQueue {
        vhost: String,
        name: String,
    },
    Bind {
        vhost: String,
        source: String,
        destination: Destination,
        routing_key: String,
        arguments: Table,
    },
    Unbind {
        vhost: String,
        source: String,
        destination: Destination,
        routing_key: String,
        arguments: Table,
    },
    /// Moves replicas, or calls moves off. Each partition is decided by itself: the answer is a
    /// [`Reply::Reassigned`].
    ReassignPartitions {
        partitions: Vec<Reassignment>,
        /// Whether a partition may come out with more or fewer replicas than it has.
        allow_factor_change: bool,
    },
    /// The broker is to be forgotten, whether it runs or not.
    UnregisterBroker {
        id: BrokerId,
    },
    /// Sets and removes limits of one user, client id or address.
    AlterQuotas {
        entity: quota::Entity,
        /// `None` removes the limit.
        changes: Vec<(String, Option<quota::Bound>)>,
    },
    /// What the file of the group's leader says of `min.insync.replicas`. With the first of these eligible
    /// leader replicas are kept (KIP-966).
    AdoptInSyncDefault {
        min: usize,
    },
    /// Raises the level of the log, see [`super::feature`]. Refused unless exactly these brokers are
    /// registered, whose builds carry it out.
    FinalizeLevel {
        level: i16,
        registrations: Vec<(BrokerId, i64)>,
    },
}

/// What is to become of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reassignment {
    pub topic: TopicId,
    pub partition: i32,
    /// `None` calls off the move that is under way.
    pub replicas: Option<Vec<BrokerId>>,
}

/// Where a new topic's replicas go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assignment {
    /// Spread over racks by the placement machine.
    Spread {
        partitions: i32,
        replication_factor: i16,
    },
    Manual(Vec<Vec<BrokerId>>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Done,
    Registered {
        epoch: i64,
    },
    TopicCreated {
        id: TopicId,
    },
    PartitionEpoch(i32),
    /// First id and length of a block.
    ProducerIds {
        first: i64,
        len: i32,
    },
    /// `created` is false when an equal one was there already.
    Declared {
        created: bool,
    },
    RestartPermit(Arc<RestartPermit>),
    Refused(Refusal),
    /// For each partition in the order asked for: why it stays as it was, if it does.
    Reassigned(Vec<Option<Refusal>>),
}

/// Why a command changed nothing. Each front maps these to its own codes in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    #[error("topic '{0}' already exists")]
    TopicExists(String),
    #[error("topic not found")]
    UnknownTopic,
    #[error("partition not found")]
    UnknownPartition,
    #[error("{0}")]
    InvalidPartitions(String),
    #[error("Excessively large number of partitions per request.")]
    TooManyPartitions,
    #[error("{0}")]
    InvalidReplicationFactor(String),
    #[error("{0}")]
    InvalidReplicaAssignment(String),
    #[error("{0}")]
    InvalidTopicName(String),
    #[error("{0}")]
    InvalidConfig(String),
    #[error("leader epoch is not current")]
    FencedLeaderEpoch,
    #[error("partition epoch is not current")]
    StalePartitionEpoch,
    #[error("a replica is not eligible for the ISR")]
    IneligibleReplica,
    #[error("broker registration is stale")]
    StaleBrokerEpoch,
    #[error("the restart permit is held for broker {broker} by {holder}")]
    PermitHeld { broker: BrokerId, holder: Arc<str> },
    #[error("no exchange, queue or vhost named '{0}'")]
    NotFound(Arc<str>),
    /// RabbitMQ's 406: same name, other properties. The text names the property.
    #[error("{0}")]
    Inequivalent(String),
    #[error("{0}")]
    InUse(String),
    /// RabbitMQ's 405: an exclusive queue of another connection.
    #[error("{0}")]
    Locked(String),
    #[error("No partition reassignment is in progress.")]
    NoReassignmentInProgress,
    #[error("Broker ID {0} is not currently registered")]
    BrokerNotRegistered(BrokerId),
    #[error(
        "the command needs level {needed} of {name}, and the cluster is at {finalized}; when every broker has the new build, raise it with kafka-features upgrade --feature {name}={needed}",
        name = super::feature::NAME
    )]
    LevelTooLow { needed: i16, finalized: i16 },
    #[error(
        "broker {broker} carries out the levels {min} to {max} of {name}, and the cluster is at {finalized}; start it with a build that knows that level",
        name = super::feature::NAME, min = levels.min, max = levels.max
    )]
    LevelNotSupported {
        broker: BrokerId,
        levels: Levels,
        finalized: i16,
    },
}
