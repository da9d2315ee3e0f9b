//! The brokers' identity: an account of their own without a token, since they never speak to the API
//! server.

use k8s_openapi::api::core::v1::ServiceAccount;

use super::{Cluster, metadata};

pub(in crate::cluster) fn build(cluster: &Cluster) -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(cluster, cluster.brokers_service()),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}
