#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use super::*;
use crate::{
    Config, Shutdown,
    log::tests::{many, one},
};

fn config() -> Config {
    Config {
        segment_bytes: 1500,
        index_interval_bytes: 120,
        tail_bytes_max: 0,
        opened_after: Shutdown::Clean,
        ..Config::default()
    }
}

/// Batches of one to three records over several segments and epochs, all synced; where each lies.
fn filled(dir: &Path) -> (Log, Vec<Bytes>) {
    let mut log = Log::open(dir, config()).unwrap().0;
    let mut batches = Vec::new();
    for i in 0..60 {
        let batch = many(log.end_offset().0, (i / 25) as i32, 1000 + i, 1 + i % 3);
        log.append(std::slice::from_ref(&batch)).unwrap();
        batches.push(batch);
    }
    log.sync().unwrap();
    (log, batches)
}

fn segment_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "log"))
        .collect();
    files.sort();
    files
}

/// In place, as a disk does: who has the file open sees it.
fn write_at(file: &Path, bytes: &[u8], at: u64) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
}

fn scrubbed(log: &Log) -> Vec<Hole> {
    log.begin_scrub().run(|_| true).unwrap()
}

/// What another replica answers.
fn between(whole: &[Bytes], hole: &Hole) -> Bytes {
    let wanted = whole.iter().filter(|bytes| {
        let header = Batch::parse(bytes).unwrap().header;
        header.last_offset() >= hole.from && header.base_offset < hole.next
    });
    wanted.flat_map(|b| b.to_vec()).collect::<Vec<_>>().into()
}

/// Every batch that can be read, going on behind what cannot.
fn readable(log: &Log, whole: &[Bytes]) -> Result<(), Offset> {
    let mut from = log.start_offset();
    while from < log.end_offset() {
        let runs = match log.read(from, 500) {
            Ok(runs) => runs,
            Err(Error::Corrupt { offset, .. }) => return Err(offset),
            Err(error) => panic!("{error:?}"),
        };
        assert!(!runs.is_empty(), "nothing at {from}, and no error");
        for run in runs {
            for batch in model::batch::split(run).unwrap() {
                assert!(whole.contains(&batch.bytes), "changed bytes at {from}");
                assert_eq!(batch.header.base_offset, from, "skipped {:?}", batch.header);
                from = batch.header.next_offset();
            }
        }
    }
    Ok(())
}

#[test]
fn a_flipped_bit_anywhere_in_a_segment_is_an_error_found_by_the_scrub_and_filled_from_a_replica() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, whole) = filled(dir.path());
    assert_eq!(scrubbed(&log), []);
    let files = segment_files(dir.path());
    assert!(files.len() > 3);
    // Every byte of a closed segment and of the active one; a bit each.
    for file in [&files[1], &files[files.len() - 1]] {
        let bytes = std::fs::read(file).unwrap();
        for at in 0..bytes.len() {
            let flipped = bytes[at] ^ (1 << (at % 8));
            write_at(file, &[flipped], at as u64);
            let error = readable(&log, &whole);
            let offset = error.expect_err("read as if nothing was");
            let holes = scrubbed(&log);
            assert_eq!(holes.len(), 1, "byte {at} of {}", file.display());
            let hole = log.hole_at(offset).unwrap().unwrap();
            assert_eq!(hole, holes[0], "byte {at}");
            assert!(hole.bytes() < 1000, "byte {at}: {hole:?}");
            // Each patch is synced: one for every place in a batch of every length will do.
            if at % 53 == 0 {
                log.patch(&hole, &between(&whole, &hole)).unwrap();
                assert_eq!(std::fs::read(file).unwrap(), bytes);
            } else {
                write_at(file, &bytes[at..=at], at as u64);
            }
        }
    }
    assert_eq!(readable(&log, &whole), Ok(()));
    assert_eq!(scrubbed(&log), []);
}

#[test]
fn what_lies_behind_damage_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (log, whole) = filled(dir.path());
    let files = segment_files(dir.path());
    for at in [70, 500, 800] {
        let bytes = std::fs::read(&files[1]).unwrap();
        write_at(&files[1], &[bytes[at] ^ 1], at as u64);
        let hole = log
            .hole_at(readable(&log, &whole).unwrap_err())
            .unwrap()
            .unwrap();
        // From the first batch on that is found without passing over the damaged one.
        let mut from = (hole.next.0..).take(6).map(Offset);
        let behind = from.find_map(|from| log.read(from, 1).ok());
        assert!(whole.contains(&behind.unwrap()[0]), "behind byte {at}");
        write_at(&files[1], &bytes, 0);
    }
}

#[test]
fn several_holes_are_found_at_once_and_a_stopped_scrub_finds_none() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, whole) = filled(dir.path());
    for file in segment_files(dir.path()) {
        for at in [100, 900] {
            if at < file.metadata().unwrap().len() {
                write_at(&file, &[0xaa; 20], at);
            }
        }
    }
    assert_eq!(log.begin_scrub().run(|_| false).unwrap(), []);
    let holes = scrubbed(&log);
    assert!(holes.len() > 6, "{}", holes.len());
    for hole in &holes {
        log.patch(hole, &between(&whole, hole)).unwrap();
    }
    assert_eq!(readable(&log, &whole), Ok(()));
}

#[test]
fn batches_that_do_not_belong_into_a_hole_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, whole) = filled(dir.path());
    let file = &segment_files(dir.path())[1];
    let at = 300;
    let before = std::fs::read(file).unwrap();
    write_at(file, &[before[at] ^ 1], at as u64);
    let bent = std::fs::read(file).unwrap();
    let hole = scrubbed(&log).remove(0);
    let right = between(&whole, &hole);
    let header = Batch::parse(&right).unwrap().header;
    let mut of_another_epoch = right.to_vec();
    of_another_epoch[15] ^= 1;
    let mut damaged = right.to_vec();
    damaged[70] ^= 1;
    let elsewhere = one(header.base_offset.0 + 1, header.leader_epoch.0, 0);
    for wrong in [
        Bytes::new(),
        right.slice(..right.len() - 1),
        of_another_epoch.into(),
        damaged.into(),
        elsewhere,
    ] {
        let refused = log.patch(&hole, &wrong);
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
        assert_eq!(std::fs::read(file).unwrap(), bent);
    }
    log.patch(&hole, &right).unwrap();
    assert_eq!(std::fs::read(file).unwrap(), before);
}

#[test]
fn a_flipped_bit_in_an_index_changes_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (log, whole) = filled(dir.path());
    log.close().unwrap();
    let first = &segment_files(dir.path())[1];
    for extension in ["index", "timeindex"] {
        let path = first.with_extension(extension);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() > 40);
        for at in 0..bytes.len() {
            let bit = at * 8 + at % 8;
            let mut bent = bytes.clone();
            bent[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bent).unwrap();
            let log = Log::open(dir.path(), config()).unwrap().0;
            assert_eq!(readable(&log, &whole), Ok(()), "bit {bit} of {extension}");
            let mut expected = whole.iter();
            for time in 1000..1060 {
                let found = log.reader().batch_for_time(time).unwrap().unwrap();
                let expected = expected.next().unwrap();
                assert_eq!(found.bytes, expected, "bit {bit} of {extension}, {time}");
            }
            drop(log);
            std::fs::write(&path, &bytes).unwrap();
        }
    }
}

/// Syncs nothing any more once it has failed.
#[derive(Debug, Default)]
struct Failing(std::sync::atomic::AtomicBool);

impl crate::Disk for Failing {
    fn reserve(&self, _: &Path, _: u64) -> std::io::Result<()> {
        Ok(())
    }

    fn sync_file(&self, _: &Path, _: &std::fs::File) -> std::io::Result<()> {
        if self.0.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(std::io::Error::other("worn out"));
        }
        Ok(())
    }

    fn sync_directory(&self, _: &Path) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn log_whose_repair_cannot_be_synced_is_poisoned() {
    let dir = tempfile::tempdir().unwrap();
    let (log, whole) = filled(dir.path());
    drop(log);
    let disk = Arc::new(Failing::default());
    let mut with_disk = config();
    with_disk.resources.disk = disk.clone();
    let mut log = Log::open(dir.path(), with_disk).unwrap().0;
    let files = segment_files(dir.path());
    let active = &files[files.len() - 1];
    let last = std::fs::read(active).unwrap().len() as u64 - 1;
    write_at(active, &[0xff], last);
    let hole = scrubbed(&log).remove(0);
    disk.0.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(log.patch(&hole, &between(&whole, &hole)).is_err());
    assert!(log.is_poisoned());
    assert!(matches!(log.begin_sync(), Err(Error::Poisoned)));
}
