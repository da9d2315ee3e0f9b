//! The brokers' configuration file.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;

use super::{Cluster, metadata};

pub(in crate::cluster) const FILE: &str = "broker.properties";

pub(in crate::cluster) fn name(cluster: &Cluster) -> String {
    format!("{}-config", cluster.name)
}

pub(in crate::cluster) fn build(cluster: &Cluster) -> ConfigMap {
    ConfigMap {
        metadata: metadata(cluster, name(cluster)),
        data: Some(BTreeMap::from([(
            FILE.to_owned(),
            cluster.properties_text(),
        )])),
        ..ConfigMap::default()
    }
}
