//! At most one broker is evicted at a time.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Cluster, label_selector, metadata};

pub(in crate::cluster) fn build(cluster: &Cluster) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(cluster, cluster.name.clone()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(label_selector(cluster)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}
