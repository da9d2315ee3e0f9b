#![allow(clippy::unwrap_used)]

use std::net::IpAddr;
use std::path::Path;

use super::{Logins, UsersError};
use crate::amqp::users_file_line;

/// As Kubernetes does it: another file takes the name.
fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, file).unwrap();
}

async fn enters(logins: &Logins, name: &str) -> bool {
    let users = logins.users().await;
    users.allow(name, b"secret", IpAddr::from([10, 0, 0, 1]))
}

#[tokio::test]
async fn a_change_of_the_file_holds_from_the_next_login_on() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users");
    replace(&file, &users_file_line("ann", b"secret"));
    let logins = Logins::of(Some(file.clone()), false).unwrap();
    assert!(enters(&logins, "ann").await);
    replace(&file, &users_file_line("bob", b"secret"));
    assert!(enters(&logins, "bob").await);
    assert!(!enters(&logins, "ann").await);
}

#[tokio::test]
async fn a_file_that_cannot_be_used_changes_nothing_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users");
    replace(&file, &users_file_line("ann", b"secret"));
    let logins = Logins::of(Some(file.clone()), false).unwrap();
    replace(&file, "bob");
    assert!(enters(&logins, "ann").await);
    std::fs::remove_file(&file).unwrap();
    assert!(enters(&logins, "ann").await);
    replace(&file, &users_file_line("bob", b"secret"));
    assert!(enters(&logins, "bob").await);
    assert!(!enters(&logins, "ann").await);
}

#[test]
fn a_broker_does_not_start_on_a_file_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users");
    let absent = Logins::of(Some(file.clone()), false).err();
    assert!(matches!(absent, Some(UsersError::Unreadable { .. })));
    replace(&file, "ann");
    let invalid = Logins::of(Some(file), false).err();
    assert!(matches!(invalid, Some(UsersError::Invalid { .. })));
}
