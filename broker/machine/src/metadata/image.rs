//! What the cluster is, at one index of the metadata log. Cheap to clone: maps share structure.

use std::sync::Arc;

use imbl::OrdMap;
use model::{BrokerId, Epoch, ShardId, TopicId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::feature::{Level, Levels};
use super::quota::Quotas;
use super::submission::Answered;
use crate::value::Table;

/// State of the metadata group after applying the entry at `index`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Index of the last applied Raft entry; 0 before the first.
    pub index: u64,
    pub brokers: OrdMap<BrokerId, Arc<Broker>>,
    pub topics: OrdMap<TopicId, Arc<Topic>>,
    pub topic_names: OrdMap<Arc<str>, TopicId>,
    /// Dynamic configs only; defaults live in the catalogue of `api::config`.
    #[serde(with = "pairs")]
    pub configs: OrdMap<ConfigResource, OrdMap<Arc<str>, Arc<str>>>,
    pub vhosts: OrdMap<Arc<str>, Arc<Vhost>>,
    /// Queue shards: Raft groups that carry quorum queues.
    pub shards: OrdMap<ShardId, Arc<Shard>>,
    /// First producer id not handed out yet (blocks of 1000, KIP-730).
    pub next_producer_id: i64,
    /// Epoch that the next broker registration gets.
    pub next_broker_epoch: i64,
    /// Number of queues that ever were: the id of the next.
    #[serde(default)]
    pub next_queue_id: u64,
    /// Who may restart a broker now; see [`RestartPermit::expires_at_ms`].
    #[serde(default)]
    pub restart_permit: Option<Arc<RestartPermit>>,
    /// `unclean.leader.election.enable` in the file of the broker that leads this group: what holds where
    /// [`Image::configs`] says nothing.
    #[serde(default)]
    pub unclean_default: bool,
    /// `min.insync.replicas` there; with it eligible leader replicas are kept, without it they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_sync_default: Option<usize>,
    /// Answers that a submitter may still ask for again.
    #[serde(default)]
    pub answered: OrdMap<BrokerId, Answered>,
    /// Incarnations of brokers that were unregistered while partitions still had replicas on them.
    #[serde(default)]
    pub departed: OrdMap<BrokerId, Uuid>,
    /// Limits of clients, by who they are for and then by name. Without any nothing is counted.
    #[serde(default, with = "pairs")]
    pub quotas: Quotas,
    /// Level of the commands that may be logged, see [`super::feature`].
    #[serde(default, skip_serializing_if = "Level::is_first")]
    pub level: Level,
    /// `None` until the first broker registers, and in metadata that began before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Which metadata these are: the registration that they began with. Other metadata, as of a cluster that
/// was set up anew, give the same epochs again, but began at another time. No rule depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Of the first broker.
    pub incarnation: Uuid,
    /// By the metadata leader's clock.
    pub at_ms: i64,
}

/// Leave to restart one broker, granted to one holder at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartPermit {
    pub token: Uuid,
    pub broker: BrokerId,
    pub holder: Arc<str>,
    /// By the metadata leader's clock; anybody may take an expired one.
    pub expires_at_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Broker {
    pub id: BrokerId,
    /// Raised at each registration; fences requests of an earlier life of the same broker.
    pub epoch: i64,
    /// Drawn when a data directory is made; another value under the same id means the disk is new.
    pub incarnation: Uuid,
    pub rack: Option<Arc<str>>,
    pub endpoints: Vec<Endpoint>,
    /// Not a leader and not in an ISR until it has shown that it is alive and caught up.
    pub fenced: bool,
    /// Draining before a stop: gets no new leaderships.
    pub in_controlled_shutdown: bool,
    /// What its build carries out.
    #[serde(default)]
    pub levels: Levels,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub listener: Listener,
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Listener {
    Kafka,
    Amqp,
    Admin,
    Peer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topic {
    pub id: TopicId,
    pub name: Arc<str>,
    /// `__consumer_offsets` and its kin.
    pub internal: bool,
    /// Index in the vector = partition number.
    pub partitions: imbl::Vector<Arc<Partition>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// First one is the preferred leader.
    pub replicas: Vec<BrokerId>,
    /// Empty when none of its last members can be relied on: with nobody in `elr` either, nobody has what was
    /// acknowledged, since a disk was replaced.
    pub isr: Vec<BrokerId>,
    /// `None` = offline: no eligible replica is alive.
    pub leader: Option<BrokerId>,
    pub leader_epoch: Epoch,
    /// Raised at each change of this record; an ISR change that names an older one is refused.
    pub partition_epoch: i32,
    /// Replicas that came new, or whose disk was replaced, since they were last in sync: they may hold
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<BrokerId>,
    /// While it moves: replicas that it did not have before, in rising order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adding: Vec<BrokerId>,
    /// While it moves: replicas that leave when it is complete, in rising order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removing: Vec<BrokerId>,
    /// Not in the ISR, and may lead without loss where nobody of the ISR can (KIP-966).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elr: Vec<BrokerId>,
    /// Who led last, while nobody does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_known_elr: Vec<BrokerId>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConfigResource {
    Topic(Arc<str>),
    Broker(BrokerId),
    /// Kafka's "cluster-wide default" broker resource: the empty name.
    BrokerDefault,
    Group(Arc<str>),
}

/// One AMQP virtual host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vhost {
    pub exchanges: OrdMap<Arc<str>, Arc<Exchange>>,
    pub queues: OrdMap<Arc<str>, Arc<Queue>>,
    /// Bindings by source exchange, in the order they were made.
    pub bindings: OrdMap<Arc<str>, imbl::Vector<Arc<Binding>>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub name: Arc<str>,
    pub kind: ExchangeKind,
    pub durable: bool,
    pub auto_delete: bool,
    pub internal: bool,
    pub arguments: Table,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExchangeKind {
    Direct,
    Fanout,
    Topic,
    Headers,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    pub vhost: Arc<str>,
    pub name: Arc<str>,
    /// Unique over all queues that ever were.
    pub id: u64,
    pub kind: QueueKind,
    pub durable: bool,
    pub auto_delete: bool,
    /// Token of the connection that owns an exclusive queue.
    pub exclusive: Option<Uuid>,
    pub arguments: Table,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueKind {
    /// Lives on one broker.
    Classic { home: BrokerId },
    /// Lives in a shard, on all its members.
    Quorum { shard: ShardId },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    pub source: Arc<str>,
    pub destination: Destination,
    pub routing_key: Arc<str>,
    pub arguments: Table,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Destination {
    Queue(Arc<str>),
    Exchange(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    pub id: ShardId,
    pub members: Vec<BrokerId>,
    /// Who should lead when all are up; leaders are spread over members.
    pub preferred: BrokerId,
    /// Incarnations of the members when the shard was made, in their order: one that has another by now
    /// has lost what it had. Empty where nobody wrote them down.
    #[serde(default)]
    pub directories: Vec<Uuid>,
}

impl Shard {
    /// Incarnation that a member had when the shard was made, if it was written down.
    pub fn directory(&self, member: BrokerId) -> Option<Uuid> {
        let at = self.members.iter().position(|id| *id == member)?;
        self.directories.get(at).copied()
    }
}

/// A map whose keys are no JSON strings, as a list of pairs.
mod pairs {
    use imbl::OrdMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K, V, S>(map: &OrdMap<K, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Ord + Serialize,
        V: Serialize,
        S: Serializer,
    {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<OrdMap<K, V>, D::Error>
    where
        K: Ord + Clone + Deserialize<'de>,
        V: Clone + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
