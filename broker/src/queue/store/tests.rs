//! Failures of the disk under one queue's bodies.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use commitlog::Shutdown;

use super::{Config, Store};
use crate::queue::message::Message;
use crate::queue::testing::{message, text, transient};

fn store(dir: &Path) -> Store {
    let mut store = Store::new(Config {
        dir: dir.to_owned(),
        opened_after: Shutdown::Unclean,
        cache_bytes_max: 1 << 20,
    });
    store.open().unwrap();
    store
}

fn put(store: &mut Store, message: Message) {
    let durable = message.persistent;
    store.put(1, Arc::new(message), durable, false);
}

fn sync(store: &mut Store) -> Result<(), commitlog::Error> {
    let task = store.begin_sync().unwrap().unwrap();
    task.run().map(|_| ())
}

#[track_caller]
fn check(store: &mut Store, expected: &[(u64, &str)]) {
    for (position, body) in expected {
        let message = store.get(*position).unwrap().unwrap();
        assert_eq!(text(&message), *body);
    }
}

#[test]
fn an_append_that_failed_is_written_later() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("q");
    let mut queue = store(&dir);
    std::fs::write(&dir, "no directory").unwrap();
    put(&mut queue, message("0"));
    queue.append().unwrap_err();
    assert!(!queue.is_broken());
    check(&mut queue, &[(0, "0")]);
    std::fs::remove_file(&dir).unwrap();
    assert!(queue.append().unwrap());
    queue.close().unwrap();
    check(&mut store(&dir), &[(0, "0")]);
}

#[test]
fn what_is_in_doubt_after_a_failed_sync_is_written_again_as_far_as_it_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("q");
    let mut queue = store(&dir);
    for body in ["0", "1"] {
        put(&mut queue, message(body));
    }
    queue.append().unwrap();
    sync(&mut queue).unwrap();
    for body in ["2", "3"] {
        put(&mut queue, message(body));
    }
    put(&mut queue, transient("4"));
    queue.settle(0);
    queue.append().unwrap();
    let point = dir.join("recovery-point");
    let synced = std::fs::read(&point).unwrap();
    std::fs::remove_file(&point).unwrap();
    std::fs::create_dir(&point).unwrap();
    sync(&mut queue).unwrap_err();
    assert!(queue.is_broken());
    // The settlement took a place, too.
    let last = queue.next();
    put(&mut queue, message("last"));
    queue.append().unwrap_err();
    let needed = [1, 3, 4, last];
    queue.reopen(1, needed.into_iter()).unwrap_err();
    check(&mut queue, &[(3, "3"), (4, "4"), (last, "last")]);
    std::fs::remove_dir(&point).unwrap();
    std::fs::write(&point, synced).unwrap();
    queue.reopen(1, needed.into_iter()).unwrap();
    assert!(queue.append().unwrap());
    sync(&mut queue).unwrap();
    check(&mut queue, &[(1, "1"), (3, "3"), (4, "4"), (last, "last")]);
    assert!(queue.get(2).unwrap().is_none());
    drop(queue);
    let mut again = Store::new(Config {
        dir,
        opened_after: Shutdown::Unclean,
        cache_bytes_max: 0,
    });
    let restored: Vec<u64> = again.open().unwrap().iter().map(|m| m.position).collect();
    assert_eq!(restored, [1, 3, last]);
}

#[test]
fn a_body_that_left_memory_is_read_from_its_new_place_until_it_is_settled() {
    let dir = tempfile::tempdir().unwrap();
    let mut queue = store(&dir.path().join("q"));
    for body in ["0", "1", "2"] {
        queue.put(1, Arc::new(transient(body)), false, true);
    }
    assert!(queue.evict(1) > 0);
    check(&mut queue, &[(0, "0"), (2, "2")]);
    assert!(queue.append().unwrap());
    queue.evict(usize::MAX);
    queue.append().unwrap();
    assert_eq!(queue.held_bytes(), 0);
    check(&mut queue, &[(2, "2"), (0, "0"), (1, "1")]);
    queue.settle(1);
    assert!(queue.get(1).unwrap().is_none());
    check(&mut queue, &[(2, "2")]);
}
