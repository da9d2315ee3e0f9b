use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;

use super::{PROGRESS_BYTES, Progress, Room};

#[test]
fn a_full_room_lets_in_one_at_a_time_and_the_next_in_order() {
    let room = Room::new(100);
    let mut first = room.claim();
    assert!(first.try_admit());
    first.set(100);
    let (mut beyond, mut second, mut third) = (room.claim(), room.claim(), room.claim());
    assert!(beyond.try_admit());
    beyond.set(70);
    assert!(beyond.try_admit(), "who is in goes on to its end");
    let mut second = Box::pin(second.admit());
    let mut third = Box::pin(third.admit());
    assert!(second.as_mut().now_or_never().is_none());
    assert!(third.as_mut().now_or_never().is_none());
    drop(beyond);
    assert!(third.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_some());
    assert!(third.as_mut().now_or_never().is_none());
    first.set(99);
    assert!(third.as_mut().now_or_never().is_some());
}

#[test]
fn what_is_merged_or_dropped_is_counted_once() {
    let room = Room::new(100);
    let (mut reply, mut outbox) = (room.claim(), room.claim());
    outbox.set(30);
    reply.set(70);
    let mut late = room.claim();
    assert!(late.try_admit());
    drop(late);
    outbox.merge(reply);
    assert_eq!((outbox.bytes(), room.free_bytes()), (100, 0));
    assert!(room.filled().now_or_never().is_some());
    outbox.set(10);
    assert!(room.filled().now_or_never().is_none());
    drop(outbox);
    assert_eq!(room.free_bytes(), 100);
}

#[test]
fn drops_are_no_progress() {
    let begun = Instant::now();
    let at = |seconds| begun + Duration::from_secs(seconds);
    let patience = Duration::from_secs(5);
    let mut progress = Progress::default();
    assert!(!progress.is_late(at(60), patience), "nothing is owed");
    progress.since(begun);
    progress.moved(PROGRESS_BYTES - 1, at(4));
    assert!(progress.is_late(at(5), patience));
    progress.moved(1, at(5));
    assert!(!progress.is_late(at(9), patience));
    progress.rest();
    assert!(!progress.is_late(at(60), patience));
}
