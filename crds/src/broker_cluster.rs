//! `BrokerCluster`: a set of brokers.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument::Argument;
use crate::quantity::Bytes;

/// Ports that every broker uses for the admin API and for its peers.
pub const ADMIN_PORT: i32 = 9644;
pub const PEER_PORT: i32 = 7644;

/// A cluster of brokers.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "millrace.dev",
    version = "v1alpha1",
    kind = "BrokerCluster",
    plural = "brokerclusters",
    namespaced,
    status = "BrokerClusterStatus",
    shortname = "mbc",
    category = "millrace",
    derive = "PartialEq",
    doc = "A cluster of brokers that serve Kafka and AMQP clients.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Brokers", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Up",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Brokers that are ready"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.roll.phase",
        description = "What the rolling restart does"
    ),
    printcolumn(
        name = "UnderMinISR",
        type_ = "integer",
        json_path = ".status.health.underMinInSync"
    ),
    printcolumn(
        name = "Offline",
        type_ = "integer",
        json_path = ".status.health.offline"
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
        name = "Image",
        type_ = "string",
        json_path = ".status.image",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[x_kube(
    validation = Rule::new("!has(self.defaults) || !has(self.defaults.replicationFactor) || self.defaults.replicationFactor <= self.replicas")
        .message("defaults.replicationFactor cannot be above replicas").field_path(".defaults"),
    validation = Rule::new("!has(self.defaults) || !has(self.defaults.minInSync) || self.defaults.minInSync <= self.replicas")
        .message("defaults.minInSync cannot be above replicas").field_path(".defaults")
)]
#[serde(rename_all = "camelCase")]
pub struct BrokerClusterSpec {
    /// Image of the brokers. Absent: the operator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// When the kubelet fetches the image.
    #[serde(default)]
    pub image_pull_policy: ImagePullPolicy,
    /// Secrets of this namespace by which a private image is fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub image_pull_secrets: Vec<PullSecret>,
    /// Number of brokers. It can grow.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    #[x_kube(validation = Rule::new("self >= oldSelf")
        .message("replicas cannot shrink: what a removed broker holds would be lost"))]
    pub replicas: i32,
    /// The disk of each broker. Its size and class are immutable.
    #[x_kube(validation = Rule::new("self.size == oldSelf.size && has(self.class) == has(oldSelf.class) && (!has(self.class) || self.class == oldSelf.class)")
        .message("storage is fixed when the cluster is created"))]
    pub storage: Storage,
    /// Where a broker's rack comes from, over which replicas are spread.
    #[serde(default)]
    pub rack: Rack,
    /// Broker configs by their Kafka names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 128))]
    #[x_kube(
        validation = Rule::new("!self.exists(k, k in ['node.id', 'broker.id', 'cluster.id', 'broker.rack', 'listeners', 'advertised.listeners', 'log.dirs', 'log.dir', 'controller.quorum.voters', 'millrace.amqp.users.file'])")
            .message("node.id, cluster.id, broker.rack, listeners, advertised.listeners, log.dirs, controller.quorum.voters and millrace.amqp.users.file are set by the operator"),
        validation = Rule::new("!self.exists(k, k in ['default.replication.factor', 'min.insync.replicas', 'num.partitions'])")
            .message("state default.replication.factor, min.insync.replicas and num.partitions as spec.defaults"),
        validation = Rule::new("self.all(k, !k.contains('\\n') && !k.contains('='))")
            .message("a config's name has no line break and no '='"),
        validation = Rule::new("self.all(k, !string(self[k]).contains('\\n'))")
            .message("a config's value is one line")
    )]
    pub config: BTreeMap<String, Argument>,
    /// What topics get that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<Defaults>,
    /// Compute resources of each broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Labels that the brokers' nodes must have. Among these nodes brokers are still spread over racks
    /// and machines. A broker whose volume lies on one node cannot leave it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that the brokers run on all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub tolerations: Vec<Toleration>,
    /// How a change that needs a restart reaches the brokers.
    #[serde(default)]
    pub update: Update,
    /// Ports that clients use.
    #[serde(default)]
    pub listeners: Listeners,
    /// Who may log in by AMQP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amqp: Option<Amqp>,
}

/// Who may log in by AMQP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amqp {
    /// Secret of this namespace with the users. Without one nobody can log in by AMQP.
    pub users_secret: UsersSecret,
}

/// A users file in a Secret: one `name:hash` a line, as `millrace amqp-user` prints them. The
/// operator never reads it; brokers look at it with each login, so a change needs no restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsersSecret {
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key of the Secret that holds the file.
    #[serde(default = "users_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn users_key() -> String {
    "users".to_owned()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImagePullPolicy {
    #[default]
    IfNotPresent,
    Always,
    Never,
}

/// Credentials of a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullSecret {
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// The disk of each broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Size of each broker's volume.
    #[x_kube(validation = Rule::new("!quantity(string(self)).isLessThan(quantity('64Mi'))")
        .message("storage.size must be at least 64Mi"))]
    pub size: Bytes,
    /// StorageClass. Absent: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub class: Option<String>,
    /// What happens to the volumes when this resource is deleted.
    #[serde(default)]
    pub reclaim: Reclaim,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Reclaim {
    /// They stay, and a cluster of the same name finds its data again.
    #[default]
    Retain,
    Delete,
}

/// Where a broker's rack comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rack {
    /// Label of the broker's node whose value is the broker's rack. Brokers are spread over its
    /// values.
    #[serde(default = "zone_label")]
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
}

impl Default for Rack {
    fn default() -> Self {
        Self { key: zone_label() }
    }
}

/// What topics get that do not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.minInSync) || !has(self.replicationFactor) || self.minInSync <= self.replicationFactor")
    .message("defaults.minInSync cannot be above defaults.replicationFactor"))]
#[serde(rename_all = "camelCase")]
pub struct Defaults {
    /// Replicas of each partition (default.replication.factor). Absent: 3, or the number of
    /// brokers if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 15))]
    pub replication_factor: Option<i32>,
    /// Replicas that must hold a record before acks=all succeeds (min.insync.replicas). Absent: one
    /// less than replicationFactor, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 15))]
    pub min_in_sync: Option<i32>,
    /// Partitions of a topic (num.partitions). Absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub partitions: Option<i32>,
}

/// Compute resources of each broker's container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub requests: BTreeMap<String, Argument>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub limits: BTreeMap<String, Argument>,
}

/// How a change that needs a restart reaches the brokers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// Auto: one broker at a time, as soon as the brokers allow it. Paused: no broker is restarted.
    #[serde(default)]
    pub strategy: UpdateStrategy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdateStrategy {
    #[default]
    Auto,
    Paused,
}

/// Ports that clients use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.kafka.port != self.amqp.port").message("listeners need ports of their own"),
    validation = Rule::new("![self.kafka.port, self.amqp.port].exists(p, p in [9644, 7644])")
        .message("ports 9644 (admin) and 7644 (peers) are taken")
)]
#[serde(rename_all = "camelCase")]
pub struct Listeners {
    #[serde(default = "kafka_listener")]
    pub kafka: Listener,
    #[serde(default = "amqp_listener")]
    pub amqp: Listener,
}

impl Default for Listeners {
    fn default() -> Self {
        Self {
            kafka: kafka_listener(),
            amqp: amqp_listener(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listener {
    #[schemars(range(min = 1024, max = 65535))]
    pub port: i32,
}

/// What the operator last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokerClusterStatus {
    /// Generation of the spec that the rest speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Brokers that exist, for /scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Brokers that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Selector of the brokers' pods, for /scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Address that Kafka clients start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kafka_bootstrap: Option<String>,
    /// Address that AMQP clients connect to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amqp_address: Option<String>,
    /// Broker that leads the metadata group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_id: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<crate::topic::Health>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".into()]))]
    pub brokers: Vec<BrokerStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roll: Option<Roll>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokerStatus {
    pub id: i32,
    pub pod: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub ready: bool,
}

/// A rolling restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Roll {
    /// Hash of what every broker's pod should run.
    pub target: String,
    pub phase: RollPhase,
    /// Brokers that run the target, of `total`.
    pub done: i32,
    pub total: i32,
    /// The restart under way. Written before the pod is deleted, so that nobody deletes it twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Restart>,
    /// What is waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RollPhase {
    Idle,
    Rolling,
    /// The brokers do not allow the next restart yet; goes on by itself.
    Blocked,
    Paused,
}

/// One broker's restart under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restart {
    pub pod: String,
    /// Uid of the pod that is to go; another uid means that it is gone.
    pub uid: String,
    /// The brokers' permit for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permit: Option<String>,
}

fn three() -> i32 {
    3
}

fn zone_label() -> String {
    "topology.kubernetes.io/zone".to_owned()
}

fn kafka_listener() -> Listener {
    Listener { port: 9092 }
}

fn amqp_listener() -> Listener {
    Listener { port: 5672 }
}
