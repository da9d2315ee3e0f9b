//! When a queue that nobody uses is to be deleted.

use super::*;

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
