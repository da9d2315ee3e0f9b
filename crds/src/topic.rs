//! `Topic`: a partitioned log.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument::Argument;
use crate::cluster_ref::ClusterRef;
use crate::deletion::{DeletionPolicy, Origin};
use crate::duration::{Duration, Limit};
use crate::quantity::Bytes;

/// A topic: a partitioned, replicated log.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "millrace.dev",
    version = "v1alpha1",
    kind = "Topic",
    plural = "topics",
    namespaced,
    status = "TopicStatus",
    shortname = "mt",
    category = "millrace",
    selectable = ".spec.clusterRef.name",
    derive = "PartialEq",
    doc = "A topic: a partitioned, replicated log that any Kafka client reads and writes.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(
        name = "Partitions",
        type_ = "integer",
        json_path = ".status.partitions"
    ),
    printcolumn(
        name = "RF",
        type_ = "integer",
        json_path = ".status.replicationFactor",
        description = "Replicas of each partition"
    ),
    printcolumn(name = "MinISR", type_ = "integer", json_path = ".spec.minInSync"),
    printcolumn(
        name = "Retention",
        type_ = "string",
        json_path = ".spec.retention.time"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[x_kube(
    validation = Rule::new("has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)")
        .message("name is immutable: another name is another topic").field_path(".name"),
    validation = Rule::new("!has(oldSelf.partitions) || has(self.partitions)")
        .message("partitions cannot be taken back once stated").field_path(".partitions"),
    validation = Rule::new("!has(self.minInSync) || !has(self.replicationFactor) || self.minInSync <= self.replicationFactor")
        .message("minInSync cannot be above replicationFactor: no write with acks=all could ever succeed").field_path(".minInSync")
)]
#[serde(rename_all = "camelCase")]
pub struct TopicSpec {
    /// The BrokerCluster, in this namespace, that holds the topic. Immutable.
    #[x_kube(validation = Rule::new("self == oldSelf").message("clusterRef is immutable"))]
    pub cluster_ref: ClusterRef,
    /// Name of the topic in the brokers, where it differs from metadata.name. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 249), regex(pattern = r"^[a-zA-Z0-9._-]+$"))]
    #[x_kube(
        validation = Rule::new("self != '.' && self != '..'").message("a topic cannot be named '.' or '..'"),
        validation = Rule::new("!self.startsWith('__')").message("names that begin with '__' belong to the cluster")
    )]
    pub name: Option<String>,
    /// Number of partitions; grows only. Adding some changes which partition a key goes to. Absent:
    /// the cluster's default at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    #[x_kube(validation = Rule::new("self >= oldSelf")
        .message("partitions cannot shrink: records of a removed partition would be lost; create another topic instead"))]
    pub partitions: Option<i32>,
    /// Replicas of each partition, at most the number of brokers. Absent: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 15))]
    pub replication_factor: Option<i32>,
    /// Replicas that must hold a record before a write with acks=all succeeds
    /// (min.insync.replicas). Absent: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 15))]
    pub min_in_sync: Option<i32>,
    /// How long and how much is kept. Absent: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// Other topic configs by their Kafka names, e.g. `max.message.bytes`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(
        validation = Rule::new("!('min.insync.replicas' in self)").message("state min.insync.replicas as spec.minInSync"),
        validation = Rule::new("!('retention.ms' in self)").message("state retention.ms as spec.retention.time"),
        validation = Rule::new("!('retention.bytes' in self)").message("state retention.bytes as spec.retention.bytes")
    )]
    pub config: BTreeMap<String, Argument>,
    /// What happens to the topic and its records when this resource is deleted. Absent: Delete if
    /// this resource created the topic, Retain if the topic was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
}

/// How long and how much of a partition is kept; what is past either limit goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// Age of the newest record of a segment at which the segment goes (retention.ms), or
    /// Unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == 'Unlimited' || duration(self) >= duration('1s')")
        .message("retention.time must be at least 1s, or Unlimited"))]
    pub time: Option<Limit>,
    /// Bytes kept per partition (retention.bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("quantity(string(self)).isGreaterThan(quantity('0'))")
        .message("retention.bytes must be above 0"))]
    pub bytes: Option<Bytes>,
}

/// What the operator last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicStatus {
    /// Generation of the spec that the rest speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Name in the brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The brokers' id of the topic; another one means that it was deleted and created anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// Whether this resource created the topic or found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication_factor: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Configs that this resource has set. One that leaves the spec goes back to its default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed_configs: Vec<String>,
}

/// Partitions that are not as they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Partitions without a leader.
    pub offline: i32,
    /// Partitions that refuse acks=all.
    pub under_min_in_sync: i32,
    /// Partitions with fewer in-sync replicas than replicas.
    pub under_replicated: i32,
}

impl Topic {
    /// The topic's name in the brokers.
    #[must_use]
    pub fn broker_name(&self) -> &str {
        self.spec
            .name
            .as_deref()
            .or(self.metadata.name.as_deref())
            .unwrap_or_default()
    }
}

impl TopicSpec {
    /// Topic configs by their Kafka names, typed fields included. Unlimited time is -1.
    #[must_use]
    pub fn configs(&self) -> BTreeMap<String, String> {
        let mut configs: BTreeMap<String, String> = self
            .config
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string()))
            .collect();
        if let Some(n) = self.min_in_sync {
            configs.insert("min.insync.replicas".into(), n.to_string());
        }
        if let Some(retention) = &self.retention {
            if let Some(time) = retention.time {
                let millis = match time {
                    Limit::Unlimited => -1,
                    Limit::For(d) => Duration::as_millis(d),
                };
                configs.insert("retention.ms".into(), millis.to_string());
            }
            if let Some(bytes) = &retention.bytes {
                configs.insert("retention.bytes".into(), bytes.get().to_string());
            }
        }
        configs
    }
}
