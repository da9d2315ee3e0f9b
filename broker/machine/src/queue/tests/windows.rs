//! Consumers without prefetch limit are bounded by what their sockets have not taken.

use super::*;

#[test]
fn windowed_consumer_waits_for_its_socket() {
    let mut scene = Scene::classic();
    let attach = Attach {
        key: key(1),
        exclusive: false,
        prefetch: 0,
        window: 2,
        window_bytes: 0,
        priority: 0,
    };
    scene
        .machine
        .attach(NOW, attach, &mut scene.effects)
        .unwrap();
    scene.put(1..=4).says("1<1 1<2");
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.machine.written(NOW, key(1), 2, &mut scene.effects);
    scene.says("1<3 1<4");
}

/// A consumer with a window of 25 bytes; messages of the scene have 10.
fn attach_windowed(scene: &mut Scene, prefetch: u32, window: u32) {
    let attach = Attach {
        key: key(1),
        exclusive: false,
        prefetch,
        window,
        window_bytes: 25,
        priority: 0,
    };
    let effects = &mut scene.effects;
    scene.machine.attach(NOW, attach, effects).unwrap();
}

#[test]
fn a_window_in_bytes_is_left_by_the_delivery_that_exceeds_it() {
    let mut scene = Scene::classic();
    attach_windowed(&mut scene, 0, 100);
    scene.put(1..=6).says("1<1 1<2 1<3");
    scene.settle(1, &[1], Outcome::Ack).says("1ok");
    scene.machine.written(NOW, key(1), 1, &mut scene.effects);
    scene.says("1<4");
    scene.machine.written(NOW, key(1), 3, &mut scene.effects);
    scene.says("1<5 1<6");
}

#[test]
fn a_consumer_without_acks_is_bounded_by_the_bytes_it_has_not_written() {
    let mut scene = Scene::classic();
    attach_windowed(&mut scene, 100, 0);
    scene.put(1..=5).says("1<1 1<2 1<3");
    scene.settle(1, &[1, 2, 3], Outcome::Ack);
    scene.says("1ok 2ok 3ok 1<4 1<5");
}

#[test]
fn deliveries_that_were_lost_on_the_way_leave_the_window() {
    let mut scene = Scene::classic();
    attach_windowed(&mut scene, 0, 2);
    scene.put(1..=3).says("1<1 1<2");
    let effects = &mut scene.effects;
    scene.machine.resume(NOW, key(1), &[], effects);
    scene.says("1<1r 1<2r");
}
