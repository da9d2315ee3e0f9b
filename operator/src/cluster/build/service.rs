//! Two Services: one that clients start from, one that gives each broker a name.

use crds::broker_cluster::{ADMIN_PORT, PEER_PORT};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Cluster, metadata, selector};

/// Both families where the cluster has both, else the one that it has.
const IP_FAMILIES: &str = "PreferDualStack";

/// Where clients start: brokers that are ready.
pub(in crate::cluster) fn clients(cluster: &Cluster) -> Service {
    Service {
        metadata: metadata(cluster, cluster.name.clone()),
        spec: Some(ServiceSpec {
            ip_family_policy: Some(IP_FAMILIES.to_owned()),
            selector: Some(selector(cluster)),
            ports: Some(vec![
                port("kafka", cluster.kafka_port),
                port("amqp", cluster.amqp_port),
            ]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// A name for each broker, also while it is not ready: brokers find each other by it to become so.
pub(in crate::cluster) fn brokers(cluster: &Cluster) -> Service {
    Service {
        metadata: metadata(cluster, cluster.brokers_service()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            ip_family_policy: Some(IP_FAMILIES.to_owned()),
            selector: Some(selector(cluster)),
            ports: Some(vec![
                port("kafka", cluster.kafka_port),
                port("amqp", cluster.amqp_port),
                port("admin", ADMIN_PORT),
                port("peer", PEER_PORT),
            ]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

fn port(name: &str, port: i32) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port,
        target_port: Some(IntOrString::String(name.to_owned())),
        ..ServicePort::default()
    }
}
