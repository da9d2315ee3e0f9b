//! A BrokerCluster with every default filled in, so that the builders ask nothing any more.

use std::collections::BTreeMap;

use api::config::{Scope, catalogue};
use crds::argument::Argument;
use crds::broker_cluster::{
    ADMIN_PORT, BrokerCluster, PEER_PORT, PullSecret, Resources, Storage, UsersSecret,
};
use k8s_openapi::api::core::v1::Toleration;
use kube::ResourceExt;

use super::made::Made;
use crate::plan::Refusal;

#[cfg(test)]
pub(super) mod tests;

/// Longest cluster name: a pod's name and its labels stay below 63 bytes.
const NAME_MAX: usize = 40;
/// What the metadata group is made of at most; more voters make every write slower and none safer.
const VOTERS_MAX: i32 = 5;

/// Where the users' Secret is mounted.
pub(super) const USERS_DIR: &str = "/etc/users";

/// Also of the pods' labels and of every object's name.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    /// The brokers' own; fixed when the cluster is made.
    pub(super) cluster_id: String,
    pub(super) image: String,
    pub(super) image_pull_policy: String,
    pub(super) image_pull_secrets: Vec<PullSecret>,
    pub(super) replicas: i32,
    /// Brokers 0..voters carry the metadata group. Fixed when the cluster is made.
    pub(super) voters: i32,
    pub(super) storage: Storage,
    pub(super) zone_label: String,
    pub(super) resources: Option<Resources>,
    pub(super) node_selector: BTreeMap<String, String>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) kafka_port: i32,
    pub(super) amqp_port: i32,
    /// Users file of the AMQP listener.
    pub(super) users: Option<UsersSecret>,
    /// The brokers' configuration but for what differs from broker to broker.
    pub(super) properties: BTreeMap<String, String>,
}

/// `made` is what the cluster was made with, if it was.
///
/// # Errors
/// A name too long for the objects derived from it; a config that brokers would refuse to start with; fewer
/// brokers than there are volumes of.
pub(super) fn validate(
    cluster: &BrokerCluster,
    default_image: &str,
    made: Option<Made>,
) -> Result<Cluster, Refusal> {
    let spec = &cluster.spec;
    let name = cluster.name_any();
    check_name(&name)?;
    check_config(&spec.config)?;
    let uid = cluster.uid().unwrap_or_default();
    let made = made.unwrap_or_else(|| Made {
        cluster_id: uid.clone(),
        voters: voters(spec.replicas),
        brokers: 0,
    });
    if spec.replicas < made.brokers {
        return Err(Refusal {
            field: "replicas",
            reason: "VolumesLeft",
            message: format!(
                "an earlier cluster of this name left volumes of {} brokers: ask for as many, or \
                 delete its claims (data-{name}-0 and so on) for a new and empty cluster",
                made.brokers
            ),
        });
    }
    let mut validated = Cluster {
        namespace: cluster.namespace().unwrap_or_default(),
        uid,
        cluster_id: made.cluster_id,
        image: spec
            .image
            .clone()
            .unwrap_or_else(|| default_image.to_owned()),
        image_pull_policy: format!("{:?}", spec.image_pull_policy),
        image_pull_secrets: spec.image_pull_secrets.clone(),
        replicas: spec.replicas,
        voters: made.voters,
        storage: spec.storage.clone(),
        zone_label: spec.rack.key.clone(),
        resources: spec.resources.clone(),
        node_selector: spec.node_selector.clone(),
        tolerations: spec.tolerations.clone(),
        kafka_port: spec.listeners.kafka.port,
        amqp_port: spec.listeners.amqp.port,
        users: spec.amqp.as_ref().map(|a| a.users_secret.clone()),
        properties: BTreeMap::new(),
        name,
    };
    validated.properties = properties(cluster, &validated);
    Ok(validated)
}

/// # Errors
/// The objects made for a cluster of this name could not be named after it.
pub(crate) fn check_name(name: &str) -> Result<(), Refusal> {
    if name.len() <= NAME_MAX {
        return Ok(());
    }
    Err(Refusal {
        field: "name",
        reason: "NameTooLong",
        message: format!(
            "metadata.name has {} bytes, at most {NAME_MAX} fit the names of pods",
            name.len()
        ),
    })
}

/// By this build's catalogue, which is not the brokers' where `spec.image` pins another: told here, a mistake
/// stops no broker.
fn check_config(config: &BTreeMap<String, Argument>) -> Result<(), Refusal> {
    for (key, value) in config {
        catalogue(Scope::Broker)
            .check_given(key, &value.to_string())
            .map_err(|refused| Refusal {
                field: "config",
                reason: "InvalidConfig",
                message: format!(
                    "{refused} (judged as version {}, the operator's, has it)",
                    env!("CARGO_PKG_VERSION")
                ),
            })?;
    }
    Ok(())
}

/// 1, 3 or 5: an even number survives no more failures than one fewer.
fn voters(replicas: i32) -> i32 {
    let n = replicas.clamp(1, VOTERS_MAX);
    n - i32::from(n % 2 == 0)
}

fn properties(cluster: &BrokerCluster, v: &Cluster) -> BTreeMap<String, String> {
    let spec = &cluster.spec;
    let defaults = spec.defaults.clone().unwrap_or_default();
    let rf = defaults
        .replication_factor
        .unwrap_or_else(|| v.replicas.min(3));
    let min = defaults.min_in_sync.unwrap_or_else(|| (rf - 1).max(1));
    let voters: Vec<String> = (0..v.voters)
        .map(|id| {
            format!(
                "{id}@{}:{PEER_PORT}",
                v.broker_host(&format!("{}-{id}", v.name))
            )
        })
        .collect();
    let mut properties: BTreeMap<String, String> = spec
        .config
        .iter()
        .map(|(k, value)| (k.clone(), value.to_string()))
        .collect();
    let mut set = |key: &str, value: String| properties.insert(key.to_owned(), value);
    set("cluster.id", v.cluster_id.clone());
    set("log.dirs", "/var/lib/millrace/data".to_owned());
    set("controller.quorum.voters", voters.join(","));
    // Without a host: every address, IPv4 and IPv6, whichever the cluster gives its pods.
    set(
        "listeners",
        format!(
            "KAFKA://:{},AMQP://:{},ADMIN://:{ADMIN_PORT},PEER://:{PEER_PORT}",
            v.kafka_port, v.amqp_port
        ),
    );
    if let Some(users) = &v.users {
        set(
            "millrace.amqp.users.file",
            format!("{USERS_DIR}/{}", users.key),
        );
    }
    set("default.replication.factor", rf.to_string());
    set("min.insync.replicas", min.to_string());
    set(
        "num.partitions",
        defaults.partitions.unwrap_or(1).to_string(),
    );
    if !spec.config.contains_key("offsets.topic.replication.factor") {
        set(
            "offsets.topic.replication.factor",
            v.replicas.min(3).to_string(),
        );
    }
    properties
}

impl Cluster {
    pub(super) fn users_secret(&self) -> Option<&str> {
        self.users.as_ref().map(|users| users.name.as_str())
    }

    /// Name of the headless Service, which gives each broker a name of its own.
    pub(super) fn brokers_service(&self) -> String {
        format!("{}-brokers", self.name)
    }

    /// DNS name of a broker's pod; `pod` may be a variable that the kubelet expands.
    pub(super) fn broker_host(&self, pod: &str) -> String {
        format!("{pod}.{}.{}.svc", self.brokers_service(), self.namespace)
    }

    /// The configuration file.
    pub(super) fn properties_text(&self) -> String {
        self.properties
            .iter()
            .map(|(key, value)| format!("{key}={value}\n"))
            .collect()
    }
}
