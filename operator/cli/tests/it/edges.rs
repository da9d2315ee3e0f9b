//! Which crate may import which, compared with what cargo resolves.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Crates of the workspace and those of the workspace they may use. A new arrow is a decision:
/// ARCHITECTURE.md says what each one is for.
const ARROWS: [(&str, &[&str]); 13] = [
    ("model", &[]),
    ("kafka-wire", &[]),
    ("amqp-wire", &[]),
    ("api", &[]),
    ("base2histogram", &[]),
    ("crds", &[]),
    ("commitlog", &["model"]),
    ("machine", &["model"]),
    ("replica", &["model", "commitlog", "machine"]),
    ("simulation", &["model", "commitlog", "machine", "replica"]),
    (
        "broker",
        &[
            "model",
            "kafka-wire",
            "amqp-wire",
            "commitlog",
            "machine",
            "replica",
            "api",
        ],
    ),
    ("operator", &["crds", "api"]),
    ("millrace", &["broker", "operator", "api"]),
];

/// Crates of others that a crate of ours must not reach, directly or through anything else.
const ABSENT: [(&str, &[&str]); 10] = [
    ("model", &["tokio", "kube", "openraft"]),
    ("kafka-wire", &["tokio", "kube", "openraft"]),
    ("amqp-wire", &["tokio", "kube", "openraft"]),
    ("machine", &["tokio", "kube", "openraft"]),
    ("commitlog", &["kube", "openraft"]),
    ("replica", &["tokio", "kube", "openraft"]),
    ("api", &["kube", "openraft"]),
    ("crds", &["openraft"]),
    ("broker", &["kube", "k8s-openapi"]),
    ("operator", &["openraft"]),
];

/// Normal dependencies by package name: direct ones of our crates, and of every resolved package.
struct Graph {
    ours: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

fn graph() -> Graph {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["id"].as_str().unwrap(), p["name"].as_str().unwrap()))
        .collect();
    let name = |id: &Value| names[id.as_str().unwrap()].to_owned();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let of = edges.entry(name(&node["id"])).or_default();
        for dependency in node["deps"].as_array().unwrap() {
            let normal = |kind: &Value| kind["kind"].is_null();
            if dependency["dep_kinds"]
                .as_array()
                .unwrap()
                .iter()
                .any(normal)
            {
                of.insert(name(&dependency["pkg"]));
            }
        }
    }
    let ours = metadata["workspace_members"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect();
    Graph { ours, edges }
}

#[test]
fn crates_import_only_what_the_architecture_allows() {
    let Graph { ours, edges } = graph();
    let listed: BTreeSet<String> = ARROWS.iter().map(|(from, _)| (*from).to_owned()).collect();
    assert_eq!(ours, listed, "a crate came or went: say what it may import");
    for (from, allowed) in ARROWS {
        let extra: Vec<&String> = edges[from]
            .intersection(&ours)
            .filter(|to| !allowed.contains(&to.as_str()))
            .collect();
        assert!(extra.is_empty(), "{from} may not import {extra:?}");
    }
}

#[test]
fn pure_crates_reach_no_runtime_and_the_broker_no_kubernetes() {
    let Graph { edges, .. } = graph();
    for (from, absent) in ABSENT {
        let mut reached = BTreeSet::from([from.to_owned()]);
        let mut open = vec![from.to_owned()];
        while let Some(next) = open.pop() {
            for to in edges.get(&next).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        for name in absent {
            assert!(!reached.contains(*name), "{from} reaches {name}");
        }
    }
}
