use super::*;
use serde_json::json;

fn spec(bindings: serde_json::Value, policy: &str) -> ExchangeSpec {
    serde_json::from_value(json!({
        "clusterRef": { "name": "main" }, "type": "Topic",
        "bindings": bindings, "bindingPolicy": policy,
    }))
    .unwrap()
}

fn there(bindings: Vec<admin::Binding>) -> admin::Exchange {
    admin::Exchange {
        vhost: "/".into(),
        name: "x".into(),
        kind: admin::ExchangeKind::Topic,
        durable: true,
        auto_delete: false,
        internal: false,
        arguments: Default::default(),
        bindings,
    }
}

fn to_queue(queue: &str, key: &str) -> admin::Binding {
    admin::Binding {
        destination: admin::Destination::Queue(queue.into()),
        routing_key: key.into(),
        arguments: Default::default(),
    }
}

fn everything(_: &admin::Destination) -> bool {
    true
}

#[test]
fn an_absent_exchange_is_declared_and_bound_to_what_exists() {
    let s = spec(
        json!([
            { "name": "a", "destination": { "queue": "q" }, "routingKey": "a.#" },
            { "name": "b", "destination": { "queue": "missing" } },
        ]),
        "Additive",
    );
    let exists = |d: &admin::Destination| *d == admin::Destination::Queue("q".into());
    let p = plan(&s, None, &[], &exists).unwrap();
    assert!(p.declare.is_some());
    assert_eq!(p.bind, [to_queue("q", "a.#")]);
    assert_eq!(p.waiting, ["b"]);
}

#[test]
fn bindings_of_others_stay_unless_the_policy_is_exclusive() {
    let mine = json!([{ "name": "a", "destination": { "queue": "q" }, "routingKey": "k" }]);
    let x = there(vec![to_queue("q", "k"), to_queue("q", "foreign")]);
    let p = plan(&spec(mine.clone(), "Additive"), Some(&x), &[], &everything).unwrap();
    assert!(p.is_nothing(), "{p:?}");
    let p = plan(&spec(mine, "Exclusive"), Some(&x), &[], &everything).unwrap();
    assert_eq!(p.unbind, [to_queue("q", "foreign")]);
}

#[test]
fn an_edited_entry_is_bound_anew_and_its_old_binding_goes() {
    let before = spec(
        json!([{ "name": "a", "destination": { "queue": "q" }, "routingKey": "old" }]),
        "Additive",
    );
    let after = spec(
        json!([{ "name": "a", "destination": { "queue": "q" }, "routingKey": "new" }]),
        "Additive",
    );
    let x = there(vec![to_queue("q", "old")]);
    let p = plan(&after, Some(&x), &before.bindings, &everything).unwrap();
    assert_eq!(
        (p.bind, p.unbind),
        (vec![to_queue("q", "new")], vec![to_queue("q", "old")])
    );
}

#[test]
fn a_lost_binding_is_restored() {
    let s = spec(
        json!([{ "name": "a", "destination": { "queue": "q" } }]),
        "Additive",
    );
    let p = plan(&s, Some(&there(vec![])), &s.bindings, &everything).unwrap();
    assert_eq!(p.bind, [to_queue("q", "")]);
}

#[test]
fn an_exchange_of_another_type_is_refused_and_none_of_its_bindings_touched() {
    let mut x = there(vec![]);
    x.kind = admin::ExchangeKind::Fanout;
    let refusal = plan(&spec(json!([]), "Exclusive"), Some(&x), &[], &everything).unwrap_err();
    assert_eq!((refusal.field, refusal.reason), ("type", "Conflict"));
    assert!(
        refusal.message.contains("type is Fanout, wanted Topic"),
        "{refusal}"
    );
}
