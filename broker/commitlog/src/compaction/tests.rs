#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::BTreeMap, fs};

use model::batch::{Builder, Record};
use proptest::prelude::*;

use super::*;
use crate::{Config, Log, checkpoint, log::files};

/// Batches that are not compressed.
struct Plain;

impl Codec for Plain {
    fn inflate(&self, batch: &Batch) -> io::Result<Bytes> {
        Ok(batch.payload())
    }

    fn deflate(&self, codec: u8, _: &[u8]) -> io::Result<Bytes> {
        Err(io::Error::other(format!("codec {codec}")))
    }
}

const DAY_MS: i64 = 86_400_000;

fn config() -> Config {
    Config {
        segment_bytes: 400,
        index_interval_bytes: 100,
        retention_ms: None,
        compaction: Some(Policy {
            dirty_ratio_min: 0.0,
            lag_min_ms: 0,
            lag_max_ms: i64::MAX,
            tombstones_ms: DAY_MS,
        }),
        ..Config::default()
    }
}

fn with(policy: impl FnOnce(&mut Policy)) -> Config {
    let mut config = config();
    config.compaction.as_mut().map(policy);
    config
}

fn open(dir: &Path, config: Config) -> Log {
    Log::open(dir, config).unwrap().0
}

/// One batch of records: key, and value or tombstone.
fn append(log: &mut Log, timestamp: i64, records: &[(&str, Option<&str>)]) {
    append_of(log, timestamp, (-1, -1, -1), records);
}

fn append_of(
    log: &mut Log,
    timestamp: i64,
    producer: (i64, i16, i32),
    records: &[(&str, Option<&str>)],
) {
    let (id, epoch, sequence) = producer;
    let mut builder = Builder::new(log.end_offset()).producer(id, epoch, sequence);
    for (key, value) in records {
        builder.push(timestamp, Some(key.as_bytes()), value.map(str::as_bytes));
    }
    log.append(&[builder.build().unwrap()]).unwrap();
}

fn means(stop: &AtomicBool) -> Means<'_> {
    Means {
        codec: &Plain,
        keys_bytes_max: 1 << 20,
        producers: HashMap::new(),
        stop,
    }
}

/// Whether there was something to do.
fn compact(log: &mut Log, now_ms: i64) -> bool {
    compact_by(log, now_ms, &means(&AtomicBool::new(false)))
}

fn compact_by(log: &mut Log, now_ms: i64, means: &Means<'_>) -> bool {
    log.sync().unwrap();
    let Some(task) = log.begin_compaction(log.end_offset(), now_ms).unwrap() else {
        return false;
    };
    let done = task.run(means).unwrap().unwrap();
    log.finish_compaction(done).unwrap();
    true
}

fn records_from(log: &mut Log, from: Offset) -> Vec<Record> {
    log.rest();
    log.read(from, usize::MAX >> 1)
        .unwrap()
        .into_iter()
        .flat_map(|run| model::batch::split(run).unwrap())
        .flat_map(|batch| batch.records().map(Result::unwrap).collect::<Vec<_>>())
        .filter(|record| record.offset >= from)
        .collect()
}

fn records(log: &mut Log) -> Vec<Record> {
    records_from(log, log.start_offset())
}

fn offsets(log: &mut Log) -> Vec<i64> {
    records(log).iter().map(|r| r.offset.0).collect()
}

fn close_segment(log: &mut Log) {
    let end = log.end_offset();
    log.roll(end).unwrap();
}

#[test]
fn newest_record_of_each_key_stays_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    append(&mut log, 1, &[("a", Some("1")), ("b", Some("1"))]);
    append(&mut log, 2, &[("a", Some("2"))]);
    append(&mut log, 3, &[("c", Some("3")), ("a", Some("3"))]);
    close_segment(&mut log);
    append(&mut log, 4, &[("b", Some("in the active segment"))]);
    let before = records(&mut log);
    assert!(compact(&mut log, 10));
    let after = records(&mut log);
    assert_eq!(offsets(&mut log), [1, 3, 4, 5]);
    assert!(after.iter().all(|record| before.contains(record)));
    assert!(!compact(&mut log, 10), "nothing is new");
    assert_eq!(log.compacted_to(), Offset(5));
}

#[test]
fn tombstone_goes_when_it_has_stayed_its_time_after_the_first_pass() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    append(
        &mut log,
        1,
        &[("a", Some("1")), ("b", Some("1")), ("a", None)],
    );
    close_segment(&mut log);
    let mut pass = |now_ms, value| {
        append(&mut log, now_ms, &[("other", Some(value))]);
        close_segment(&mut log);
        assert!(compact(&mut log, now_ms));
        offsets(&mut log)
    };
    assert_eq!(pass(1000, "x"), [1, 2, 3]);
    assert_eq!(pass(999 + DAY_MS, "y"), [1, 2, 4]);
    assert_eq!(pass(1000 + DAY_MS, "z"), [1, 5]);
}

#[test]
fn last_batch_of_a_producer_stays_without_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    append_of(&mut log, 1, (7, 0, 0), &[("a", Some("1"))]);
    append_of(&mut log, 1, (7, 0, 1), &[("a", Some("2"))]);
    append_of(&mut log, 1, (8, 0, 0), &[("a", Some("3"))]);
    close_segment(&mut log);
    let stop = AtomicBool::new(false);
    let means = Means {
        producers: HashMap::from([(7, Offset(1)), (8, Offset(2))]),
        ..means(&stop)
    };
    assert!(compact_by(&mut log, 10, &means));
    let mut headers = Vec::new();
    log.rest();
    log.reader()
        .headers(Offset(0), |h| {
            headers.push((h.producer_id, h.base_sequence, h.record_count));
        })
        .unwrap();
    assert_eq!(headers, [(7, 1, 0), (8, 0, 1)]);
}

#[test]
fn keyless_records_of_before_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    log.append(&[crate::log::tests::many(0, 0, 1, 3)]).unwrap();
    append(&mut log, 1, &[("a", Some("1"))]);
    close_segment(&mut log);
    assert!(compact(&mut log, 10));
    assert_eq!(offsets(&mut log), [3]);
}

#[test]
fn young_records_and_those_not_committed_stay() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), with(|p| p.lag_min_ms = 100));
    for timestamp in [1000, 1100, 1200] {
        append(&mut log, timestamp, &[("a", Some("1")), ("a", Some("2"))]);
        close_segment(&mut log);
    }
    log.sync().unwrap();
    assert!(log.begin_compaction(Offset(6), 1099).unwrap().is_none());
    let task = |log: &Log, upto, now_ms| {
        let task = log.begin_compaction(Offset(upto), now_ms).unwrap();
        task.map(|task| task.upto.0)
    };
    assert_eq!(task(&log, 6, 1100), Some(2));
    assert_eq!(task(&log, 6, 1200), Some(4));
    assert_eq!(task(&log, 3, 9999), Some(2));
    assert_eq!(task(&log, 1, 9999), None);
}

#[test]
fn log_is_compacted_when_enough_is_new_or_it_has_waited_long_enough() {
    let dir = tempfile::tempdir().unwrap();
    let policy = |p: &mut Policy| (p.dirty_ratio_min, p.lag_max_ms) = (0.4, 500);
    let mut log = open(dir.path(), with(policy));
    for key in ["a", "b", "c"] {
        append(&mut log, 1000, &[(key, Some("1"))]);
        close_segment(&mut log);
    }
    assert!(compact(&mut log, 1000));
    append(&mut log, 2000, &[("d", Some("1"))]);
    close_segment(&mut log);
    assert!(!compact(&mut log, 2500), "a quarter is too little");
    assert!(compact(&mut log, 2501));
    append(&mut log, 3000, &[("d", Some("1"))]);
    append(&mut log, 3000, &[("e", Some("1"))]);
    append(&mut log, 3000, &[("f", Some("1"))]);
    close_segment(&mut log);
    assert!(compact(&mut log, 3000));
}

#[test]
fn more_keys_than_memory_takes_are_compacted_in_turn() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    for round in ["1", "2"] {
        for key in ["a", "b", "c", "d", "e", "f"] {
            append(&mut log, 1, &[(key, Some(round))]);
        }
    }
    close_segment(&mut log);
    let stop = AtomicBool::new(false);
    let means = Means {
        keys_bytes_max: 4 * 64,
        ..means(&stop)
    };
    let mut passes = 0;
    while compact_by(&mut log, 10, &means) {
        passes += 1;
        assert!(passes < 10);
    }
    assert!(passes > 1);
    assert_eq!(offsets(&mut log), [6, 7, 8, 9, 10, 11]);
}

#[test]
fn small_segments_become_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    for i in 0..8 {
        append(&mut log, i, &[("a", Some("1"))]);
        close_segment(&mut log);
    }
    let size = log.reader().size_bytes();
    assert!(compact(&mut log, 10));
    append(&mut log, 9, &[("b", Some("1"))]);
    close_segment(&mut log);
    assert!(compact(&mut log, 10));
    assert!(log.reader().shared.snapshot().len() < 5);
    assert!(log.reader().size_bytes() < size);
    assert_eq!(offsets(&mut log), [7, 8]);
    for from in 0..9 {
        let first = records_from(&mut log, Offset(from))[0].offset.0;
        assert_eq!(first, if from < 8 { 7 } else { 8 });
    }
}

#[test]
fn reader_of_an_old_segment_reads_on_when_others_have_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    append(&mut log, 1, &[("a", Some("1"))]);
    append(&mut log, 1, &[("a", Some("2"))]);
    close_segment(&mut log);
    let old = log.reader().shared.snapshot().remove(0);
    assert!(compact(&mut log, 10));
    crate::descriptors::Closable::close(&*old);
    assert_eq!(old.position_before(Offset(1)).unwrap(), 0);
    let mut found = 0;
    let end = scan::headers(&old, 0, |_, _| {
        found += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((found, end.unwrap().fault), (2, None));
}

#[test]
fn log_that_was_cut_meanwhile_keeps_what_it_has() {
    for to in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), config());
        append(&mut log, 1, &[("a", Some("1"))]);
        append(&mut log, 1, &[("a", Some("2"))]);
        close_segment(&mut log);
        append(&mut log, 1, &[("a", Some("3"))]);
        close_segment(&mut log);
        append(&mut log, 1, &[("b", Some("1"))]);
        log.sync().unwrap();
        let task = log.begin_compaction(Offset(4), 10).unwrap().unwrap();
        let done = task.run(&means(&AtomicBool::new(false))).unwrap().unwrap();
        log.truncate_to(Offset(to)).unwrap();
        log.finish_compaction(done).unwrap();
        // At 3 the second segment is the active one again.
        assert_eq!(offsets(&mut log), (0..to).collect::<Vec<_>>());
        drop(log);
        let mut log = open(dir.path(), config());
        assert_eq!(offsets(&mut log), (0..to).collect::<Vec<_>>());
    }
}

#[test]
fn log_that_was_cut_and_filled_again_meanwhile_keeps_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    append(&mut log, 1, &[("a", Some("1"))]);
    close_segment(&mut log);
    append(&mut log, 1, &[("a", Some("2"))]);
    append(&mut log, 1, &[("b", Some("old"))]);
    close_segment(&mut log);
    append(&mut log, 1, &[("c", Some("old"))]);
    log.sync().unwrap();
    let task = log.begin_compaction(Offset(4), 10).unwrap().unwrap();
    let done = task.run(&means(&AtomicBool::new(false))).unwrap().unwrap();
    log.truncate_to(Offset(2)).unwrap();
    append(&mut log, 1, &[("b", Some("new"))]);
    close_segment(&mut log);
    append(&mut log, 1, &[("c", Some("new"))]);
    let before = records(&mut log);
    log.finish_compaction(done).unwrap();
    assert_eq!(records(&mut log), before);
}

#[test]
fn what_is_cut_off_is_new_when_it_comes_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    for value in ["1", "2"] {
        append(&mut log, 1, &[("a", Some(value))]);
        close_segment(&mut log);
    }
    assert!(compact(&mut log, 10));
    assert_eq!(log.compacted_to(), Offset(2));
    log.truncate_to(Offset(1)).unwrap();
    assert!(log.compacted_to() <= Offset(1));
    drop(log);
    assert!(open(dir.path(), config()).compacted_to() <= Offset(1));
}

#[test]
fn stopped_or_failed_compaction_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), config());
    append(&mut log, 1, &[("a", Some("1"))]);
    close_segment(&mut log);
    log.sync().unwrap();
    let stop = AtomicBool::new(true);
    let task = log.begin_compaction(Offset(1), 10).unwrap().unwrap();
    assert!(task.run(&means(&stop)).unwrap().is_none());
    let segment = dir.path().join(format!("{:020}.log", 0));
    let mut bytes = fs::read(&segment).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&segment, bytes).unwrap();
    let task = log.begin_compaction(Offset(1), 10).unwrap().unwrap();
    let failed = task.run(&means(&AtomicBool::new(false)));
    assert!(matches!(failed, Err(Error::Corrupt { .. })), "{failed:?}");
    assert!(!install::unfinished(dir.path()).exists());
}

/// A log with two closed segments, and its compaction run but not finished.
fn about_to_finish(dir: &Path) -> (Log, Compacted) {
    let mut log = open(dir, config());
    append(&mut log, 1, &[("a", Some("1")), ("b", Some("1"))]);
    close_segment(&mut log);
    append(&mut log, 1, &[("a", Some("2"))]);
    close_segment(&mut log);
    append(&mut log, 1, &[("c", Some("1"))]);
    log.sync().unwrap();
    let task = log.begin_compaction(Offset(4), 10).unwrap().unwrap();
    let done = task.run(&means(&AtomicBool::new(false))).unwrap().unwrap();
    (log, done)
}

#[test]
fn hole_between_compacted_segments_is_no_crashs() {
    let wide = "x".repeat(300);
    for forgotten in [files::RECOVERY_POINT, files::COMPACTED_TO] {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), config());
        append(&mut log, 1, &[("b", Some(&wide))]);
        append(&mut log, 1, &[("a", Some("1"))]);
        close_segment(&mut log);
        append(&mut log, 1, &[("a", Some(&wide))]);
        close_segment(&mut log);
        append(&mut log, 1, &[("c", Some("1"))]);
        log.sync().unwrap();
        // As when what was synced last was too little to be said.
        let point = dir.path().join(files::RECOVERY_POINT);
        checkpoint::write_offset(&point, Offset(0)).unwrap();
        assert!(compact(&mut log, 10));
        assert_eq!(offsets(&mut log), [0, 2, 3]);
        drop(log);
        fs::remove_file(dir.path().join(forgotten)).unwrap();
        let mut log = open(dir.path(), config());
        assert_eq!(offsets(&mut log), [0, 2, 3], "without {forgotten}");
    }
}

#[test]
fn crash_leaves_all_of_the_old_or_all_of_the_new() {
    let names = |dir: &Path| {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    // Before the new ones count.
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = about_to_finish(dir.path());
    drop(log);
    assert_eq!(offsets(&mut open(dir.path(), config())), [0, 1, 2, 3]);
    // After: with none of the new files moved, and with the first so many of them.
    for moved in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let (log, _) = about_to_finish(dir.path());
        drop(log);
        install::commit(dir.path()).unwrap();
        let from = dir.path().join("compacted");
        let new: Vec<_> = names(&from).into_iter().filter(|n| n != "gone").collect();
        assert_eq!(new.len(), 3, "{new:?}");
        // In the order in which they are: the log, then its indexes.
        for name in ["log", "index", "timeindex"].iter().take(moved) {
            let name = format!("{:020}.{name}", 0);
            fs::rename(from.join(&name), dir.path().join(&name)).unwrap();
        }
        let mut log = open(dir.path(), config());
        assert_eq!(offsets(&mut log), [1, 2, 3], "{moved} moved");
        assert!(!from.exists());
        assert_eq!(log.end_offset(), Offset(4));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn compacted_log_has_the_same_newest_values_and_survives_a_crash(
        rounds in prop::collection::vec(
            prop::collection::vec((0..6u8, prop::option::of(0..9u8), 1..4usize), 1..12), 1..5),
        keys_max in 1..8usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), config());
        let mut newest: BTreeMap<Vec<u8>, (i64, Option<Bytes>)> = BTreeMap::new();
        let stop = AtomicBool::new(false);
        let mut now_ms = 1000;
        for round in rounds {
            for (key, value, repeated) in round {
                let key = format!("key-{key}");
                let value = value.map(|v| format!("value-{v}"));
                let one = (key.as_str(), value.as_deref());
                let last = log.end_offset().0 + i64::try_from(repeated).unwrap() - 1;
                append(&mut log, now_ms, &vec![one; repeated]);
                newest.insert(key.into_bytes(), (last, value.map(Bytes::from)));
            }
            close_segment(&mut log);
            let means = Means { keys_bytes_max: keys_max * 64, ..means(&stop) };
            while compact_by(&mut log, now_ms, &means) {}
            let left = records(&mut log);
            for (key, (offset, value)) in &newest {
                let found: Vec<_> = left
                    .iter()
                    .filter(|r| r.key.as_deref() == Some(key))
                    .map(|r| (r.offset.0, r.value.clone()))
                    .collect();
                // A tombstone may have had its time.
                prop_assert!(
                    found == [(*offset, value.clone())] || (value.is_none() && found.is_empty()),
                    "{found:?} is not {offset} {value:?}"
                );
            }
            for record in &left {
                let expected = left.iter().find(|r| r.timestamp >= record.timestamp).unwrap();
                let found = log.reader().batch_for_time(record.timestamp).unwrap().unwrap();
                prop_assert!(found.records().any(|r| r.unwrap() == *expected));
            }
            let end = log.end_offset();
            drop(log);
            log = open(dir.path(), config());
            prop_assert_eq!(log.end_offset(), end);
            prop_assert_eq!(records(&mut log), left);
            now_ms += DAY_MS / 2;
        }
    }
}
