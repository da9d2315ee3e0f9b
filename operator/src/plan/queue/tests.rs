use super::*;
use serde_json::json;

fn spec(yaml: serde_json::Value) -> QueueSpec {
    serde_json::from_value(yaml).unwrap()
}

fn there(spec: &QueueSpec) -> admin::Queue {
    let d = declaration(spec);
    admin::Queue {
        vhost: "/".into(),
        name: "q".into(),
        kind: d.kind,
        durable: d.durable,
        auto_delete: false,
        exclusive: false,
        arguments: d.arguments,
        leader: None,
        members: vec![],
        ready: None,
        unacked: None,
        consumers: None,
    }
}

#[test]
fn typed_fields_become_the_arguments_that_rabbitmq_names() {
    let s = spec(json!({
        "clusterRef": { "name": "main" }, "deadLetter": { "exchange": "", "routingKey": "dead" },
        "deliveryLimit": 3, "maxLength": 10, "messageTtl": "2s", "arguments": { "x-overflow": "reject-publish" },
    }));
    let Plan::Create(d) = plan(&s, None).unwrap() else {
        panic!("not created")
    };
    assert_eq!(d.kind, admin::QueueKind::Quorum);
    assert_eq!(
        serde_json::to_value(d.arguments).unwrap(),
        json!({
            "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-delivery-limit": 3,
            "x-max-length": 10, "x-message-ttl": 2000, "x-overflow": "reject-publish",
        })
    );
}

#[test]
fn an_equal_queue_is_left_alone_and_another_one_is_refused_by_name_of_the_difference() {
    let s = spec(json!({ "clusterRef": { "name": "main" }, "maxLength": 10 }));
    let mut queue = there(&s);
    assert_eq!(plan(&s, Some(&queue)).unwrap(), Plan::Nothing);
    queue.kind = admin::QueueKind::Classic;
    queue.arguments.insert("x-max-length".into(), json!(20));
    let refusal = plan(&s, Some(&queue)).unwrap_err();
    assert_eq!(refusal.reason, "Conflict");
    assert!(
        refusal.message.contains("type is Classic, wanted Quorum"),
        "{refusal}"
    );
    assert!(
        refusal.message.contains("x-max-length is 20, wanted 10"),
        "{refusal}"
    );
}
