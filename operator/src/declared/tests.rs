use super::*;
use crds::topic::Topic;
use kube::runtime::{reflector, watcher};
use serde_json::json;

fn topic(uid: &str, second: u32, name: Option<&str>) -> Topic {
    let mut topic = json!({
        "apiVersion": "millrace.dev/v1alpha1", "kind": "Topic",
        "metadata": {
            "name": uid, "namespace": "shop", "uid": uid,
            "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z"),
        },
        "spec": { "clusterRef": { "name": "main" } },
    });
    if let Some(name) = name {
        topic["spec"]["name"] = json!(name);
    }
    serde_json::from_value(topic).unwrap()
}

fn all(topics: &[&Topic]) -> Store<Topic> {
    let (store, mut writer) = reflector::store();
    for topic in topics {
        writer.apply_watcher_event(&watcher::Event::Apply((*topic).clone()));
    }
    store
}

#[test]
fn of_two_that_stand_for_one_topic_the_older_one_counts() {
    let (first, second) = (topic("orders", 1, None), topic("twin", 2, Some("orders")));
    let all = all(&[&first, &second, &topic("other", 0, None)]);
    assert!(elder(&all, &first).is_none());
    assert_eq!(elder(&all, &second).unwrap().name_any(), "orders");
    // Neither takes the topic along as long as the other one is there.
    assert_eq!(others(&all, &first).count(), 1);
    assert_eq!(others(&all, &second).count(), 1);
}

#[test]
fn of_two_of_one_second_one_counts() {
    let (a, b) = (topic("a", 1, Some("orders")), topic("b", 1, Some("orders")));
    let all = all(&[&a, &b]);
    assert!(elder(&all, &a).is_none());
    assert!(elder(&all, &b).is_some());
}

#[test]
fn one_that_goes_or_is_of_another_cluster_or_namespace_stands_in_nobodys_way() {
    let mut going = topic("going", 0, Some("orders"));
    going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
    let mut elsewhere = topic("elsewhere", 0, Some("orders"));
    elsewhere.spec.cluster_ref.name = "second".to_owned();
    let mut foreign = topic("foreign", 0, Some("orders"));
    foreign.metadata.namespace = Some("other".to_owned());
    let object = topic("orders", 1, None);
    let all = all(&[&object, &going, &elsewhere, &foreign]);
    assert_eq!(others(&all, &object).count(), 0);
}
