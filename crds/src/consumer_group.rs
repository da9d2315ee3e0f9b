//! `ConsumerGroup`: what a group is expected to read, and how far behind it may be.
//!
//! Clients make groups by joining; the resource declares and watches one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster_ref::ClusterRef;
use crate::deletion::DeletionPolicy;
use crate::duration::Duration;

/// Condition that compares the lag with `spec.slo`.
pub const LAG_WITHIN_SLO: &str = "LagWithinSLO";

/// A consumer group that is watched.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "millrace.dev",
    version = "v1alpha1",
    kind = "ConsumerGroup",
    plural = "consumergroups",
    namespaced,
    status = "ConsumerGroupStatus",
    shortname = "mcg",
    category = "millrace",
    selectable = ".spec.clusterRef.name",
    derive = "PartialEq",
    doc = "A consumer group that is watched: what it should read and how far behind it may be.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Members", type_ = "integer", json_path = ".status.members"),
    printcolumn(
        name = "Lag(s)",
        type_ = "string",
        json_path = ".status.lag.maxTime",
        description = "Age of the oldest record not committed yet"
    ),
    printcolumn(
        name = "Lag",
        type_ = "integer",
        json_path = ".status.lag.records",
        description = "Records not committed yet"
    ),
    printcolumn(
        name = "SLO",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"LagWithinSLO\")].status"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
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
    validation = Rule::new("has(self.groupId) == has(oldSelf.groupId) && (!has(self.groupId) || self.groupId == oldSelf.groupId)")
        .message("groupId is immutable").field_path(".groupId")
)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerGroupSpec {
    /// The BrokerCluster, in this namespace, that serves the group. Immutable.
    #[x_kube(validation = Rule::new("self == oldSelf").message("clusterRef is immutable"))]
    pub cluster_ref: ClusterRef,
    /// The group's id, where it differs from metadata.name. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 249))]
    pub group_id: Option<String>,
    /// Topics that the group is expected to read, by their names in the brokers.
    #[schemars(length(min = 1, max = 200), inner(length(min = 1, max = 249)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub topics: Vec<String>,
    /// How far behind the group may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// What happens to the group and its offsets when this resource is deleted. Delete waits until
    /// the group has no members.
    #[serde(default = "retain")]
    pub deletion_policy: DeletionPolicy,
}

fn retain() -> DeletionPolicy {
    DeletionPolicy::Retain
}

/// How far behind a group may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.maxLagTime) || has(self.maxLagRecords)")
    .message("slo needs maxLagTime or maxLagRecords"))]
#[serde(rename_all = "camelCase")]
pub struct Slo {
    /// Greatest age of the oldest record not committed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1s')").message("slo.maxLagTime must be at least 1s"))]
    pub max_lag_time: Option<Duration>,
    /// Greatest number of records not committed yet, over all declared topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_lag_records: Option<i64>,
}

/// What the operator last saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerGroupStatus {
    /// Generation of the spec that the rest speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The group's id in the brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// State as Kafka's tools name it; absent while no client has made the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,
    /// Declared topics without any committed offset of this group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
}

/// Lag over the declared topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lag {
    /// Records not committed yet.
    pub records: i64,
    /// Age of the oldest record not committed yet.
    pub max_time: Duration,
}

impl ConsumerGroup {
    /// The group's id in the brokers.
    #[must_use]
    pub fn id(&self) -> &str {
        self.spec
            .group_id
            .as_deref()
            .or(self.metadata.name.as_deref())
            .unwrap_or_default()
    }
}
