use super::*;
use serde_json::json;

pub(in crate::cluster) fn cluster(spec: serde_json::Value) -> BrokerCluster {
    serde_json::from_value(json!({
        "apiVersion": "millrace.dev/v1alpha1", "kind": "BrokerCluster",
        "metadata": { "name": "main", "namespace": "shop", "uid": "u-1", "generation": 1 },
        "spec": spec,
    }))
    .unwrap()
}

pub(in crate::cluster) fn made() -> Made {
    Made {
        cluster_id: "u-0".to_owned(),
        voters: 3,
        brokers: 3,
    }
}

fn properties_of(spec: serde_json::Value) -> BTreeMap<String, String> {
    validate(&cluster(spec), "img", None).unwrap().properties
}

#[test]
fn replication_defaults_follow_the_number_of_brokers() {
    for (replicas, rf, min) in [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")] {
        let p = properties_of(json!({ "replicas": replicas, "storage": { "size": "1Gi" } }));
        assert_eq!(p["default.replication.factor"], rf, "{replicas} brokers");
        assert_eq!(p["min.insync.replicas"], min, "{replicas} brokers");
    }
}

#[test]
fn voters_are_odd_at_most_five_and_stay_as_the_cluster_was_made() {
    assert_eq!([1, 2, 3, 4, 5, 6, 100].map(voters), [1, 1, 3, 3, 5, 5, 5]);
    let grown = cluster(json!({ "replicas": 5, "storage": { "size": "1Gi" } }));
    let v = validate(&grown, "img", Some(made())).unwrap();
    assert_eq!(
        v.properties["controller.quorum.voters"],
        "0@main-0.main-brokers.shop.svc:7644,1@main-1.main-brokers.shop.svc:7644,2@main-2.main-brokers.shop.svc:7644"
    );
}

#[test]
fn a_cluster_over_volumes_of_an_earlier_one_takes_its_id_and_is_no_smaller() {
    let again = |replicas: i32| {
        let spec = json!({ "replicas": replicas, "storage": { "size": "1Gi" } });
        validate(&cluster(spec), "img", Some(made()))
    };
    assert_eq!(again(3).unwrap().properties["cluster.id"], "u-0");
    let refusal = again(2).unwrap_err();
    assert_eq!((refusal.field, refusal.reason), ("replicas", "VolumesLeft"));
    assert!(refusal.message.contains("volumes of 3 brokers"));
}

#[test]
fn configs_of_the_user_are_in_the_file_beside_those_of_the_operator() {
    let v = validate(
        &cluster(json!({
            "storage": { "size": "1Gi" }, "config": { "log.segment.bytes": 1048576 },
            "listeners": { "kafka": { "port": 19092 } },
        })),
        "img",
        None,
    )
    .unwrap();
    let text = v.properties_text();
    assert!(text.contains("log.segment.bytes=1048576\n"), "{text}");
    assert!(
        text.contains("listeners=KAFKA://:19092,AMQP://:5672,ADMIN://:9644,PEER://:7644\n"),
        "{text}"
    );
    assert!(text.contains("cluster.id=u-1\n"), "{text}");
}

#[test]
fn a_name_that_pods_cannot_carry_is_refused() {
    let mut long = cluster(json!({ "storage": { "size": "1Gi" } }));
    long.metadata.name = Some("x".repeat(41));
    assert_eq!(
        validate(&long, "img", None).unwrap_err().reason,
        "NameTooLong"
    );
}

#[test]
fn a_config_that_brokers_would_not_start_with_is_refused_before_one_is_restarted() {
    let refused = |key: &str, value: serde_json::Value| {
        let spec = json!({ "storage": { "size": "1Gi" }, "config": { key: value } });
        validate(&cluster(spec), "img", None)
            .err()
            .map(|r| (r.reason, r.to_string()))
    };
    assert_eq!(
        refused("num.network.threads", json!("many")),
        Some((
            "InvalidConfig",
            format!(
                "spec.config: Invalid value many for configuration num.network.threads: Not a number of type \
                 INT (judged as version {}, the operator's, has it)",
                env!("CARGO_PKG_VERSION")
            )
        ))
    );
    assert!(refused("millrace.peer.suspekt.ms", json!(1)).is_some());
    // May be meant for something that is not here; a broker starts with it.
    assert_eq!(refused("custom.plugin.class", json!("x")), None);
}
