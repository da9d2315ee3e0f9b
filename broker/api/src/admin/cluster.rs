//! The cluster as one broker's metadata shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    pub cluster_id: String,
    /// Metadata index the answer was read at; `since` of the change stream.
    pub index: u64,
    /// Broker that answered.
    pub answered_by: i32,
    /// Leader of the metadata group; absent during an election.
    pub controller: Option<i32>,
    /// Voters of the metadata group; other brokers are learners.
    pub voters: Vec<i32>,
    pub brokers: Vec<Broker>,
    pub partitions: PartitionCounts,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Broker {
    pub id: i32,
    /// Raised at each registration.
    pub epoch: i64,
    /// UUID drawn when the data directory was made: another one under the same id is another disk.
    pub incarnation: String,
    pub rack: Option<String>,
    pub endpoints: Vec<Endpoint>,
    /// Not alive, or not caught up yet: leads nothing.
    pub fenced: bool,
    /// Draining before a stop.
    pub draining: bool,
    /// Partitions it leads.
    pub leaders: usize,
    /// Partitions it keeps a replica of.
    pub replicas: usize,
}

impl Broker {
    /// The address it advertises for a listener.
    #[must_use]
    pub fn endpoint(&self, listener: Listener) -> Option<&Endpoint> {
        self.endpoints.iter().find(|e| e.listener == listener)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub listener: Listener,
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listener {
    Kafka,
    Amqp,
    Admin,
    Peer,
}

/// Partitions of the whole cluster, internal topics included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionCounts {
    pub total: usize,
    /// Without a leader.
    pub offline: usize,
    /// ISR smaller than the replica set.
    pub under_replicated: usize,
    /// ISR smaller than the effective `min.insync.replicas`.
    pub under_min_isr: usize,
}

/// Dynamic configs that hold for every broker (Kafka's broker resource with the empty name).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configs {
    pub configs: BTreeMap<String, String>,
}

/// Keys to set; `null` removes a key, so its default holds again. Keys not named stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigChanges {
    pub configs: BTreeMap<String, Option<String>>,
}
