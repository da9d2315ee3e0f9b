//! Who gets which message.

use super::*;

#[test]
fn consumers_of_one_priority_take_turns() {
    let mut scene = Scene::classic();
    scene.attach(1, 0).attach(2, 0).attach(3, 0).put(1..=5);
    scene.says("1<1 2<2 3<3 1<4 2<5");
}

#[test]
fn prefetch_bounds_what_a_consumer_holds() {
    let mut scene = Scene::classic();
    scene.put(1..=5).attach(1, 2).says("1<1 1<2");
    scene.settle(1, &[1], Outcome::Ack).says("1ok 1<3");
    scene.attach(2, 1).says("2<4");
    assert_eq!(
        (scene.machine.ready_len(), scene.machine.unacked_len()),
        (1, 3)
    );
    scene.settle(1, &[2, 3], Outcome::Ack).says("2ok 3ok 1<5");
}

#[test]
fn higher_consumer_priority_is_served_first_while_it_has_credit() {
    let mut scene = Scene::classic();
    scene.attach_with(1, 0, 0).attach_with(2, 2, 10).put(1..=4);
    scene.says("2<1 2<2 1<3 1<4");
    scene
        .settle(2, &[1], Outcome::Ack)
        .says("1ok")
        .put([5])
        .says("2<5");
}

#[test]
fn settling_what_is_not_held_changes_nothing() {
    let mut scene = Scene::classic();
    scene.put([1]).attach(1, 0).attach(2, 0).says("1<1");
    scene
        .settle(2, &[1], Outcome::Ack)
        .settle(1, &[9], Outcome::Ack)
        .says("");
    scene.settle(1, &[1, 1], Outcome::Ack).says("1ok");
}

#[test]
fn cancelled_consumer_keeps_what_it_holds_until_it_leaves() {
    let mut scene = Scene::classic();
    scene
        .put(1..=3)
        .attach(1, 2)
        .says("1<1 1<2")
        .cancel(1)
        .says("-1");
    assert_eq!(scene.machine.consumer_count(), 0);
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.leave(1).attach(2, 0).says("2<2r 2<3");
}

#[test]
fn exclusive_consumer_admits_no_other() {
    let mut scene = Scene::classic();
    scene.attach(1, 0);
    let exclusive = Attach {
        key: key(2),
        exclusive: true,
        prefetch: 0,
        window: 0,
        window_bytes: 0,
        priority: 0,
    };
    let effects = &mut scene.effects;
    assert_eq!(
        scene.machine.attach(NOW, exclusive, effects),
        Err(ExclusiveInUse)
    );
    scene.machine.cancel(NOW, key(1), effects);
    assert_eq!(scene.machine.attach(NOW, exclusive, effects), Ok(()));
    let second = Attach {
        key: key(3),
        exclusive: false,
        ..exclusive
    };
    assert_eq!(
        scene.machine.attach(NOW, second, effects),
        Err(ExclusiveInUse)
    );
}

#[test]
fn single_active_consumer_is_followed_by_the_next() {
    let single = |config: &mut Config| config.single_active_consumer = true;
    let mut scene = Scene::new(Kind::Classic, single);
    scene
        .attach(1, 1)
        .attach(2, 1)
        .attach(3, 1)
        .put(1..=3)
        .says("1<1");
    scene.leave(1).says("2<1r");
    scene.settle(2, &[1], Outcome::Ack).says("1ok 2<2");
    scene.cancel(2).says("-2 3<3");
}

#[test]
fn quorum_single_active_consumer_drains_for_a_higher_priority() {
    let single = |config: &mut Config| config.single_active_consumer = true;
    let mut scene = Scene::new(Kind::Quorum, single);
    scene.attach_with(1, 2, 0).put(1..=4).says("1<1 1<2");
    scene.attach_with(2, 1, 5).says("");
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.settle(1, &[2], Outcome::Ack).says("2ok 2<3");
}

#[test]
fn classic_priorities_clamp_and_default_to_zero() {
    let mut scene = Scene::new(Kind::Classic, |config| config.priorities = 5);
    scene.enqueue(1, None, None);
    scene.enqueue(2, None, Some(9));
    scene.enqueue(3, None, Some(5));
    scene.enqueue(4, None, Some(1));
    scene.attach(1, 0).says("1<2 1<3 1<4 1<1");
}

#[test]
fn get_takes_one_and_says_how_many_are_left() {
    let mut scene = Scene::classic();
    scene.put(1..=3);
    let got = scene.machine.get(NOW, key(9), false, &mut scene.effects);
    assert_eq!(got.map(|got| (got.position, got.left)), Some((1, 2)));
    let got = scene.machine.get(NOW, key(9), true, &mut scene.effects);
    assert_eq!(got.map(|got| (got.position, got.left)), Some((2, 1)));
    scene.says("2ok").leave(9).attach(1, 0).says("1<1r 1<3");
}
