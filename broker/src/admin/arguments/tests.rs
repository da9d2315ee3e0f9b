use serde_json::json;

use super::*;

#[test]
fn what_json_can_say_comes_back_the_same() {
    let arguments: Arguments = serde_json::from_value(json!({
        "x-max-length": 10, "x-overflow": "reject-publish", "x-single-active-consumer": true,
        "ratio": 0.5, "nested": {"list": [1, "a", null]},
    }))
    .unwrap();
    let table = from_json(&arguments).unwrap();
    assert_eq!(table["x-max-length"], Value::Int(10));
    assert_eq!(to_json(&table), arguments);
}

#[test]
fn number_too_large_for_amqp_is_told_by_name() {
    let arguments = Arguments::from([("big".to_owned(), json!(u64::MAX))]);
    assert_eq!(from_json(&arguments), Err("big".to_owned()));
}
