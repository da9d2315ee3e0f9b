//! The brokers: one ordinal is one broker id with a volume of its own.
//!
//! `OnDelete` and `Parallel`: the [roller](crate::roller) alone restarts, and a broken revision can
//! be healed without waiting for its predecessor.
//!
//! A broker's rack is its node's label. Pods do not know it by themselves (before Kubernetes 1.35),
//! and giving brokers a token to read nodes would be a right that only start-up needs. So the
//! operator, which may read nodes, writes it on the pod; the init container waits for that by a
//! downward-API file, and the broker gets it as a variable.

use std::collections::BTreeMap;

use crds::broker_cluster::{ADMIN_PORT, PEER_PORT, PullSecret, Reclaim, Resources};
use k8s_openapi::api::apps::v1::{
    StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec,
    StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, Container, ContainerPort, DownwardAPIVolumeFile,
    DownwardAPIVolumeSource, EnvVar, EnvVarSource, HTTPGetAction, LocalObjectReference,
    ObjectFieldSelector, PersistentVolumeClaim, PersistentVolumeClaimSpec, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecretVolumeSource,
    SecurityContext, TopologySpreadConstraint, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::super::validated::USERS_DIR;
use super::{
    Cluster, PLACED, RACK, TARGET, config_map, fingerprint, label_selector, labels, made, metadata,
    selector,
};

/// User and group of the brokers' process; nothing on the image belongs to it.
const USER: i64 = 10_001;
/// Long enough for a controlled shutdown, never a reason to wait for hours.
const GRACE_SECONDS: i64 = 120;
/// A broker answers `/healthz` as soon as it listens, before it reads its logs or waits for its peers:
/// this is for an image or a node that is slow to start anything.
const START_SECONDS: i32 = 900;
const CONFIG_DIR: &str = "/etc/millrace";
const POD_DIR: &str = "/etc/pod";
const DATA_DIR: &str = "/var/lib/millrace";
const BINARY: &str = "/millrace";

pub(in crate::cluster) fn build(cluster: &Cluster) -> Result<StatefulSet, serde_json::Error> {
    let mut template = template(cluster);
    // All that a restart would change: the template names the configuration by its content.
    let target = fingerprint::of(&serde_json::to_vec(&template)?);
    if let Some(meta) = &mut template.metadata {
        meta.annotations = Some(BTreeMap::from([(TARGET.to_owned(), target)]));
    }
    let mut meta = metadata(cluster, cluster.name.clone());
    meta.annotations = Some(made(cluster));
    let reclaim = match cluster.storage.reclaim {
        Reclaim::Retain => "Retain",
        Reclaim::Delete => "Delete",
    };
    Ok(StatefulSet {
        metadata: meta,
        spec: Some(StatefulSetSpec {
            replicas: Some(cluster.replicas),
            service_name: Some(cluster.brokers_service()),
            selector: label_selector(cluster),
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                ..StatefulSetUpdateStrategy::default()
            }),
            persistent_volume_claim_retention_policy: Some(
                StatefulSetPersistentVolumeClaimRetentionPolicy {
                    when_deleted: Some(reclaim.to_owned()),
                    when_scaled: Some("Retain".to_owned()),
                },
            ),
            template,
            volume_claim_templates: Some(vec![claim(cluster)]),
            ..StatefulSetSpec::default()
        }),
        ..StatefulSet::default()
    })
}

/// What a pod made from the StatefulSet carries in [`TARGET`].
pub(in crate::cluster) fn target_of(set: &StatefulSet) -> Option<&str> {
    let annotations = set
        .spec
        .as_ref()?
        .template
        .metadata
        .as_ref()?
        .annotations
        .as_ref()?;
    annotations.get(TARGET).map(String::as_str)
}

/// Whether Kubernetes has taken notice of the StatefulSet as it is: until then it makes a pod that is gone
/// anew from the template before.
pub(in crate::cluster) fn is_in_use(set: &StatefulSet) -> bool {
    let observed = set.status.as_ref().and_then(|s| s.observed_generation);
    observed.is_some() && observed >= set.metadata.generation
}

fn template(cluster: &Cluster) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels(cluster)),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            service_account_name: Some(cluster.brokers_service()),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(GRACE_SECONDS),
            security_context: Some(PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(USER),
                run_as_group: Some(USER),
                fs_group: Some(USER),
                fs_group_change_policy: Some("OnRootMismatch".to_owned()),
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    localhost_profile: None,
                }),
                ..PodSecurityContext::default()
            }),
            image_pull_secrets: pull_secrets(cluster),
            node_selector: (!cluster.node_selector.is_empty())
                .then(|| cluster.node_selector.clone()),
            tolerations: (!cluster.tolerations.is_empty()).then(|| cluster.tolerations.clone()),
            topology_spread_constraints: Some(spread(cluster)),
            init_containers: Some(vec![await_rack(cluster)]),
            containers: vec![broker(cluster)],
            volumes: Some(volumes(cluster)),
            ..PodSpec::default()
        }),
    }
}

fn pull_secrets(cluster: &Cluster) -> Option<Vec<LocalObjectReference>> {
    let secrets = &cluster.image_pull_secrets;
    let named = |secret: &PullSecret| LocalObjectReference {
        name: secret.name.clone(),
    };
    (!secrets.is_empty()).then(|| secrets.iter().map(named).collect())
}

/// Over zones first, then over nodes; soft, so that a cluster with too few of either still starts.
fn spread(cluster: &Cluster) -> Vec<TopologySpreadConstraint> {
    [cluster.zone_label.as_str(), "kubernetes.io/hostname"]
        .map(|key| TopologySpreadConstraint {
            max_skew: 1,
            topology_key: key.to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            label_selector: Some(label_selector(cluster)),
            ..TopologySpreadConstraint::default()
        })
        .to_vec()
}

fn await_rack(cluster: &Cluster) -> Container {
    Container {
        name: "await-rack".to_owned(),
        image: Some(cluster.image.clone()),
        image_pull_policy: Some(cluster.image_pull_policy.clone()),
        command: Some(vec![BINARY.to_owned()]),
        args: Some(vec!["await-rack".to_owned(), format!("{POD_DIR}/placed")]),
        // As the broker, which runs after it and so costs no more: a quota wants them of everybody.
        resources: cluster.resources.as_ref().map(resources),
        security_context: Some(locked_down()),
        volume_mounts: Some(vec![mount("pod", POD_DIR, true)]),
        ..Container::default()
    }
}

fn broker(cluster: &Cluster) -> Container {
    let host = cluster.broker_host("$(POD_NAME)");
    let advertised = format!(
        "advertised.listeners=KAFKA://{host}:{},AMQP://{host}:{},ADMIN://{host}:{ADMIN_PORT},PEER://{host}:{PEER_PORT}",
        cluster.kafka_port, cluster.amqp_port
    );
    let overrides = [
        "node.id=$(BROKER_ID)",
        "broker.rack=$(BROKER_RACK)",
        advertised.as_str(),
    ];
    let mut args = vec![
        "broker".to_owned(),
        "--config".to_owned(),
        format!("{CONFIG_DIR}/{}", config_map::FILE),
    ];
    for setting in overrides {
        args.extend(["--override".to_owned(), setting.to_owned()]);
    }
    Container {
        name: "broker".to_owned(),
        image: Some(cluster.image.clone()),
        image_pull_policy: Some(cluster.image_pull_policy.clone()),
        command: Some(vec![BINARY.to_owned()]),
        args: Some(args),
        env: Some(vec![
            field("POD_NAME", "metadata.name"),
            field(
                "BROKER_ID",
                "metadata.labels['apps.kubernetes.io/pod-index']",
            ),
            field("BROKER_RACK", &format!("metadata.annotations['{RACK}']")),
        ]),
        ports: Some(
            [
                ("kafka", cluster.kafka_port),
                ("amqp", cluster.amqp_port),
                ("admin", ADMIN_PORT),
                ("peer", PEER_PORT),
            ]
            .map(|(name, port)| ContainerPort {
                name: Some(name.to_owned()),
                container_port: port,
                ..ContainerPort::default()
            })
            .to_vec(),
        ),
        startup_probe: Some(Probe {
            period_seconds: Some(1),
            failure_threshold: Some(START_SECONDS),
            ..probe("/healthz")
        }),
        liveness_probe: Some(Probe {
            period_seconds: Some(10),
            failure_threshold: Some(6),
            timeout_seconds: Some(5),
            ..probe("/healthz")
        }),
        readiness_probe: Some(Probe {
            period_seconds: Some(2),
            failure_threshold: Some(3),
            timeout_seconds: Some(2),
            ..probe("/readyz")
        }),
        resources: cluster.resources.as_ref().map(resources),
        // A broker that refuses to run says why in its last line, which the operator passes on.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        security_context: Some(locked_down()),
        volume_mounts: Some(
            [
                Some(mount("config", CONFIG_DIR, true)),
                Some(mount("data", DATA_DIR, false)),
                cluster
                    .users
                    .as_ref()
                    .map(|_| mount("users", USERS_DIR, true)),
            ]
            .into_iter()
            .flatten()
            .collect(),
        ),
        ..Container::default()
    }
}

fn volumes(cluster: &Cluster) -> Vec<Volume> {
    let users = cluster.users.as_ref().map(|users| Volume {
        name: "users".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(users.name.clone()),
            default_mode: Some(0o440),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    });
    let mut volumes = vec![
        Volume {
            name: "config".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: config_map::name(cluster),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: "pod".to_owned(),
            downward_api: Some(DownwardAPIVolumeSource {
                items: Some(vec![DownwardAPIVolumeFile {
                    path: "placed".to_owned(),
                    field_ref: Some(ObjectFieldSelector {
                        field_path: format!("metadata.annotations['{PLACED}']"),
                        ..ObjectFieldSelector::default()
                    }),
                    ..DownwardAPIVolumeFile::default()
                }]),
                ..DownwardAPIVolumeSource::default()
            }),
            ..Volume::default()
        },
    ];
    volumes.extend(users);
    volumes
}

fn claim(cluster: &Cluster) -> PersistentVolumeClaim {
    let size = Quantity(cluster.storage.size.as_str().to_owned());
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some("data".to_owned()),
            // Of these, only what never changes: claim templates are immutable.
            labels: Some(selector(cluster)),
            annotations: Some(made(cluster)),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: cluster.storage.class.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([("storage".to_owned(), size)])),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}

fn locked_down() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        ..SecurityContext::default()
    }
}

fn probe(path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("admin".to_owned()),
            ..HTTPGetAction::default()
        }),
        ..Probe::default()
    }
}

fn field(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: path.to_owned(),
                ..ObjectFieldSelector::default()
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn resources(given: &Resources) -> ResourceRequirements {
    let quantities = |map: &BTreeMap<String, crds::argument::Argument>| {
        (!map.is_empty()).then(|| {
            map.iter()
                .map(|(name, amount)| (name.clone(), Quantity(amount.to_string())))
                .collect()
        })
    };
    ResourceRequirements {
        requests: quantities(&given.requests),
        limits: quantities(&given.limits),
        ..ResourceRequirements::default()
    }
}

/// The patch that tells a pod its rack.
pub(in crate::cluster) fn placement(rack: &str) -> serde_json::Value {
    json!({ "metadata": { "annotations": { RACK: rack, PLACED: "true" } } })
}
