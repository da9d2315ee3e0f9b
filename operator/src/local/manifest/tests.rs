use std::fs;

use super::*;

/// Reads `yaml` as the file `m.yaml` and gives what is wrong with it, without the directory.
fn problems(yaml: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("m.yaml"), yaml).unwrap();
    match read(dir.path()) {
        Ok(_) => Vec::new(),
        Err(Error::Invalid(problems)) => problems
            .into_iter()
            .map(|mut p| {
                p.place.file = p.place.file.file_name().unwrap().into();
                p.to_string()
            })
            .collect(),
        Err(error) => panic!("{error}"),
    }
}

const TOPIC: &str = "\
apiVersion: millrace.dev/v1alpha1
kind: Topic
metadata:
  name: orders
spec:
  clusterRef:
    name: shop
  partitions: 12
";

#[test]
fn files_of_a_directory_are_read_in_order_and_strangers_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let second = TOPIC.replace("orders", "bills");
    fs::write(
        dir.path().join("a.yaml"),
        format!("{TOPIC}---\n---\n{second}"),
    )
    .unwrap();
    fs::write(
        dir.path().join("b.yml"),
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n",
    )
    .unwrap();
    fs::write(dir.path().join("run"), "#!/bin/sh\n").unwrap();
    let manifests = read(dir.path()).unwrap();
    let names: Vec<&str> = manifests
        .topics
        .iter()
        .map(|t| t.resource.broker_name())
        .collect();
    assert_eq!(names, ["orders", "bills"]);
    assert!(manifests.skipped[0].ends_with("b.yml:1: Namespace shop"));
}

#[test]
fn wrong_value_is_named_by_line_and_field() {
    let text = TOPIC.replace("partitions: 12", "partitions: 0");
    let problems = problems(&text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("m.yaml:8: spec.partitions: "),
        "{problems:?}"
    );
}

#[test]
fn rule_across_fields_is_checked_without_an_api_server() {
    let text = format!("{TOPIC}  replicationFactor: 2\n  minInSync: 3\n");
    let problems = problems(&text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("m.yaml:10: spec.minInSync: "),
        "{problems:?}"
    );
}

#[test]
fn missing_field_is_reported_where_it_should_be() {
    let text = TOPIC.replace("  clusterRef:\n    name: shop\n", "");
    let problems = problems(&text);
    assert!(problems[0].starts_with("m.yaml:5: spec"), "{problems:?}");
}

#[test]
fn every_problem_of_every_document_is_told_at_once() {
    let bad = TOPIC.replace("partitions: 12", "partition: 12");
    let stranger = TOPIC
        .replace("kind: Topic", "kind: Topik")
        .replace("orders", "x");
    let problems = problems(&format!("{bad}---\n{stranger}"));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with("m.yaml:8: spec.partition: "),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("m.yaml:11: kind: no kind 'Topik'"),
        "{problems:?}"
    );
}

#[test]
fn broken_yaml_is_named_by_line() {
    let problems = problems("apiVersion: millrace.dev/v1alpha1\nkind: [\n");
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("m.yaml:"), "{problems:?}");
    assert!(problems[0].contains("not YAML"), "{problems:?}");
}

#[test]
fn key_written_twice_is_refused() {
    let problems = problems(&format!("{TOPIC}  partitions: 3\n"));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("not YAML"), "{problems:?}");
}

#[test]
fn name_used_twice_says_where_the_first_is() {
    let problems = problems(&format!("{TOPIC}---\n{TOPIC}"));
    assert!(
        problems
            .iter()
            .any(|p| p.starts_with("m.yaml:13: metadata.name: Topic 'orders' is defined before")),
        "{problems:?}"
    );
}

#[test]
fn reference_to_a_cluster_that_is_not_there_is_refused() {
    let cluster = "\
apiVersion: millrace.dev/v1alpha1
kind: BrokerCluster
metadata:
  name: market
spec:
  storage:
    size: 1Gi
";
    let problems = problems(&format!("{cluster}---\n{TOPIC}"));
    assert_eq!(
        problems,
        ["m.yaml:15: spec.clusterRef.name: no BrokerCluster 'shop' here; there is 'market'"]
    );
}

#[test]
fn replication_factor_above_the_brokers_is_told_before_any_runs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("m.yaml"),
        format!("{TOPIC}  replicationFactor: 3\n"),
    )
    .unwrap();
    let manifests = read(dir.path()).unwrap();
    assert!(manifests.too_large_for(3).is_empty());
    let problem = manifests.too_large_for(2).remove(0);
    assert_eq!(
        (problem.place.line, problem.field.as_str()),
        (9, "spec.replicationFactor")
    );
}
