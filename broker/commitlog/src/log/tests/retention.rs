//! What is deleted because it is old or there is too much of it.

use super::*;

#[test]
fn old_segments_go_by_time_even_without_traffic() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        retention_ms: Some(100),
        delete_delay_ms: 50,
        ..small()
    };
    let mut log = filled(dir.path(), config, 20);
    assert_eq!(log.apply_retention(1100, Offset(20)).unwrap(), None);
    let start = log.apply_retention(1112, Offset(20)).unwrap().unwrap();
    assert!(start > Offset(0) && start < Offset(13), "{start}");
    assert!(matches!(
        log.read(Offset(0), 1),
        Err(Error::OutOfRange { .. })
    ));
    assert_eq!(
        log.apply_retention(5000, Offset(20)).unwrap(),
        Some(Offset(20))
    );
    assert_eq!(
        (log.start_offset(), log.end_offset()),
        (Offset(20), Offset(20))
    );
    assert_eq!(log.reader().size_bytes(), 0);
    let waiting = log.retired.len();
    log.remove_retired(5050).unwrap();
    assert!(waiting > 0 && log.retired.is_empty(), "{waiting}");
    assert_eq!(segment_files(dir.path()), 1);
    drop(log);
    let log = open(dir.path(), small());
    assert_eq!(
        (log.start_offset(), log.end_offset()),
        (Offset(20), Offset(20))
    );
}

#[test]
fn nothing_above_the_given_offset_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        retention_ms: Some(0),
        retention_bytes: Some(0),
        ..small()
    };
    let mut log = filled(dir.path(), config, 20);
    let start = log.apply_retention(1 << 40, Offset(9)).unwrap().unwrap();
    assert!(start <= Offset(9), "{start}");
    assert_eq!(log.end_offset(), Offset(20));
}

#[test]
fn size_bound_keeps_the_newest_segments() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        retention_ms: None,
        retention_bytes: Some(500),
        ..small()
    };
    let mut log = filled(dir.path(), config, 40);
    log.apply_retention(0, Offset(40)).unwrap().unwrap();
    assert!(log.reader().size_bytes() >= 500);
    assert!(log.reader().size_bytes() < 500 + 400);
    assert_eq!(
        offsets(log.read(log.start_offset(), 1 << 20).unwrap()).last(),
        Some(&39)
    );
}

#[test]
fn bound_of_nothing_keeps_nothing_that_is_committed() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        retention_bytes: Some(0),
        ..small()
    };
    let mut log = filled(dir.path(), config, 20);
    assert_eq!(
        log.apply_retention(0, Offset(20)).unwrap(),
        Some(Offset(20))
    );
    assert_eq!(
        (log.end_offset(), log.reader().size_bytes()),
        (Offset(20), 0)
    );
}

#[test]
fn a_record_of_the_future_keeps_its_segment_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        retention_ms: Some(100),
        ..Config::default()
    };
    let mut log = open(dir.path(), config);
    log.append(&[one(0, 0, 1000), one(1, 0, 9000), one(2, 0, 1000)])
        .unwrap();
    assert_eq!(log.apply_retention(9100, Offset(3)).unwrap(), None);
    assert_eq!(
        log.apply_retention(9101, Offset(3)).unwrap(),
        Some(Offset(3))
    );
}
