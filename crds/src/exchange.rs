//! `Exchange`: an AMQP exchange with its bindings.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument::Argument;
use crate::cluster_ref::ClusterRef;
use crate::deletion::{DeletionPolicy, Origin};

/// An AMQP exchange and the bindings that leave it.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "millrace.dev",
    version = "v1alpha1",
    kind = "Exchange",
    plural = "exchanges",
    namespaced,
    status = "ExchangeStatus",
    shortname = "mx",
    category = "millrace",
    selectable = ".spec.clusterRef.name",
    derive = "PartialEq",
    doc = "An AMQP exchange and the bindings that leave it.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(name = "Vhost", type_ = "string", json_path = ".spec.vhost"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(
        name = "Bound",
        type_ = "integer",
        json_path = ".status.bound",
        description = "Declared bindings that are in place"
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
        .message("name is immutable: another name is another exchange").field_path(".name"),
    validation = Rule::new("has(self.alternateExchange) == has(oldSelf.alternateExchange) && (!has(self.alternateExchange) || self.alternateExchange == oldSelf.alternateExchange)")
        .message("alternateExchange is fixed when the exchange is declared").field_path(".alternateExchange"),
    validation = Rule::new("self.type == 'Headers' || !has(self.bindings) || self.bindings.all(b, !has(b.headers))")
        .message("a binding has headers only at an exchange of type Headers").field_path(".bindings")
)]
#[serde(rename_all = "camelCase")]
pub struct ExchangeSpec {
    /// The BrokerCluster, in this namespace, that holds the exchange. Immutable.
    #[x_kube(validation = Rule::new("self == oldSelf").message("clusterRef is immutable"))]
    pub cluster_ref: ClusterRef,
    /// Name of the exchange in the brokers, where it differs from metadata.name. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("!self.startsWith('amq.')").message("names that begin with 'amq.' belong to the broker"))]
    pub name: Option<String>,
    /// Virtual host. Immutable.
    #[serde(default = "root_vhost")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("vhost is immutable"))]
    pub vhost: String,
    /// How a message finds its bindings. Immutable.
    #[serde(rename = "type")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("type is fixed when the exchange is declared"))]
    pub type_: ExchangeType,
    /// Whether the exchange outlives a restart of the brokers. Immutable.
    #[serde(default = "yes")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("durable is fixed when the exchange is declared"))]
    pub durable: bool,
    /// Exchange that takes what no binding here matches. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub alternate_exchange: Option<String>,
    /// Where messages go. Merged by name, so that several owners can each apply their own entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub bindings: Vec<Binding>,
    /// Additive: bindings made by others stay. Exclusive: a binding that is not listed here goes.
    #[serde(default)]
    pub binding_policy: BindingPolicy,
    /// What happens to the exchange when this resource is deleted. Absent: Delete if this resource
    /// created the exchange, Retain if it was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ExchangeType {
    Direct,
    Fanout,
    Topic,
    Headers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BindingPolicy {
    #[default]
    Additive,
    Exclusive,
}

/// One binding from the exchange to a queue or another exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// Name of the entry in this list.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    pub destination: Destination,
    /// Routing key or pattern, at most 255 bytes.
    #[serde(default)]
    #[schemars(length(max = 255))]
    pub routing_key: String,
    /// Headers to match, at an exchange of type Headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
}

/// A queue or an exchange of the same vhost, by its name in the brokers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.queue) != has(self.exchange)")
    .message("a destination is exactly one of queue and exchange"))]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub exchange: Option<String>,
}

/// Headers that a message must carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Headers {
    /// x-match of the binding.
    #[serde(rename = "match", default)]
    pub match_: HeaderMatch,
    #[schemars(extend("maxProperties" = 64))]
    pub values: BTreeMap<String, Argument>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HeaderMatch {
    #[default]
    All,
    Any,
    /// All, headers that begin with `x-` included.
    AllWithX,
    /// Any, headers that begin with `x-` included.
    AnyWithX,
}

/// What the operator last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExchangeStatus {
    /// Generation of the spec that the rest speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Name in the brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether this resource created the exchange or found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Declared bindings that are in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<i32>,
    /// Bindings that this resource has made or is waiting to make. An entry that leaves the spec is
    /// unbound by what is remembered here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub bindings: Vec<BindingStatus>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    pub name: String,
    pub state: BindingState,
    /// What was bound.
    pub binding: Binding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BindingState {
    Bound,
    /// The destination is not there yet; bound as soon as it is.
    DestinationAbsent,
}

impl Exchange {
    /// The exchange's name in the brokers.
    #[must_use]
    pub fn broker_name(&self) -> &str {
        self.spec
            .name
            .as_deref()
            .or(self.metadata.name.as_deref())
            .unwrap_or_default()
    }
}

impl Binding {
    /// The binding's arguments as AMQP carries them.
    #[must_use]
    pub fn arguments(&self) -> BTreeMap<String, Argument> {
        let Some(headers) = &self.headers else {
            return BTreeMap::new();
        };
        let mut arguments = headers.values.clone();
        let word = match headers.match_ {
            HeaderMatch::All => "all",
            HeaderMatch::Any => "any",
            HeaderMatch::AllWithX => "all-with-x",
            HeaderMatch::AnyWithX => "any-with-x",
        };
        arguments.insert("x-match".to_owned(), word.into());
        arguments
    }
}

fn root_vhost() -> String {
    "/".to_owned()
}

fn yes() -> bool {
    true
}
