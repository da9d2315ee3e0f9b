//! When a queue that nobody uses is to be deleted.

use super::*;
use crate::queue::disuse::AGAIN_MS;

#[test]
fn auto_delete_fires_after_the_last_of_some_consumers() {
    let mut scene = Scene::new(Kind::Classic, |config| config.auto_delete = true);
    scene.tick(NOW).says("");
    scene.attach(1, 0).attach(2, 0).cancel(1).says("-1");
    scene.leave(2).says("unused");
}

#[test]
fn unused_queue_expires_and_use_resets_the_clock() {
    let mut scene = Scene::new(Kind::Classic, |config| config.expires_ms = Some(100));
    scene.tick(NOW + 60).says("");
    scene
        .machine
        .get(NOW + 60, key(9), true, &mut scene.effects);
    scene.tick(NOW + 159).says("");
    assert_eq!(scene.machine.next_deadline_ms(), Some(NOW + 160));
    scene.tick(NOW + 160).says("unused");
}

#[test]
fn an_unused_queue_that_stays_says_so_again_until_it_is_used() {
    let mut scene = Scene::new(Kind::Classic, |config| config.auto_delete = true);
    scene.attach(1, 0).leave(1).says("unused");
    let again = NOW + AGAIN_MS;
    assert_eq!(scene.machine.next_deadline_ms(), Some(again));
    scene.tick(again - 1).says("");
    scene.tick(again).says("unused");
    scene.attach(2, 0);
    assert_eq!(scene.machine.next_deadline_ms(), None);
    scene.tick(again + AGAIN_MS).says("");
    scene.leave(2).says("unused");
}

#[test]
fn an_expired_queue_that_stays_says_so_again_at_intervals() {
    let mut scene = Scene::new(Kind::Quorum, |config| config.expires_ms = Some(100));
    scene.tick(NOW + 100).says("unused");
    let again = NOW + 100 + AGAIN_MS;
    assert_eq!(scene.machine.next_deadline_ms(), Some(again));
    scene.tick(again).says("unused");
    scene.machine.get(again, key(9), true, &mut scene.effects);
    scene.tick(again + 99).says("");
}
