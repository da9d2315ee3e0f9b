//! The definitions as the API server gets them: what the types derive, made plain.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResourceExt, Resource};
use serde_json::{Map, Value, json};

use crate::broker_cluster::BrokerCluster;
use crate::consumer_group::ConsumerGroup;
use crate::exchange::Exchange;
use crate::queue::Queue;
use crate::topic::Topic;

/// Kept on every definition, so that deleting the chart does not delete every resource with it.
const KEEP: (&str, &str) = ("helm.sh/resource-policy", "keep");

/// One definition and the file name it is kept under in `yaml/`.
pub struct Definition {
    pub kind: String,
    pub file: String,
    pub crd: Value,
}

/// All kinds, in the order in which a reader meets them.
#[must_use]
pub fn all() -> Vec<Definition> {
    vec![
        definition::<BrokerCluster>(),
        definition::<Topic>(),
        definition::<Queue>(),
        definition::<Exchange>(),
        definition::<ConsumerGroup>(),
    ]
}

fn definition<K: Resource<DynamicType = ()> + CustomResourceExt>() -> Definition {
    Definition {
        kind: K::kind(&()).into_owned(),
        file: format!("{}.yaml", K::plural(&())),
        crd: plain(&K::crd()),
    }
}

/// - `nullable` goes: with it an explicit null would reach the operator and CEL's `has()`; without
///   it the API server drops nulls first.
/// - `status.observedGeneration` starts at -1, so that nothing looks current before its first
///   reconcile.
/// - whole numbers are written as such (schemars bounds are floats), empty lists are left out.
fn plain(crd: &CustomResourceDefinition) -> Value {
    let mut value = serde_json::to_value(crd).unwrap_or_default();
    tidy(&mut value);
    for version in value
        .pointer_mut("/spec/versions")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(status) = version
            .pointer_mut("/schema/openAPIV3Schema/properties/status")
            .and_then(Value::as_object_mut)
        {
            status.insert("default".into(), json!({ "observedGeneration": -1 }));
        }
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".into(), json!({ KEEP.0: KEEP.1 }));
    }
    value
}

fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            drop_noise(map);
            map.values_mut().for_each(tidy);
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        Value::Number(n) => {
            if let Some(f) = n.as_f64().filter(|f| n.is_f64() && f.fract() == 0.0) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "bounds of fields are far below 2^53"
                )]
                {
                    *value = json!(f as i64);
                }
            }
        }
        _ => {}
    }
}

fn drop_noise(map: &mut Map<String, Value>) {
    if map.get("nullable") == Some(&Value::Bool(true)) {
        map.remove("nullable");
    }
    map.retain(|key, v| {
        let empty = v.as_array().is_some_and(Vec::is_empty);
        !(empty && matches!(key.as_str(), "x-kubernetes-validations" | "required"))
    });
}

/// The definition as YAML, byte for byte as it is kept in `yaml/`.
///
/// # Errors
/// Never for the definitions of [`all`]; the serialiser's error otherwise.
pub fn yaml(crd: &Value) -> Result<String, serde_saphyr::SerializeError> {
    let body = serde_saphyr::to_string(crd)?;
    Ok(format!(
        "# Generated from the types in crds/src; `UPDATE=1 cargo test -p crds` rewrites it.\n{body}"
    ))
}
