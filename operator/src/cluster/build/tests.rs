use super::*;
use crate::cluster::validated::{
    tests::{cluster, made},
    validate,
};
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;

fn built(spec: serde_json::Value) -> StatefulSet {
    let validated = validate(&cluster(spec), "millrace:1", None).unwrap();
    statefulset::build(&validated).unwrap()
}

fn plain() -> serde_json::Value {
    json!({ "replicas": 3, "storage": { "size": "1Gi" } })
}

#[test]
fn pods_meet_the_restricted_pod_security_standard() {
    let set = built(plain());
    let pod = set.spec.unwrap().template.spec.unwrap();
    let context = pod.security_context.unwrap();
    assert_eq!(context.run_as_non_root, Some(true));
    assert_eq!(context.seccomp_profile.unwrap().type_, "RuntimeDefault");
    assert_eq!(pod.automount_service_account_token, Some(false));
    for container in pod
        .containers
        .iter()
        .chain(pod.init_containers.iter().flatten())
    {
        let context = container.security_context.clone().unwrap();
        assert_eq!(
            context.allow_privilege_escalation,
            Some(false),
            "{}",
            container.name
        );
        assert_eq!(
            context.read_only_root_filesystem,
            Some(true),
            "{}",
            container.name
        );
        assert_eq!(
            context.capabilities.unwrap().drop.unwrap(),
            ["ALL"],
            "{}",
            container.name
        );
    }
}

#[test]
fn a_template_is_in_use_once_kubernetes_has_observed_it() {
    let of = |generation: i64, observed: Option<i64>| {
        let mut set = StatefulSet::default();
        set.metadata.generation = Some(generation);
        set.status = observed.map(|observed| StatefulSetStatus {
            observed_generation: Some(observed),
            ..StatefulSetStatus::default()
        });
        statefulset::is_in_use(&set)
    };
    assert!(!of(1, None), "just made");
    assert!(!of(2, Some(1)), "just changed");
    assert!(of(2, Some(2)));
}

#[test]
fn the_same_cluster_has_the_same_target_whatever_its_size() {
    let of = |replicas: i32| {
        let spec = json!({ "replicas": replicas, "storage": { "size": "1Gi" } });
        let v = validate(&cluster(spec), "millrace:1", Some(made())).unwrap();
        statefulset::build(&v).unwrap()
    };
    let three = of(3);
    let target = statefulset::target_of(&three);
    assert!(target.is_some_and(|t| t.len() == 16));
    assert_eq!(target, statefulset::target_of(&of(3)));
    // Three voters and replicas of three either way: a broker that joins restarts nobody.
    let five = of(5);
    assert_eq!(five.spec.as_ref().and_then(|s| s.replicas), Some(5));
    assert_eq!(target, statefulset::target_of(&five));
}

#[test]
fn a_config_an_image_or_a_resource_is_another_target() {
    let base = statefulset::target_of(&built(plain())).map(str::to_owned);
    for change in [
        json!({ "storage": { "size": "1Gi" }, "config": { "log.segment.bytes": 1048576 } }),
        json!({ "storage": { "size": "1Gi" }, "image": "millrace:2" }),
        json!({ "storage": { "size": "1Gi" }, "resources": { "limits": { "memory": "1Gi" } } }),
    ] {
        let set = built(change.clone());
        assert_ne!(
            statefulset::target_of(&set).map(str::to_owned),
            base,
            "{change}"
        );
    }
}

/// A pod as the StatefulSet makes it.
fn pod_of(spec: serde_json::Value) -> Pod {
    Pod {
        spec: built(spec).spec.unwrap().template.spec,
        ..Pod::default()
    }
}

#[test]
fn a_pod_keeps_the_configuration_that_it_was_made_with_until_it_is_made_anew() {
    let spec = |bytes: i64| json!({ "storage": { "size": "1Gi" }, "config": { "log.segment.bytes": bytes } });
    let config =
        |bytes| config_map::build(&validate(&cluster(spec(bytes)), "millrace:1", None).unwrap());
    let (old, between, new) = (config(1 << 20), config(2 << 20), config(3 << 20));
    assert_eq!(old.immutable, Some(true));
    assert_eq!(config(1 << 20).metadata.name, old.metadata.name);
    let mut foreign = old.clone();
    foreign.metadata.name = Some("somebody-elses".to_owned());
    foreign.metadata.owner_references = None;
    let there = [old.clone(), between.clone(), new.clone(), foreign];
    let now = validate(&cluster(spec(3 << 20)), "millrace:1", None).unwrap();

    let rolling = [pod_of(spec(1 << 20)), pod_of(spec(3 << 20))];
    assert_eq!(config_map::unused(&now, &there, &rolling), [&between]);
    let rolled = [pod_of(spec(3 << 20)), pod_of(spec(3 << 20))];
    assert_eq!(config_map::unused(&now, &there, &rolled), [&old, &between]);
    // What the template names stays also before any pod does.
    assert_eq!(
        config_map::unused(&now, &[new], &[]),
        Vec::<&ConfigMap>::new()
    );
}

#[test]
fn pods_go_to_the_nodes_that_are_asked_for_and_are_still_spread_over_them() {
    let plain = built(plain());
    let placed = json!({
        "storage": { "size": "1Gi" },
        "nodeSelector": { "pool": "brokers" },
        "tolerations": [{ "key": "dedicated", "operator": "Equal", "value": "brokers", "effect": "NoSchedule" }],
    });
    let placed = built(placed);
    assert_ne!(
        statefulset::target_of(&placed),
        statefulset::target_of(&plain)
    );
    let pod = |set: StatefulSet| set.spec.unwrap().template.spec.unwrap();
    let (plain, placed) = (pod(plain), pod(placed));
    assert_eq!(placed.node_selector.unwrap()["pool"], "brokers");
    let tolerations = placed.tolerations.unwrap();
    assert_eq!(tolerations[0].effect.as_deref(), Some("NoSchedule"));
    assert_eq!(
        placed.topology_spread_constraints,
        plain.topology_spread_constraints
    );
    // As before the fields were there: an operator that knows them restarts nobody by itself.
    assert_eq!((plain.node_selector, plain.tolerations), (None, None));
}

#[test]
fn services_have_an_address_of_every_family_that_the_cluster_has() {
    let v = validate(&cluster(plain()), "millrace:1", None).unwrap();
    for service in [service::clients(&v), service::brokers(&v)] {
        let policy = service.spec.unwrap().ip_family_policy;
        assert_eq!(policy.as_deref(), Some("PreferDualStack"));
    }
}

#[test]
fn every_object_is_owned_by_the_cluster_and_selects_its_pods() {
    let v = validate(&cluster(plain()), "millrace:1", None).unwrap();
    let objects = [
        serde_json::to_value(config_map::build(&v)).unwrap(),
        serde_json::to_value(pdb::build(&v)).unwrap(),
        serde_json::to_value(service::clients(&v)).unwrap(),
        serde_json::to_value(service::brokers(&v)).unwrap(),
        serde_json::to_value(service_account::build(&v)).unwrap(),
        serde_json::to_value(statefulset::build(&v).unwrap()).unwrap(),
    ];
    for object in objects {
        assert_eq!(
            object["metadata"]["ownerReferences"][0]["uid"], "u-1",
            "{object}"
        );
        assert_eq!(
            object["metadata"]["labels"][CLUSTER_LABEL], "main",
            "{object}"
        );
    }
    let set = serde_json::to_value(statefulset::build(&v).unwrap()).unwrap();
    let labels = &set["spec"]["template"]["metadata"]["labels"];
    for (key, value) in set["spec"]["selector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&labels[key], value, "{key}");
    }
    assert_eq!(set["spec"]["updateStrategy"]["type"], "OnDelete");
    assert_eq!(set["spec"]["podManagementPolicy"], "Parallel");
}

#[test]
fn users_of_a_secret_are_a_file_that_only_brokers_read_and_another_secret_is_another_target() {
    let with = |secret: &str| {
        built(json!({
            "storage": { "size": "1Gi" }, "amqp": { "usersSecret": { "name": secret, "key": "users" } },
        }))
    };
    let set = serde_json::to_value(with("a")).unwrap();
    let pod = &set["spec"]["template"]["spec"];
    assert!(
        pod["volumes"].to_string().contains(r#""secretName":"a""#),
        "{pod}"
    );
    assert!(
        pod["containers"][0]["volumeMounts"]
            .to_string()
            .contains("/etc/users"),
        "{pod}"
    );
    assert!(
        !pod["initContainers"].to_string().contains("/etc/users"),
        "{pod}"
    );
    assert_ne!(
        statefulset::target_of(&with("a")),
        statefulset::target_of(&with("b"))
    );
}

#[test]
fn every_container_has_the_resources_that_were_asked_for_since_a_quota_asks_each() {
    let spec = json!({ "storage": { "size": "1Gi" }, "resources": { "requests": { "cpu": "1" } } });
    let set = serde_json::to_value(built(spec)).unwrap();
    let pod = &set["spec"]["template"]["spec"];
    for containers in ["initContainers", "containers"] {
        assert_eq!(pod[containers][0]["resources"]["requests"]["cpu"], "1");
    }
}

#[test]
fn volumes_carry_what_a_later_cluster_over_them_has_to_know() {
    let set = serde_json::to_value(built(plain())).unwrap();
    for object in [&set, &set["spec"]["volumeClaimTemplates"][0]] {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations[CLUSTER_ID], "u-1", "{object}");
        assert_eq!(annotations[VOTERS], "3", "{object}");
    }
}
