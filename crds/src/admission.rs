//! What the API server does with a resource before it stores it, for where there is none: nulls
//! dropped, defaults filled in, unknown fields refused, structure checked, CEL rules run.
//!
//! Reads a definition of [`crate::definition`] as data, so that both judges follow the same text.
//! A real API server judges the same fixtures in the project's end-to-end scenarios.

use kube::core::cel;
use serde_json::Value;

use crate::definition::{self, Definition};

mod structure;

/// One reason to refuse a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Dotted path from the object's root, e.g. `spec.bindings[0].name`; empty = the object.
    pub path: String,
    pub message: String,
}

/// Judges resources of one kind.
pub struct Admission {
    definition: Definition,
    schema: Value,
}

impl Admission {
    /// The judge of `kind` of group `millrace.dev`, if there is such a kind.
    #[must_use]
    pub fn of(kind: &str) -> Option<Self> {
        let definition = definition::all().into_iter().find(|d| d.kind == kind)?;
        let schema = definition
            .crd
            .pointer("/spec/versions/0/schema/openAPIV3Schema")?
            .clone();
        Some(Self { definition, schema })
    }

    #[must_use]
    pub fn kind(&self) -> &str {
        &self.definition.kind
    }

    /// The object as it would be stored, or everything that is wrong with it. `old` is the object
    /// that it replaces; rules on changes run only with it.
    ///
    /// # Errors
    /// All violations found. CEL runs only on what is structurally sound, as in the API server.
    pub fn admit(&self, mut object: Value, old: Option<&Value>) -> Result<Value, Vec<Violation>> {
        drop_nulls(&mut object);
        let object = cel::apply_defaults(&self.schema, &object);
        let mut violations = Vec::new();
        structure::check(&self.schema, &object, &mut violations);
        if !violations.is_empty() {
            return Err(violations);
        }
        match cel::Validator::new().validate(&self.schema, &object, old) {
            Ok(()) => Ok(object),
            Err(errors) => Err(errors
                .into_vec()
                .into_iter()
                .map(|e| Violation {
                    path: e.field_path,
                    message: e.message,
                })
                .collect()),
        }
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
