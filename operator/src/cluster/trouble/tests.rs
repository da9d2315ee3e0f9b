use super::*;
use serde_json::{Value, json};

fn check(status: Value, words: &str, broken: bool) {
    let pod: Pod = serde_json::from_value(json!({ "status": status })).unwrap();
    let expected = Trouble {
        words: words.to_owned(),
        broken,
    };
    assert_eq!(of(&pod, Some("people")), Some(expected));
}

fn container(state: Value, last: Value) -> Value {
    json!({
        "name": "broker", "image": "millrace:2", "imageID": "", "ready": false, "restartCount": 1,
        "state": state, "lastState": last,
    })
}

#[test]
fn an_image_that_cannot_be_had_is_named_alike_between_attempts() {
    for reason in ["ErrImagePull", "ImagePullBackOff"] {
        let state = json!({ "waiting": { "reason": reason, "message": "attempt 17" } });
        let status = json!({ "initContainerStatuses": [container(state, json!({}))] });
        check(status, "image millrace:2 cannot be pulled", true);
    }
}

#[test]
fn a_broker_that_refuses_to_run_is_quoted_also_while_it_tries_again() {
    let end = json!({ "terminated": {
        "exitCode": 1, "reason": "Error",
        "message": "INFO starting\nmillrace: cannot read the users file\n",
    }});
    let words = "it ended with code 1: cannot read the users file";
    let loops = container(
        json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s" } }),
        end.clone(),
    );
    check(json!({ "containerStatuses": [loops] }), words, true);
    let again = container(json!({ "running": {} }), end);
    check(json!({ "containerStatuses": [again] }), words, false);
}

#[test]
fn a_secret_that_is_not_there_is_named_as_what_may_be_waited_for() {
    let status = json!({
        "conditions": [
            { "type": "PodScheduled", "status": "True" },
            { "type": "PodReadyToStartContainers", "status": "False" },
        ],
        "containerStatuses": [container(json!({ "waiting": { "reason": "PodInitializing" } }), json!({}))],
    });
    check(
        status,
        "its volumes are not mounted yet; one of them is Secret people",
        false,
    );
}

#[test]
fn a_pod_that_no_node_takes_says_why() {
    let status = json!({ "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available" },
    ]});
    check(status, "no node takes it: 0/3 nodes are available", true);
}

#[test]
fn a_pod_that_serves_or_was_stopped_well_has_no_trouble() {
    let mut fine = container(
        json!({ "running": {} }),
        json!({ "terminated": { "exitCode": 1 } }),
    );
    fine["ready"] = json!(true);
    let stopped = container(
        json!({ "running": {} }),
        json!({ "terminated": { "exitCode": 0 } }),
    );
    for container in [fine, stopped] {
        let status = json!({ "status": { "containerStatuses": [container] } });
        let pod: Pod = serde_json::from_value(status).unwrap();
        assert_eq!(of(&pod, None), None);
    }
}
