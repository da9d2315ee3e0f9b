#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::{fs, path::Path};

use crate::{
    Config, Error, Log, Recovered, Shutdown,
    log::tests::{many, one},
};
use model::Offset;

fn open(dir: &Path) -> Result<(Log, Recovered), Error> {
    Log::open(
        dir,
        Config {
            segment_bytes: 100_000,
            ..Config::default()
        },
    )
}

/// The only segment file.
fn file(dir: &Path) -> std::path::PathBuf {
    dir.join("00000000000000000000.log")
}

/// Ten batches of three records; the first `synced` of them are durable.
fn written(dir: &Path, synced: i64) -> Vec<u8> {
    let mut log = open(dir).unwrap().0;
    for i in 0..10 {
        log.append(&[many(i * 3, 1, i, 3)]).unwrap();
        if i + 1 == synced {
            log.sync().unwrap();
        }
    }
    drop(log);
    fs::read(file(dir)).unwrap()
}

#[test]
fn log_torn_at_any_byte_of_its_last_batch_ends_before_that_batch() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = written(dir.path(), 9);
    let last = many(27, 1, 9, 3).len();
    for cut in bytes.len() - last..bytes.len() {
        fs::write(file(dir.path()), &bytes[..cut]).unwrap();
        let (mut log, recovered) = open(dir.path()).unwrap();
        assert_eq!(log.end_offset(), Offset(27), "cut at {cut}");
        let left = cut - (bytes.len() - last);
        assert_eq!(recovered.cut_bytes, left as u64);
        log.append(&[one(27, 2, 0)]).unwrap();
        assert_eq!(log.read(Offset(27), 1).unwrap(), [one(27, 2, 0)]);
    }
}

#[test]
fn any_flipped_byte_of_an_unsynced_batch_cuts_from_that_batch_on() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = written(dir.path(), 5);
    let size = bytes.len() / 10;
    for at in size * 7..size * 8 {
        let mut bent = bytes.clone();
        bent[at] ^= 0x55;
        fs::write(file(dir.path()), &bent).unwrap();
        let (log, _) = open(dir.path()).unwrap();
        // The leader epoch, at 12 to 15, is the one field outside base offset, length and seal.
        let field = at - size * 7;
        if !(12..16).contains(&field) {
            assert_eq!(log.end_offset(), Offset(21), "byte {field}");
        }
    }
}

#[test]
fn zeroes_behind_the_last_batch_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = written(dir.path(), 10);
    bytes.extend([0; 4096]);
    fs::write(file(dir.path()), &bytes).unwrap();
    let (log, recovered) = open(dir.path()).unwrap();
    assert_eq!(log.end_offset(), Offset(30));
    assert_eq!(recovered.cut_bytes, 4096);
}

#[test]
fn damage_below_the_recovery_point_is_reported_and_nothing_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = written(dir.path(), 10);
    let mut bent = bytes.clone();
    let at = bent.len() / 2;
    bent[at] ^= 1;
    fs::write(file(dir.path()), &bent).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Corrupt {
                offset: Offset(15),
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(fs::read(file(dir.path())).unwrap(), bent);
    fs::write(file(dir.path()), &bytes).unwrap();
    assert_eq!(open(dir.path()).unwrap().0.end_offset(), Offset(30));
}

#[test]
fn synced_bytes_that_are_missing_are_damage_too() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = written(dir.path(), 10);
    fs::write(file(dir.path()), &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(open(dir.path()), Err(Error::Corrupt { .. })));
    fs::remove_file(file(dir.path())).unwrap();
    assert!(matches!(open(dir.path()), Err(Error::Corrupt { .. })));
}

#[test]
fn bad_batch_in_an_older_segment_takes_the_later_ones_along() {
    let dir = tempfile::tempdir().unwrap();
    let small = Config {
        segment_bytes: 300,
        ..Config::default()
    };
    let mut log = Log::open(dir.path(), small.clone()).unwrap().0;
    for i in 0..12 {
        log.append(&[one(i, 0, i)]).unwrap();
    }
    drop(log);
    let mut bytes = fs::read(file(dir.path())).unwrap();
    let kept = bytes.len() / one(0, 0, 0).len();
    let at = bytes.len() - 1;
    bytes[at] ^= 1;
    fs::write(file(dir.path()), &bytes).unwrap();
    let (mut log, recovered) = Log::open(dir.path(), small).unwrap();
    let end = kept as i64 - 1;
    assert_eq!(log.end_offset(), Offset(end));
    assert!(recovered.cut_bytes > 300);
    log.append(&[one(end, 0, 0)]).unwrap();
    assert_eq!(log.read(Offset(end), 1).unwrap(), [one(end, 0, 0)]);
}

#[test]
fn clean_restart_reads_next_to_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path()).unwrap().0;
    for i in 0..500 {
        log.append(&[one(i, 0, i)]).unwrap();
    }
    log.close().unwrap();
    let clean = Config {
        opened_after: Shutdown::Clean,
        ..Config::default()
    };
    let (log, recovered) = Log::open(dir.path(), clean).unwrap();
    assert_eq!(log.end_offset(), Offset(500));
    assert_eq!(recovered.checked_from, Offset(500));
    assert_eq!(log.reader().synced_offset(), Offset(500));
}

#[test]
fn any_damaged_byte_of_a_synced_segments_first_offset_is_reported() {
    for opened_after in [Shutdown::Clean, Shutdown::Unclean] {
        for at in 0..8 {
            let dir = tempfile::tempdir().unwrap();
            let mut bent = written(dir.path(), 10);
            bent[at] = 0xff;
            fs::write(file(dir.path()), &bent).unwrap();
            let config = Config {
                opened_after,
                ..Config::default()
            };
            let error = Log::open(dir.path(), config).err();
            assert!(
                matches!(error, Some(Error::Corrupt { position: 0, .. })),
                "byte {at} after a {opened_after:?} shutdown: {error:?}"
            );
            assert_eq!(fs::read(file(dir.path())).unwrap(), bent);
        }
    }
}
