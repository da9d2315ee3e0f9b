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
fn hole_that_a_crash_left_between_segments_ends_the_log() {
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
    // Later files reached the disk, the last batch of the first one did not.
    let bytes = fs::read(file(dir.path())).unwrap();
    let size = one(0, 0, 0).len();
    fs::write(file(dir.path()), &bytes[..bytes.len() - size]).unwrap();
    let end = (bytes.len() / size) as i64 - 1;
    let (mut log, recovered) = Log::open(dir.path(), small).unwrap();
    assert_eq!(log.end_offset(), Offset(end));
    assert!(recovered.cut_bytes > 300);
    log.append(&[one(end, 2, 0)]).unwrap();
    assert_eq!(log.read(Offset(end), 1).unwrap(), [one(end, 2, 0)]);
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

/// Sectors that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

#[test]
fn write_torn_at_any_sector_keeps_what_was_synced_and_what_is_whole_before_the_tear() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path()).unwrap().0;
    let mut batches = Vec::new();
    let mut add = |log: &mut Log, sizes: &[i64]| {
        let mut end = log.end_offset().0;
        let mut run = Vec::new();
        for records in sizes {
            run.push(many(end, 1, end, *records));
            end += records;
        }
        log.append(&run).unwrap();
        batches.extend(run);
    };
    add(&mut log, &[3, 40, 2]);
    log.sync().unwrap();
    let synced = fs::read(file(dir.path())).unwrap().len();
    add(&mut log, &[1, 160, 1, 190, 7]);
    drop(log);
    let bytes = fs::read(file(dir.path())).unwrap();
    let sectors = synced / SECTOR_BYTES..bytes.len().div_ceil(SECTOR_BYTES);
    assert!(sectors.len() > 8);
    for sector in sectors {
        // A sector that was shared with what is synced has had that.
        let (from, to) = (sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES);
        let (from, to) = (from.max(synced), to.min(bytes.len()));
        let mut zeroed = bytes.clone();
        zeroed[from..].fill(0);
        let mut missing = bytes.clone();
        missing[from..to].fill(0);
        for (image, what) in [
            (zeroed, "rest"),
            (missing, "one"),
            (bytes[..from].into(), "cut"),
        ] {
            fs::write(file(dir.path()), &image).unwrap();
            let (mut log, _) = open(dir.path()).unwrap();
            let expected: Vec<_> = batches
                .iter()
                .scan(0, |at, batch| {
                    *at += batch.len();
                    Some((*at, batch))
                })
                .take_while(|(end, _)| *end <= from)
                .map(|(_, batch)| batch.to_vec())
                .collect();
            let found = log.read(Offset(0), usize::MAX >> 1).unwrap().concat();
            assert_eq!(found, expected.concat(), "{what} of sector {sector}");
            let end = log.end_offset().0;
            log.append(&[one(end, 2, 0)]).unwrap();
        }
    }
}

#[test]
fn small_files_torn_or_changed_at_any_byte_cost_nothing_that_was_synced() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        segment_bytes: 600,
        index_interval_bytes: 100,
        index_sync_bytes: 200,
        ..Config::default()
    };
    let mut log = Log::open(dir.path(), config.clone()).unwrap().0;
    for i in 0..30 {
        log.append(&[one(i, (i / 10) as i32, i)]).unwrap();
        log.sync().unwrap();
    }
    log.delete_before(Offset(3)).unwrap();
    let epochs: Vec<_> = (3..30).map(|i| log.reader().epoch_at(Offset(i))).collect();
    drop(log);
    for name in [
        "recovery-point",
        "index-point",
        "leader-epochs",
        "log-start",
    ] {
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        let cut = (0..whole.len()).map(|at| whole[..at].to_vec());
        let bent = (0..whole.len() * 8).map(|bit| {
            let mut bent = whole.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            bent
        });
        for image in cut.chain(bent).collect::<Vec<_>>() {
            fs::write(&path, &image).unwrap();
            let (log, recovered) = Log::open(dir.path(), config.clone()).unwrap();
            assert_eq!(recovered.damaged_files, [name], "{image:?}");
            assert_eq!(log.end_offset(), Offset(30));
            assert_eq!(
                log.start_offset(),
                Offset(if name == "log-start" { 0 } else { 3 })
            );
            let found: Vec<_> = (3..30).map(|i| log.reader().epoch_at(Offset(i))).collect();
            assert_eq!(found, epochs, "{name}: {image:?}");
            for i in 3..30 {
                assert_eq!(
                    log.read(Offset(i), 1).unwrap(),
                    [one(i, (i / 10) as i32, i)]
                );
            }
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn start_after_a_crash_reads_from_where_the_indexes_were_synced_and_finds_all() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        segment_bytes: 100_000,
        index_interval_bytes: 100,
        index_sync_bytes: 4000,
        ..Config::default()
    };
    let mut log = Log::open(dir.path(), config.clone()).unwrap().0;
    for i in 0..200 {
        // The newest record stands early on.
        let time = if i == 20 { 5000 } else { i };
        log.append(&[one(i, (i / 50) as i32, time)]).unwrap();
        log.sync().unwrap();
    }
    log.append(&[one(200, 4, 200)]).unwrap();
    drop(log);
    let index = file(dir.path()).with_extension("index");
    let whole = fs::read(&index).unwrap();
    // As written; without what was behind the last sync of the index; with nothing; with any sector gone.
    let mut images = vec![whole.clone(), whole[..1000].to_vec(), Vec::new()];
    for sector in 0..whole.len().div_ceil(SECTOR_BYTES) {
        let mut torn = whole.clone();
        let from = sector * SECTOR_BYTES;
        let to = (from + SECTOR_BYTES).min(torn.len());
        torn[from..to].fill(0);
        images.push(torn);
    }
    for (i, image) in images.iter().enumerate() {
        fs::write(&index, image).unwrap();
        let (log, recovered) = Log::open(dir.path(), config.clone()).unwrap();
        if i == 0 {
            assert!(recovered.checked_from > Offset(100), "{recovered:?}");
        }
        assert_eq!(log.end_offset(), Offset(201));
        for from in 0..201 {
            let found = log.read(Offset(from), 1).unwrap();
            assert_eq!(
                model::batch::split(found[0].clone()).unwrap()[0]
                    .header
                    .base_offset,
                Offset(from)
            );
            assert_eq!(
                log.reader().epoch_at(Offset(from)).unwrap().0,
                (from / 50) as i32
            );
        }
        let newest = log.reader().newest_batch().unwrap().unwrap();
        assert_eq!(newest.header.base_offset, Offset(20), "image {i}");
    }
}

#[test]
fn log_without_records_has_no_files_and_comes_back_empty() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("log");
    for _ in 0..2 {
        let (mut log, _) = Log::open(&dir, Config::default()).unwrap();
        assert!(log.begin_sync().unwrap().is_none());
        assert!(!log.roll_if_due(i64::MAX).unwrap());
        assert_eq!(log.apply_retention(i64::MAX, Offset(0)).unwrap(), None);
        assert_eq!(log.read(Offset(0), 1).unwrap().len(), 0);
        assert_eq!(log.begin_scrub().run(|_| true).unwrap(), []);
        assert_eq!(log.end_offset(), Offset(0));
        log.close().unwrap();
        assert!(!dir.exists());
    }
    let (mut log, _) = Log::open(&dir, Config::default()).unwrap();
    log.reset_to(Offset(7)).unwrap();
    log.append(&[one(7, 0, 1)]).unwrap();
    log.close().unwrap();
    let (log, _) = Log::open(&dir, Config::default()).unwrap();
    assert_eq!(
        (log.start_offset(), log.end_offset()),
        (Offset(7), Offset(8))
    );
}
