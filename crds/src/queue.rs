//! `Queue`: an AMQP queue.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument::Argument;
use crate::cluster_ref::ClusterRef;
use crate::deletion::{DeletionPolicy, Origin};
use crate::duration::Duration;

/// An AMQP queue.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "millrace.dev",
    version = "v1alpha1",
    kind = "Queue",
    plural = "queues",
    namespaced,
    status = "QueueStatus",
    shortname = "mq",
    category = "millrace",
    selectable = ".spec.clusterRef.name",
    derive = "PartialEq",
    doc = "An AMQP queue that any AMQP 0-9-1 client publishes to and consumes from.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(name = "Vhost", type_ = "string", json_path = ".spec.vhost"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(
        name = "Messages",
        type_ = "integer",
        json_path = ".status.ready",
        description = "Messages ready to be delivered"
    ),
    printcolumn(name = "Unacked", type_ = "integer", json_path = ".status.unacked"),
    printcolumn(name = "Consumers", type_ = "integer", json_path = ".status.consumers"),
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
        .message("name is immutable: another name is another queue").field_path(".name"),
    validation = Rule::new("self.type != 'Quorum' || self.durable")
        .message("a Quorum queue is always durable").field_path(".durable"),
    validation = Rule::new("self.type == 'Quorum' || !has(self.deliveryLimit)")
        .message("deliveryLimit needs type Quorum").field_path(".deliveryLimit"),
    validation = Rule::new("has(self.deadLetter) == has(oldSelf.deadLetter) && (!has(self.deadLetter) || self.deadLetter == oldSelf.deadLetter)")
        .message("deadLetter is fixed when the queue is declared").field_path(".deadLetter"),
    validation = Rule::new("has(self.deliveryLimit) == has(oldSelf.deliveryLimit) && (!has(self.deliveryLimit) || self.deliveryLimit == oldSelf.deliveryLimit)")
        .message("deliveryLimit is fixed when the queue is declared").field_path(".deliveryLimit"),
    validation = Rule::new("has(self.maxLength) == has(oldSelf.maxLength) && (!has(self.maxLength) || self.maxLength == oldSelf.maxLength)")
        .message("maxLength is fixed when the queue is declared").field_path(".maxLength"),
    validation = Rule::new("has(self.messageTtl) == has(oldSelf.messageTtl) && (!has(self.messageTtl) || duration(self.messageTtl) == duration(oldSelf.messageTtl))")
        .message("messageTtl is fixed when the queue is declared").field_path(".messageTtl"),
    validation = Rule::new("has(self.arguments) == has(oldSelf.arguments) && (!has(self.arguments) || self.arguments == oldSelf.arguments)")
        .message("arguments are fixed when the queue is declared").field_path(".arguments")
)]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
    /// The BrokerCluster, in this namespace, that holds the queue. Immutable.
    #[x_kube(validation = Rule::new("self == oldSelf").message("clusterRef is immutable"))]
    pub cluster_ref: ClusterRef,
    /// Name of the queue in the brokers, where it differs from metadata.name. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("!self.startsWith('amq.')").message("names that begin with 'amq.' belong to the broker"))]
    pub name: Option<String>,
    /// Virtual host. Immutable.
    #[serde(default = "root_vhost")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("vhost is immutable"))]
    pub vhost: String,
    /// Quorum: replicated by Raft, survives the loss of a minority. Classic: on one broker.
    /// Immutable.
    #[serde(default, rename = "type")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("type is fixed when the queue is declared"))]
    pub type_: QueueType,
    /// Whether the queue outlives a restart of its broker. Immutable.
    #[serde(default = "yes")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("durable is fixed when the queue is declared"))]
    pub durable: bool,
    /// Where rejected, expired, overflowing and too often delivered messages go. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<DeadLetter>,
    /// Deliveries of one message before it is dead-lettered or dropped. Quorum only. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub delivery_limit: Option<i64>,
    /// Ready messages kept; the oldest go first. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub max_length: Option<i64>,
    /// Age at which a message expires. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1ms')").message("messageTtl must be at least 1ms"))]
    pub message_ttl: Option<Duration>,
    /// Other queue arguments by their AMQP names. Immutable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(
        "!self.exists(k, k in ['x-queue-type', 'x-dead-letter-exchange', 'x-dead-letter-routing-key', 'x-delivery-limit', 'x-max-length', 'x-message-ttl'])")
        .message("type, deadLetter, deliveryLimit, maxLength and messageTtl are fields of their own"))]
    pub arguments: BTreeMap<String, Argument>,
    /// What happens to the queue and its messages when this resource is deleted. Absent: Delete if
    /// this resource created the queue, Retain if it was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QueueType {
    #[default]
    Quorum,
    Classic,
}

/// Where dead letters go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// Exchange that dead letters are published to; empty = the default exchange, which takes the
    /// routing key for a queue name.
    #[schemars(length(max = 255))]
    pub exchange: String,
    /// Routing key of the dead letters. Absent: the message's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub routing_key: Option<String>,
}

/// What the operator last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Generation of the spec that the rest speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Name in the brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether this resource created the queue or found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Messages ready to be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// Messages delivered and not settled yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacked: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
}

impl Queue {
    /// The queue's name in the brokers.
    #[must_use]
    pub fn broker_name(&self) -> &str {
        self.spec
            .name
            .as_deref()
            .or(self.metadata.name.as_deref())
            .unwrap_or_default()
    }
}

impl QueueSpec {
    /// The arguments to declare the queue with, typed fields included; what an application has to
    /// declare, too, to get the same queue.
    #[must_use]
    pub fn declared_arguments(&self) -> BTreeMap<String, Argument> {
        let mut arguments = self.arguments.clone();
        let mut set = |key: &str, value: Argument| arguments.insert(key.to_owned(), value);
        if self.type_ == QueueType::Quorum {
            set("x-queue-type", "quorum".into());
        }
        if let Some(dead_letter) = &self.dead_letter {
            set(
                "x-dead-letter-exchange",
                dead_letter.exchange.as_str().into(),
            );
            if let Some(key) = &dead_letter.routing_key {
                set("x-dead-letter-routing-key", key.as_str().into());
            }
        }
        if let Some(limit) = self.delivery_limit {
            set("x-delivery-limit", limit.into());
        }
        if let Some(length) = self.max_length {
            set("x-max-length", length.into());
        }
        if let Some(ttl) = self.message_ttl {
            set("x-message-ttl", ttl.as_millis().into());
        }
        arguments
    }
}

fn root_vhost() -> String {
    "/".to_owned()
}

fn yes() -> bool {
    true
}
