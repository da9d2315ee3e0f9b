use super::*;
use api::admin::PartitionName;

const NEW: &str = "new";

fn pod(broker: i32, target: &str) -> Pod {
    Pod {
        name: format!("main-{broker}"),
        uid: format!("uid-{broker}"),
        resource_version: "7".into(),
        broker,
        target: target.into(),
        ready: true,
        terminating: false,
        started: true,
        broken: false,
        trouble: None,
    }
}

fn brokers() -> Brokers {
    Brokers {
        controller: Some(2),
        unfenced: vec![0, 1, 2],
        permit: None,
        verdict: Some(Verdict {
            may_stop: true,
            ..Verdict::default()
        }),
        movable_leaders: None,
    }
}

fn permit(broker: i32, holder: &str, expires_at_ms: i64) -> Permit {
    Permit {
        token: "t".into(),
        broker,
        holder: holder.into(),
        expires_at_ms,
    }
}

fn intent(pod: &Pod) -> Restart {
    Restart {
        pod: pod.name.clone(),
        uid: pod.uid.clone(),
        permit: None,
    }
}

fn step(pods: &[Pod], current: Option<&Restart>, brokers: Option<&Brokers>) -> Next {
    next(
        &World {
            replicas: 3,
            target: NEW,
            pods,
            current,
            brokers,
            paused: false,
            holder: "me",
        },
        0,
    )
}

fn waits_for(step: Next, words: &str) {
    let Next::Wait { why } = step else {
        panic!("does not wait: {step:?}")
    };
    assert!(why.contains(words), "{why:?}");
}

fn is_blocked_by(step: Next, words: &str) {
    let Next::Blocked { why } = step else {
        panic!("is not blocked: {step:?}")
    };
    assert!(why.iter().any(|w| w.contains(words)), "{why:?}");
}

#[test]
fn nothing_to_do_when_every_pod_runs_the_target() {
    let pods = [pod(0, NEW), pod(1, NEW), pod(2, NEW)];
    assert_eq!(step(&pods, None, Some(&brokers())), Next::Idle);
}

#[test]
fn the_highest_ordinal_goes_first_and_the_controller_last() {
    let pods = [pod(0, "old"), pod(1, "old"), pod(2, "old")];
    assert_eq!(
        step(&pods, None, Some(&brokers())),
        Next::Record(intent(&pods[1]))
    );
    let pods = [pod(0, NEW), pod(1, NEW), pod(2, "old")];
    assert_eq!(
        step(&pods, None, Some(&brokers())),
        Next::Record(intent(&pods[2]))
    );
}

#[test]
fn no_restart_begins_while_another_broker_is_missing_or_not_ready() {
    let mut pods = vec![pod(0, "old"), pod(1, "old"), pod(2, "old")];
    pods[0].ready = false;
    // The one that is not ready may go itself: it takes nothing away.
    assert_eq!(
        step(&pods, None, Some(&brokers())),
        Next::Record(intent(&pods[0]))
    );
    let mut pods = vec![pod(0, NEW), pod(1, "old"), pod(2, "old")];
    pods[0].ready = false;
    is_blocked_by(step(&pods, None, Some(&brokers())), "main-0 is not ready");
    is_blocked_by(
        step(&pods[1..], None, Some(&brokers())),
        "broker 0 has no pod",
    );
}

#[test]
fn a_paused_update_restarts_nothing() {
    let pods = [pod(0, "old"), pod(1, NEW), pod(2, NEW)];
    let world = World {
        replicas: 3,
        target: NEW,
        pods: &pods,
        current: None,
        brokers: None,
        paused: true,
        holder: "me",
    };
    assert_eq!(next(&world, 0), Next::Paused { outdated: 1 });
}

#[test]
fn a_restart_goes_by_permit_then_drain_then_delete() {
    let pods = [pod(0, "old"), pod(1, "old"), pod(2, "old")];
    let current = intent(&pods[1]);
    let mut b = brokers();
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Acquire { broker: 1 }
    );
    b.permit = Some(permit(1, "me", 600_000));
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Drain { broker: 1 }
    );
    b.movable_leaders = Some(3);
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Drain { broker: 1 }
    );
    b.movable_leaders = Some(0);
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Delete {
            pod: "main-1".into(),
            uid: "uid-1".into(),
            resource_version: "7".into()
        }
    );
}

#[test]
fn a_verdict_that_turned_after_the_drain_stops_the_delete_and_names_the_partitions() {
    let pods = [pod(0, "old"), pod(1, "old"), pod(2, "old")];
    let current = intent(&pods[1]);
    let mut b = brokers();
    b.permit = Some(permit(1, "me", 600_000));
    b.movable_leaders = Some(0);
    b.verdict = Some(Verdict {
        broker: 1,
        may_stop: false,
        would_block_writes: vec![PartitionName {
            topic: "orders".into(),
            partition: 4,
        }],
        ..Verdict::default()
    });
    is_blocked_by(
        step(&pods, Some(&current), Some(&b)),
        "orders-4 would be below min.insync.replicas without broker 1",
    );
}

#[test]
fn somebody_elses_permit_is_waited_for_and_an_old_one_of_ours_renewed() {
    let pods = [pod(0, "old"), pod(1, "old"), pod(2, "old")];
    let current = intent(&pods[1]);
    let mut b = brokers();
    b.permit = Some(permit(0, "a person", 600_000));
    is_blocked_by(
        step(&pods, Some(&current), Some(&b)),
        "a person holds the restart permit",
    );
    b.permit = Some(permit(1, "me", 1_000));
    b.movable_leaders = Some(0);
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Acquire { broker: 1 }
    );
}

#[test]
fn a_pod_is_never_deleted_twice() {
    let mut pods = vec![pod(0, "old"), pod(1, "old"), pod(2, "old")];
    let current = intent(&pods[1]);
    pods[1].terminating = true;
    waits_for(
        step(&pods, Some(&current), Some(&brokers())),
        "main-1 is stopping",
    );
    let gone = [pods[0].clone(), pods[2].clone()];
    waits_for(
        step(&gone, Some(&current), Some(&brokers())),
        "main-1 is being made anew",
    );
    pods[1] = Pod {
        uid: "another".into(),
        ready: false,
        ..pod(1, NEW)
    };
    waits_for(
        step(&pods, Some(&current), Some(&brokers())),
        "main-1 is starting",
    );
    pods[1].ready = true;
    let mut b = brokers();
    b.unfenced = vec![0, 2];
    waits_for(
        step(&pods, Some(&current), Some(&b)),
        "broker 1 is catching up",
    );
    b.unfenced = vec![0, 1, 2];
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Finish { permit: None }
    );
}

#[test]
fn the_permit_is_given_back_even_if_its_token_was_never_recorded() {
    let mut pods = vec![pod(0, "old"), pod(1, "old"), pod(2, "old")];
    let current = intent(&pods[1]);
    pods[1] = Pod {
        uid: "another".into(),
        ..pod(1, NEW)
    };
    let mut b = brokers();
    b.permit = Some(permit(1, "me", 600_000));
    assert_eq!(
        step(&pods, Some(&current), Some(&b)),
        Next::Finish {
            permit: Some("t".into())
        }
    );
}

#[test]
fn a_change_taken_back_before_the_delete_ends_the_restart() {
    let pods = [pod(0, NEW), pod(1, NEW), pod(2, NEW)];
    let current = intent(&pods[1]);
    assert_eq!(
        step(&pods, Some(&current), Some(&brokers())),
        Next::Finish { permit: None }
    );
}

#[test]
fn a_template_that_cannot_start_stops_the_roll_at_one_broker_and_its_revert_heals_it() {
    // One pod took the bad template; the others still run the old one.
    let mut pods = vec![
        pod(0, "old"),
        Pod {
            ready: false,
            broken: true,
            ..pod(1, NEW)
        },
        pod(2, "old"),
    ];
    let before = Restart {
        pod: "main-1".into(),
        uid: "before".into(),
        permit: Some("t".into()),
    };
    is_blocked_by(step(&pods, Some(&before), Some(&brokers())), "cannot start");
    // Reverted: the target is the old template again and the broken pod is the outdated one.
    for p in &mut pods {
        p.target = if p.broker == 1 {
            "bad".into()
        } else {
            NEW.into()
        };
    }
    assert_eq!(
        step(&pods, Some(&before), Some(&brokers())),
        Next::Finish {
            permit: Some("t".into())
        }
    );
    assert_eq!(step(&pods, None, None), Next::Record(intent(&pods[1])));
    let current = intent(&pods[1]);
    assert!(matches!(
        step(&pods, Some(&current), None),
        Next::Delete { .. }
    ));
}

#[test]
fn nothing_is_deleted_while_no_broker_answers() {
    let pods = [pod(0, "old"), pod(1, "old"), pod(2, "old")];
    is_blocked_by(
        step(&pods, Some(&intent(&pods[1])), None),
        "no broker answers",
    );
}

#[test]
fn a_permit_left_from_a_restart_that_was_called_off_is_given_back() {
    let pods = [pod(0, "old"), pod(1, "old"), pod(2, NEW)];
    let left = Brokers {
        permit: Some(permit(2, "me", i64::MAX)),
        ..brokers()
    };
    assert_eq!(
        step(&pods, Some(&intent(&pods[1])), Some(&left)),
        Next::Finish {
            permit: Some("t".into())
        }
    );
    let others = Brokers {
        permit: Some(permit(2, "somebody", i64::MAX)),
        ..brokers()
    };
    is_blocked_by(
        step(&pods, Some(&intent(&pods[1])), Some(&others)),
        "somebody",
    );
}

#[test]
fn a_pod_that_does_not_start_is_waited_for_with_the_reason() {
    let old = pod(2, "old");
    let new = Pod {
        uid: "another".into(),
        ready: false,
        trouble: Some("its volumes are not mounted yet".into()),
        ..pod(2, NEW)
    };
    let pods = [pod(0, "old"), pod(1, "old"), new];
    waits_for(
        step(&pods, Some(&intent(&old)), Some(&brokers())),
        "main-2 is starting: its volumes are not mounted yet",
    );
}

#[test]
fn pods_that_have_never_started_are_replaced_although_no_broker_answers() {
    let waiting = |broker| Pod {
        ready: false,
        started: false,
        ..pod(broker, "old")
    };
    let pods = [waiting(0), waiting(1), waiting(2)];
    let Next::Record(current) = step(&pods, None, None) else {
        panic!("does not begin")
    };
    assert_eq!(current.pod, "main-2");
    assert!(matches!(
        step(&pods, Some(&current), None),
        Next::Delete { pod, .. } if pod == "main-2"
    ));
    // Alone it has no majority to become ready with: the next one does not wait for that.
    let mut anew = waiting(2);
    anew.uid = "another".into();
    anew.target = NEW.into();
    let pods = [waiting(0), waiting(1), anew];
    assert_eq!(
        step(&pods, Some(&current), None),
        Next::Finish { permit: None }
    );
    let Next::Record(following) = step(&pods, None, None) else {
        panic!("does not go on")
    };
    assert_eq!(following.pod, "main-1");
}
