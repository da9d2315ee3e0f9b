//! What becomes of a message that comes back.

use super::*;

#[test]
fn classic_requeue_goes_to_the_original_position() {
    let mut scene = Scene::classic();
    scene
        .put(1..=5)
        .attach(1, 3)
        .says("1<1 1<2 1<3")
        .cancel(1)
        .says("-1");
    for position in [2, 1, 3] {
        scene.settle(1, &[position], Outcome::Requeue);
    }
    scene.attach(2, 0).says("2<1r 2<2r 2<3r 2<4 2<5");
}

#[test]
fn quorum_requeue_goes_ahead_in_return_order() {
    let mut scene = Scene::quorum();
    scene
        .put(1..=5)
        .attach(1, 3)
        .says("1<1 1<2 1<3")
        .cancel(1)
        .says("-1");
    for position in [2, 1, 3] {
        scene.settle(1, &[position], Outcome::Requeue);
    }
    scene.attach(2, 0).says("2<2r1 2<1r1 2<3r1 2<4 2<5");
}

#[test]
fn quorum_without_limit_requeues_to_the_tail_but_a_lost_channel_to_the_head() {
    let unlimited = |config: &mut Config| config.delivery_limit = None;
    let mut scene = Scene::new(Kind::Quorum, unlimited);
    scene
        .put(1..=5)
        .attach(1, 3)
        .says("1<1 1<2 1<3")
        .cancel(1)
        .says("-1");
    for position in [2, 1, 3] {
        scene.settle(1, &[position], Outcome::Requeue);
    }
    scene.attach(2, 0).says("2<4 2<5 2<2r1 2<1r1 2<3r1");
    scene.leave(2).attach(3, 0);
    scene.says("3<4r1 3<5r1 3<2r2 3<1r2 3<3r2");
}

#[test]
fn lost_consumer_gives_back_in_delivery_order() {
    let mut scene = Scene::quorum();
    scene.enqueue(1, None, Some(0));
    scene.enqueue(2, None, Some(9));
    scene.enqueue(3, None, None);
    scene.attach(1, 0).says("1<2 1<3 1<1");
    scene.leave(1).attach(2, 0).says("2<2r1 2<3r1 2<1r1");
}

#[test]
fn delivery_limit_n_means_n_plus_one_deliveries() {
    let limit = |config: &mut Config| config.delivery_limit = Some(3);
    let mut scene = Scene::new(Kind::Quorum, limit);
    scene.put([1]).attach(1, 1).says("1<1");
    for again in ["1<1r1", "1<1r2", "1<1r3"] {
        scene.settle(1, &[1], Outcome::Requeue).says(again);
    }
    scene
        .settle(1, &[1], Outcome::Requeue)
        .says("1!deliverylimit");
    assert_eq!(
        (scene.machine.ready_len(), scene.machine.unacked_len()),
        (0, 0)
    );
}

#[test]
fn a_moved_attachment_does_not_count_towards_the_limit() {
    let limit = |config: &mut Config| config.delivery_limit = Some(0);
    let mut scene = Scene::new(Kind::Quorum, limit);
    scene.put([1]).attach(1, 1).says("1<1");
    let effects = &mut scene.effects;
    scene.machine.leave(NOW, key(1), false, effects);
    scene
        .attach(2, 1)
        .says("2<1r")
        .leave(2)
        .says("1!deliverylimit");
}

#[test]
fn reject_dies_in_the_order_asked() {
    let mut scene = Scene::classic();
    scene.put(1..=3).attach(1, 0).says("1<1 1<2 1<3");
    scene.settle(1, &[3, 1, 2], Outcome::Reject);
    scene.says("3!rejected 1!rejected 2!rejected");
}

#[test]
fn a_withdrawn_message_is_not_delivered_and_its_neighbours_keep_their_times() {
    let mut scene = Scene::classic();
    scene.put(1..=2);
    scene.now_ms += 5;
    scene.enqueue(3, Some(10), None);
    scene.put([4]);
    assert!(scene.machine.withdraw(3));
    assert!(scene.machine.withdraw(1));
    assert!(!scene.machine.withdraw(3));
    assert_eq!(
        (scene.machine.ready_len(), scene.machine.ready_bytes()),
        (2, 20)
    );
    assert_eq!(scene.machine.next_deadline_ms(), None);
    assert_eq!(scene.machine.oldest_ready_ms(), Some(NOW));
    scene.attach(1, 1).says("1<2");
    assert_eq!(scene.machine.oldest_ready_ms(), Some(NOW + 5));
    assert!(!scene.machine.withdraw(2), "a consumer has it");
}
