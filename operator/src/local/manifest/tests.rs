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

const CLUSTER: &str = "\
apiVersion: millrace.dev/v1alpha1
kind: BrokerCluster
metadata:
  name: market
spec:
  storage:
    size: 1Gi
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
    let problems = problems(&format!("{CLUSTER}---\n{TOPIC}"));
    assert_eq!(
        problems,
        ["m.yaml:15: spec.clusterRef.name: no BrokerCluster 'shop' here; there is 'market'"]
    );
}

/// Problems with `yaml` on so many brokers, as `line: field`.
fn too_large(yaml: &str, brokers: u16) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("m.yaml"), yaml).unwrap();
    match read(dir.path()).unwrap().fit(brokers) {
        Ok(()) => Vec::new(),
        Err(Error::Invalid(problems)) => problems
            .iter()
            .map(|p| format!("{}: {}", p.place.line, p.field))
            .collect(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn replicas_above_the_brokers_are_told_before_any_runs() {
    let topic = format!("{TOPIC}  replicationFactor: 3\n");
    assert!(too_large(&topic, 3).is_empty());
    assert_eq!(too_large(&topic, 2), ["9: spec.replicationFactor"]);
    // A topic that does not say has as many replicas as there are brokers, up to three.
    let topic = format!("{TOPIC}  minInSync: 2\n");
    assert!(too_large(&topic, 2).is_empty());
    assert_eq!(too_large(&topic, 1), ["9: spec.minInSync"]);
    let both = format!(
        "{CLUSTER}  defaults:\n    replicationFactor: 2\n---\n{}  minInSync: 3\n",
        TOPIC.replace("shop", "market")
    );
    assert_eq!(too_large(&both, 3), ["19: spec.minInSync"]);
    assert_eq!(
        too_large(&both, 1),
        ["9: spec.defaults.replicationFactor", "19: spec.minInSync"]
    );
}

#[test]
fn config_that_brokers_would_refuse_is_named_by_line() {
    let cluster = format!(
        "{CLUSTER}  config:\n    num.network.threads: many\n    millrace.peer.suspekt.ms: 1\n"
    );
    assert_eq!(
        problems(&cluster),
        [
            "m.yaml:9: spec.config.num.network.threads: Invalid value many for configuration num.network.threads: Not a number of type INT",
            "m.yaml:10: spec.config.millrace.peer.suspekt.ms: there is no configuration key millrace.peer.suspekt.ms: write millrace.peer.suspect.ms or remove it",
        ]
    );
    let topic = format!("{TOPIC}  config:\n    retention.mz: 1\n");
    assert_eq!(
        problems(&topic),
        ["m.yaml:10: spec.config.retention.mz: Unknown topic config name: retention.mz"]
    );
}

#[test]
fn config_that_no_broker_reads_is_told_and_taken() {
    let dir = tempfile::tempdir().unwrap();
    let yaml = format!("{CLUSTER}  config:\n    num.partition: 3\n");
    fs::write(dir.path().join("m.yaml"), yaml).unwrap();
    let unread = read(dir.path()).unwrap().doubtful.remove(0).to_string();
    assert!(
        unread.ends_with("m.yaml:9: spec.config.num.partition: no broker reads this; write num.partitions or remove it"),
        "{unread}"
    );
}

#[test]
fn binding_to_what_is_not_here_is_told_and_taken() {
    let exchange = "\
apiVersion: millrace.dev/v1alpha1
kind: Exchange
metadata:
  name: events
spec:
  clusterRef:
    name: shop
  type: Topic
  bindings:
    - name: there
      destination:
        queue: bills
    - name: everywhere
      destination:
        exchange: amq.fanout
    - name: nowhere
      destination:
        queue: bils
---
apiVersion: millrace.dev/v1alpha1
kind: Queue
metadata:
  name: bills
spec:
  clusterRef:
    name: shop
";
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("m.yaml"), exchange).unwrap();
    let doubtful = read(dir.path()).unwrap().doubtful;
    assert_eq!(doubtful.len(), 1, "{doubtful:?}");
    let doubtful = doubtful[0].to_string();
    assert!(
        doubtful.ends_with("m.yaml:18: spec.bindings[2].destination.queue: no queue 'bils' of vhost '/' here: the binding waits until a client declares it"),
        "{doubtful}"
    );
}

#[test]
fn cluster_whose_name_pods_cannot_carry_is_refused() {
    let problems = problems(&CLUSTER.replace("market", &"x".repeat(41)));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("m.yaml:4: metadata.name: "),
        "{problems:?}"
    );
}
