use std::collections::BTreeMap;
use std::time::Duration;

use model::BrokerId;

use super::{CAMPAIGN, HAND_OVER_AFTER, OFFER_AGAIN, STANDING, STEP, Step, View, decide};
use crate::peer::Alive;

const VOTERS: [BrokerId; 3] = [BrokerId(0), BrokerId(1), BrokerId(2)];

static NOBODY: Alive = Alive {
    peers: BTreeMap::new(),
};

/// Broker 1 follows nobody yet.
const AT_EASE: View<'static> = View {
    this: BrokerId(1),
    voters: &VOTERS,
    may_vote: true,
    preferred: BrokerId(1),
    leader: None,
    leading: false,
    voted_for: None,
    unfit: false,
    passed: 0,
    offers: 0,
    alive: &NOBODY,
};

/// What broker `this` does when `up` answer and it holds `leader` to lead; broker 1 is preferred.
fn check(this: i32, up: &[i32], leader: Option<i32>, leading: bool, expected: Step) {
    check_amid(this, up, leader, leading, (None, 0), expected);
}

/// As [`check`], after a vote that has made no leader, or after offers of its leadership in vain.
fn check_amid(
    this: i32,
    up: &[i32],
    leader: Option<i32>,
    leading: bool,
    (voted_for, offers): (Option<i32>, usize),
    expected: Step,
) {
    let peers: BTreeMap<_, _> = VOTERS
        .iter()
        .filter(|id| id.0 != this)
        .map(|id| (*id, up.contains(&id.0)))
        .collect();
    let step = decide(&View {
        this: BrokerId(this),
        leader: leader.map(BrokerId),
        leading,
        voted_for: voted_for.map(BrokerId),
        offers,
        alive: &Alive { peers },
        ..AT_EASE
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
    let next = |turn| Step::Campaign(STANDING + STEP * turn);
    check_amid(1, &[0, 2], None, false, (Some(1), 0), next(0));
    check_amid(2, &[0, 1], None, false, (Some(2), 0), next(1));
}

#[test]
fn a_vote_given_to_a_rival_that_lives_is_not_taken_back_at_once() {
    let next = |after| Step::Campaign(after);
    check_amid(1, &[0, 2], None, false, (Some(2), 0), next(CAMPAIGN));
    check_amid(1, &[0], None, false, (Some(2), 0), next(Duration::ZERO));
}

#[test]
fn a_voter_that_is_down_is_passed_over() {
    check(2, &[0], Some(1), false, Step::Campaign(Duration::ZERO));
    check(0, &[2], Some(1), false, Step::Campaign(STEP));
}

#[test]
fn a_voter_that_rejoins_does_not_campaign() {
    let peers = BTreeMap::from([(BrokerId(0), true), (BrokerId(2), true)]);
    let step = decide(&View {
        may_vote: false,
        alive: &Alive { peers },
        ..AT_EASE
    });
    assert_eq!(step, Step::Rest);
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
    let step = Step::HandOver(BrokerId(1), HAND_OVER_AFTER);
    check(0, &[1, 2], Some(0), true, step);
    check(0, &[2], Some(0), true, Step::Rest);
    check(1, &[0, 2], Some(1), true, Step::Rest);
}

/// It refuses writes since the first offer: to rest would be to refuse them for ever.
#[test]
fn a_leader_whose_offer_was_not_taken_offers_to_the_others_in_turn() {
    let offer = |to| Step::HandOver(BrokerId(to), OFFER_AGAIN);
    check_amid(0, &[1, 2], Some(0), true, (None, 1), offer(2));
    check_amid(0, &[1, 2], Some(0), true, (None, 2), offer(1));
    check_amid(0, &[2], Some(0), true, (None, 1), offer(2));
    check_amid(0, &[2], Some(0), true, (None, 2), offer(2));
    check_amid(0, &[], Some(0), true, (None, 1), Step::Rest);
}

#[test]
fn a_leader_whose_disk_is_full_looks_for_a_voter_to_hand_over_to() {
    let peers = BTreeMap::from([(BrokerId(0), true), (BrokerId(2), true)]);
    let alive = Alive { peers };
    let full = View {
        leader: Some(BrokerId(1)),
        leading: true,
        unfit: true,
        alive: &alive,
        ..AT_EASE
    };
    let offer = |to| Step::HandOver(BrokerId(to), OFFER_AGAIN);
    for (passed, to) in [(0, 2), (1, 0), (2, 2)] {
        let view = View {
            passed,
            ..full.clone()
        };
        assert_eq!(decide(&view), offer(to));
    }
    let alone = View {
        alive: &NOBODY,
        ..full
    };
    assert_eq!(decide(&alone), Step::Rest);
}

#[test]
fn a_voter_whose_disk_is_full_campaigns_after_the_others() {
    let peers = BTreeMap::from([(BrokerId(0), true), (BrokerId(2), true)]);
    let step = decide(&View {
        unfit: true,
        alive: &Alive { peers },
        ..AT_EASE
    });
    assert_eq!(step, Step::Campaign(STEP * 3));
}
