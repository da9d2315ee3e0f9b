use std::collections::BTreeMap;

use machine::metadata::command::Reply;

use super::*;

const HERE: BrokerId = BrokerId(0);
const OTHER: BrokerId = BrokerId(1);

/// Steps of broker 0, when broker 1 is registered and let in with directory 7.
fn steps(answers: bool, directory: u128, unclean_default: bool) -> Vec<Step> {
    let mut image = Image::genesis();
    let register = Command::RegisterBroker {
        id: OTHER,
        incarnation: Uuid::from_u128(7),
        rack: None,
        endpoints: Vec::new(),
        previous_epoch: None,
        levels: machine::metadata::feature::Levels::BUILD,
    };
    let Reply::Registered { epoch } = image.apply(register, 0, 1) else {
        panic!("not registered");
    };
    image.apply(Command::UnfenceBroker { id: OTHER, epoch }, 0, 2);
    let alive = Alive {
        peers: BTreeMap::from([(OTHER, answers)]),
    };
    let incarnation = |_| Some(Uuid::from_u128(directory));
    let members = Status {
        voters: vec![HERE, OTHER],
        ..Status::default()
    };
    image.in_sync_default = Some(1);
    let defaults = Defaults {
        unclean: unclean_default,
        in_sync_min: 1,
    };
    decide(&image, &alive, HERE, &members, incarnation, defaults)
}

#[test]
fn a_broker_is_fenced_when_it_is_gone_or_another_directory_answers_for_it() {
    assert_eq!(steps(true, 7, false), []);
    assert_eq!(steps(false, 7, false), [Step::Fence(OTHER, 0)]);
    assert_eq!(steps(true, 8, false), [Step::Fence(OTHER, 0)]);
}

#[test]
fn the_leader_has_its_default_of_unclean_elections_adopted() {
    assert_eq!(steps(true, 7, true), [Step::AdoptUncleanDefault(true)]);
}

#[test]
fn a_learner_that_is_not_registered_is_forgotten_once_it_is_gone() {
    let members = Status {
        learners: vec![OTHER],
        ..Status::default()
    };
    let mut image = Image::genesis();
    image.in_sync_default = Some(1);
    let defaults = Defaults {
        unclean: false,
        in_sync_min: 1,
    };
    let steps = |answers| {
        let alive = Alive {
            peers: BTreeMap::from([(OTHER, answers)]),
        };
        decide(&image, &alive, HERE, &members, |_| None, defaults)
    };
    assert_eq!(steps(true), []);
    assert_eq!(steps(false), [Step::Forget(OTHER)]);
}

#[test]
fn the_leader_has_its_requirement_of_in_sync_replicas_adopted_from_the_beginning() {
    let alive = Alive {
        peers: BTreeMap::new(),
    };
    let defaults = Defaults {
        unclean: false,
        in_sync_min: 2,
    };
    let members = Status::default();
    let steps = decide(
        &Image::genesis(),
        &alive,
        HERE,
        &members,
        |_| None,
        defaults,
    );
    assert_eq!(steps, [Step::AdoptInSyncDefault(2)]);
}
