//! Each rule lets in what it should and keeps out what it should, with the words the user reads.
//! `testdata/rules/*.yaml` holds the cases; the end-to-end scenario `admission` puts the same files
//! before a real API server.

use std::fs;
use std::path::Path;

use crds::admission::Admission;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One file: a kind, a sound spec, and what to change in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    pub(crate) kind: String,
    pub(crate) base: Value,
    pub(crate) cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Merged into the base before it is created.
    #[serde(default)]
    pub(crate) create: Value,
    /// Merged into what was created; then it is an update. `null` removes.
    #[serde(default)]
    pub(crate) update: Value,
    /// Part of the message; absent = let in.
    #[serde(default)]
    pub(crate) refused: Option<String>,
}

#[test]
fn every_rule_lets_in_and_keeps_out_what_it_says() {
    let mut failures = Vec::new();
    let mut cases = 0;
    for rules in all() {
        let admission = Admission::of(&rules.kind).unwrap();
        for case in &rules.cases {
            cases += 1;
            if let Err(e) = check(&admission, &rules, case) {
                failures.push(format!("{} / {}: {e}", rules.kind, case.name));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(cases > 80, "only {cases} cases were found");
}

pub(crate) fn all() -> Vec<Rules> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/rules");
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            serde_saphyr::from_str(&fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        })
        .collect()
}

fn check(admission: &Admission, rules: &Rules, case: &Case) -> Result<(), String> {
    let object = |spec: Value| {
        json!({
            "apiVersion": "millrace.dev/v1alpha1", "kind": rules.kind,
            "metadata": { "name": "case" }, "spec": spec,
        })
    };
    let mut spec = rules.base.clone();
    merge(&mut spec, &case.create);
    let mut verdict = admission.admit(object(spec.clone()), None);
    if !case.update.is_null() {
        let old = verdict.map_err(|v| format!("cannot be created: {v:?}"))?;
        merge(&mut spec, &case.update);
        verdict = admission.admit(object(spec), Some(&old));
    }
    match (&case.refused, verdict) {
        (None, Ok(_)) => Ok(()),
        (None, Err(v)) => Err(format!("refused: {v:?}")),
        (Some(words), Ok(_)) => Err(format!("let in, wanted \"{words}\"")),
        (Some(words), Err(v)) if v.iter().any(|v| v.message.contains(words)) => Ok(()),
        (Some(words), Err(v)) => Err(format!("wanted \"{words}\", got {v:?}")),
    }
}

/// RFC 7386, the merge patch of kubectl.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    match patch {
        Value::Null => {}
        Value::Object(changes) => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            if let Some(map) = target.as_object_mut() {
                for (key, change) in changes {
                    if change.is_null() {
                        map.remove(key);
                    } else {
                        merge(map.entry(key.clone()).or_insert(Value::Null), change);
                    }
                }
            }
        }
        other => *target = other.clone(),
    }
}
