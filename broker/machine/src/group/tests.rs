//! Scenarios as text: requests against the left margin, what comes of them indented below. Run with
//! `REWRITE=1` to write down what the machine does now, then read the difference.

mod scenario;

use bytes::Bytes;

use super::subscription;
use scenario::check;

#[test]
fn a_member_takes_an_id_then_joins_then_leads() {
    check("first_member");
}

#[test]
fn members_that_come_during_the_initial_delay_share_the_first_generation() {
    check("initial_delay");
}

#[test]
fn a_join_a_leave_and_a_silence_each_make_a_new_generation() {
    check("rebalances");
}

#[test]
fn a_static_member_comes_back_unnoticed() {
    check("static_members");
}

#[test]
fn a_join_that_cannot_be_is_refused_with_its_own_reason() {
    check("refused_joins");
}

#[test]
fn a_sync_or_heartbeat_that_does_not_fit_is_refused_with_its_own_reason() {
    check("refused_syncs");
}

#[test]
fn the_protocol_most_members_prefer_is_chosen() {
    check("votes");
}

#[test]
fn who_does_not_fetch_its_assignment_is_dropped() {
    check("late_syncs");
}

#[test]
fn offsets_are_committed_by_members_and_by_consumers_without_a_group() {
    check("commits");
}

#[test]
fn offsets_expire_counted_from_when_the_group_became_empty() {
    check("expiry");
}

#[test]
fn a_group_with_members_cannot_be_deleted() {
    check("deletion");
}

#[test]
fn a_fail_over_loads_the_last_generation_and_its_sessions_start_afresh() {
    check("fail_over");
}

#[test]
fn a_full_group_takes_nobody_in() {
    check("group_full");
}

#[test]
fn topics_are_read_from_a_subscription_of_any_version() {
    let subscription = scenario::subscription(&["b", "a"]);
    let names: Vec<_> = subscription::topics(&subscription)
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(names, ["a".into(), "b".into()]);
}

#[test]
fn bytes_that_are_no_subscription_have_no_topics() {
    for bytes in [
        &b""[..],
        b"\0\0",
        b"\xff\xff\0\0\0\0",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\0\0\0\0\x01\0\x05ab",
        b"\0\0\0\0\0\x01\0\x01\xff",
    ] {
        assert_eq!(
            subscription::topics(&Bytes::from_static(bytes)),
            None,
            "{bytes:?}"
        );
    }
}
