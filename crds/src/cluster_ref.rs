//! Which cluster a resource lives in.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The BrokerCluster, in the same namespace, that this belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRef {
    /// Name of the BrokerCluster.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
}
