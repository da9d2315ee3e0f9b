use std::collections::BTreeMap;

use model::BrokerId;

use super::super::rejoin::{Goal, Goals, Part, Standing};
use super::super::types::log_id;
use super::super::{GroupId, codec};
use super::{Verdict, decide};

const THREE: [BrokerId; 3] = [BrokerId(0), BrokerId(1), BrokerId(2)];
const FIVE: [BrokerId; 5] = [
    BrokerId(0),
    BrokerId(1),
    BrokerId(2),
    BrokerId(3),
    BrokerId(4),
];
/// Has nothing, and cannot tell whether that is right.
const EMPTY: Standing = Standing {
    remembers: false,
    original: false,
    has_room: true,
    term: 0,
    last: None,
};

/// A voter with a log up to there.
fn voter(term: u64, last_term: u64, last_index: u64) -> Standing {
    Standing {
        remembers: true,
        original: false,
        has_room: true,
        term,
        last: Some(log_id(last_term, last_index)),
    }
}

/// Has nothing, in the directory that it had when the group was made.
const NEW: Standing = Standing {
    original: true,
    ..EMPTY
};

/// What broker `this`, whose log is empty, does when these answer.
fn check(voters: &[BrokerId], this: i32, others: &[(i32, Standing)], expected: Verdict) {
    check_own(EMPTY, voters, this, others, expected);
}

fn check_own(
    own: Standing,
    voters: &[BrokerId],
    this: i32,
    others: &[(i32, Standing)],
    expected: Verdict,
) {
    let others: BTreeMap<_, _> = others.iter().map(|(id, s)| (BrokerId(*id), *s)).collect();
    assert_eq!(decide(BrokerId(this), voters, own, &others, &[]), expected);
}

/// Broker 1 was configured with three voters of a group that has one, or has another in its place.
#[test]
fn the_voters_that_are_told_count_and_not_those_of_the_configuration() {
    let known = voter(2, 2, 9);
    let told = |others: &[(i32, Standing)], voters: &[BrokerId], members: &[&[i32]]| {
        let others: BTreeMap<_, _> = others.iter().map(|(id, s)| (BrokerId(*id), *s)).collect();
        let members = members
            .iter()
            .map(|ids| ids.iter().copied().map(BrokerId).collect());
        let members: Vec<Vec<_>> = members.collect();
        decide(BrokerId(1), voters, EMPTY, &others, &members)
    };
    let alone = [(0, known), (2, EMPTY)];
    assert_eq!(told(&alone, &THREE, &[&[0]]), rejoin(2, 2, 9));
    assert_eq!(told(&alone, &THREE, &[&[0, 1, 2]]), Verdict::Wait);
    let four = &FIVE[..4];
    let three = [(0, known), (2, known)];
    // Broker 3, which this one may have voted for, has not answered.
    assert_eq!(told(&three, four, &[&[0, 1, 2, 3]]), Verdict::Wait);
}

fn rejoin(term: u64, last_term: u64, last_index: u64) -> Verdict {
    Verdict::Rejoin(Goal {
        term,
        last: Some(log_id(last_term, last_index)),
    })
}

#[test]
fn a_new_group_is_formed_by_the_lowest_voter_once_every_voter_is_there() {
    check(&THREE, 0, &[], Verdict::Wait);
    let (form, wait_for_it) = (
        Verdict::Begin { form: true },
        Verdict::Begin { form: false },
    );
    check(&THREE, 0, &[(1, EMPTY), (2, EMPTY)], form);
    check(&THREE, 1, &[(0, EMPTY), (2, EMPTY)], wait_for_it);
    check(&THREE[..1], 0, &[], form);
}

/// The one that is down may hold the log of the group, and the others have lost it or never had it.
#[test]
fn voters_that_hold_nothing_form_no_group_while_one_is_down() {
    check(&THREE, 1, &[(2, EMPTY)], Verdict::Wait);
    check(&THREE, 1, &[(2, NEW)], Verdict::Wait);
    let three = [(1, EMPTY), (2, EMPTY), (3, EMPTY)];
    check(&FIVE, 0, &three, Verdict::Wait);
}

#[test]
fn a_majority_in_the_directories_that_the_group_was_made_in_forms_it() {
    let form = Verdict::Begin { form: true };
    check_own(NEW, &THREE, 1, &[(2, NEW)], form);
    check_own(NEW, &THREE, 1, &[(2, EMPTY)], Verdict::Wait);
    check_own(NEW, &FIVE, 0, &[(1, NEW), (2, EMPTY)], Verdict::Wait);
    check_own(NEW, &FIVE, 0, &[(1, NEW), (2, EMPTY), (3, NEW)], form);
}

#[test]
fn a_group_that_another_has_only_formed_is_new_still() {
    let formed = voter(1, 0, 0);
    check_own(NEW, &THREE, 1, &[(0, formed)], Verdict::Wait);
    check(
        &THREE,
        1,
        &[(0, formed), (2, EMPTY)],
        Verdict::Begin { form: false },
    );
}

#[test]
fn a_voter_that_lost_its_log_waits_for_every_other_voter() {
    let (ahead, behind) = (voter(4, 4, 90), voter(7, 3, 80));
    check(&THREE, 0, &[(1, ahead)], Verdict::Wait);
    check(&THREE, 0, &[(2, behind), (1, ahead)], rejoin(7, 4, 90));
}

#[test]
fn the_voters_that_answer_must_remember_in_a_majority() {
    let known = voter(2, 2, 9);
    check(&THREE, 0, &[(1, known), (2, EMPTY)], Verdict::Wait);
    let four = [(1, known), (2, known), (3, known), (4, EMPTY)];
    check(&FIVE, 0, &four, rejoin(2, 2, 9));
    check(
        &FIVE,
        0,
        &[(1, known), (2, known), (3, EMPTY), (4, EMPTY)],
        Verdict::Wait,
    );
}

#[test]
fn while_it_rejoins_a_voter_follows_no_leader_of_an_earlier_term() {
    let part = Part::Rejoining(Goal {
        term: 7,
        last: None,
    });
    assert!(!part.follows(6));
    assert!(part.follows(7));
    assert!(!Part::Unknown.follows(9));
}

#[test]
fn a_goal_is_there_after_a_restart_until_it_is_reached() {
    let dir = tempfile::tempdir().expect("directory");
    let goals = Goals::new(dir.path());
    let group = GroupId(3);
    for last in [None, Some(log_id(4, 90))] {
        let goal = Goal { term: 7, last };
        goals.put(group, goal).expect("written");
        assert_eq!(goals.get(group).expect("readable"), Some(goal));
    }
    goals.remove(group).expect("removed");
    assert_eq!(goals.get(group).expect("readable"), None);
    std::fs::write(dir.path().join("3.rejoin"), "7").expect("written");
    let damaged = goals.get(group).expect_err("refused");
    assert!(damaged.to_string().contains("empty the data directory"));
}

#[test]
fn a_standing_is_read_back() {
    let full = Standing {
        has_room: false,
        ..NEW
    };
    for standing in [EMPTY, NEW, full, voter(7, 6, 5)] {
        let mut bytes = bytes::BytesMut::new();
        codec::put_standing(&mut bytes, &standing);
        assert_eq!(codec::standing(&mut bytes.freeze()), Ok(standing));
    }
}
