use std::collections::BTreeMap;
use std::time::Duration;

use model::BrokerId;

use super::{CAMPAIGN, STEP, Step, View, decide};
use crate::peer::Alive;

const VOTERS: [BrokerId; 3] = [BrokerId(0), BrokerId(1), BrokerId(2)];

/// What broker `this` does when `up` answer and it holds `leader` to lead; broker 1 is preferred.
fn check(this: i32, up: &[i32], leader: Option<i32>, leading: bool, expected: Step) {
    check_campaigning(this, up, leader, leading, false, expected);
}

fn check_campaigning(
    this: i32,
    up: &[i32],
    leader: Option<i32>,
    leading: bool,
    campaigning: bool,
    expected: Step,
) {
    let peers: BTreeMap<_, _> = VOTERS
        .iter()
        .filter(|id| id.0 != this)
        .map(|id| (*id, up.contains(&id.0)))
        .collect();
    let step = decide(&View {
        this: BrokerId(this),
        voters: &VOTERS,
        preferred: BrokerId(1),
        leader: leader.map(BrokerId),
        leading,
        campaigning,
        alive: &Alive { peers },
    });
    assert_eq!(step, expected);
}

#[test]
fn a_follower_rests_while_its_leader_answers() {
    check(0, &[1, 2], Some(2), false, Step::Rest);
}

#[test]
fn the_preferred_voter_campaigns_first_and_the_others_in_turn() {
    check(1, &[0, 2], None, false, Step::Campaign(Duration::ZERO));
    check(2, &[0, 1], None, false, Step::Campaign(STEP));
    check(0, &[1, 2], None, false, Step::Campaign(STEP * 2));
}

#[test]
fn a_campaign_that_stands_is_given_time() {
    let next = |turn| Step::Campaign(CAMPAIGN + STEP * turn);
    check_campaigning(1, &[0, 2], None, false, true, next(0));
    check_campaigning(2, &[0, 1], None, false, true, next(1));
}

#[test]
fn a_voter_that_is_down_is_passed_over() {
    check(2, &[0], Some(1), false, Step::Campaign(Duration::ZERO));
    check(0, &[2], Some(1), false, Step::Campaign(STEP));
}

#[test]
fn nobody_campaigns_without_a_majority() {
    check(2, &[], Some(1), false, Step::Rest);
}

#[test]
fn a_leader_that_restarted_campaigns_though_its_vote_names_itself() {
    check(1, &[0, 2], Some(1), false, Step::Campaign(Duration::ZERO));
}

#[test]
fn a_leader_hands_over_to_the_preferred_voter_that_is_up() {
    check(0, &[1, 2], Some(0), true, Step::HandOver(BrokerId(1)));
    check(0, &[2], Some(0), true, Step::Rest);
    check(1, &[0, 2], Some(1), true, Step::Rest);
}
