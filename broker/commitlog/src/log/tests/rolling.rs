//! When the active segment is closed.

use super::*;

#[test]
fn active_segment_is_closed_by_time() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        segment_ms: 100,
        ..Config::default()
    };
    let mut log = filled(dir.path(), config, 3);
    assert!(!log.roll_if_due(5000).unwrap());
    assert!(!log.roll_if_due(5099).unwrap());
    assert!(log.roll_if_due(5100).unwrap());
    assert!(!log.roll_if_due(9000).unwrap(), "an empty one stays");
    assert_eq!(segment_files(dir.path()), 2);
    log.append(&[one(3, 0, 0)]).unwrap();
    log.rest();
    assert_eq!(offsets(log.read(Offset(0), 1 << 20).unwrap()), [0, 1, 2, 3]);
}

#[test]
fn a_record_so_much_younger_than_the_first_begins_a_segment_whenever_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        segment_ms: 100,
        ..Config::default()
    };
    // Long ago: as they were then, whatever the clock says now.
    let mut log = open(dir.path(), config.clone());
    log.append(&[one(0, 0, 1000), one(1, 0, 1100), one(2, 0, 1050)])
        .unwrap();
    assert_eq!(segment_files(dir.path()), 1);
    log.append(&[one(3, 0, 1101), one(4, 0, 1102)]).unwrap();
    assert_eq!(segment_files(dir.path()), 2);
    drop(log);
    // What is known of the first record is found again.
    let mut log = open(dir.path(), config);
    log.append(&[one(5, 0, 1201)]).unwrap();
    assert_eq!(segment_files(dir.path()), 2);
    log.append(&[one(6, 0, 1202)]).unwrap();
    assert_eq!(segment_files(dir.path()), 3);
}

#[test]
fn age_of_the_active_segment_outlives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        segment_ms: 100,
        ..Config::default()
    };
    drop(filled(dir.path(), config.clone(), 3));
    let mut log = open(dir.path(), config.clone());
    assert!(!log.roll_if_due(1099).unwrap());
    assert!(log.roll_if_due(1100).unwrap());
    // A clock that was ahead: the file was there when it was written, no later.
    log.append(&[one(3, 0, i64::MAX)]).unwrap();
    let written = log.active.modified_ms().unwrap();
    drop(log);
    let mut log = open(dir.path(), config);
    assert!(log.roll_if_due(written + 100).unwrap());
}

#[test]
fn jitter_closes_segments_earlier_each_by_another_part_of_it() {
    let config = Config {
        segment_ms: 1000,
        segment_jitter_ms: 400,
        ..Config::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let lifetimes: std::collections::BTreeSet<i64> = (0..20)
        .map(|i| {
            let mut log = filled(&dir.path().join(i.to_string()), config.clone(), 1);
            assert!(!log.roll_if_due(0).unwrap());
            (600..=1000)
                .find(|now| log.roll_if_due(*now).unwrap())
                .unwrap()
        })
        .collect();
    assert!(lifetimes.len() > 10, "{lifetimes:?}");
}
