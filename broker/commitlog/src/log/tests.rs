#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use model::{
    Epoch, Offset,
    batch::{self, Batch, Builder},
};
use proptest::prelude::*;

use super::*;
use crate::{Budget, Descriptors, Resources, Shutdown};

/// One record a batch: offset, timestamp and value can be told from the outside.
pub(crate) fn one(offset: i64, epoch: i32, timestamp: i64) -> Bytes {
    many(offset, epoch, timestamp, 1)
}

pub(crate) fn many(offset: i64, epoch: i32, timestamp: i64, records: i64) -> Bytes {
    let mut b = Builder::new(Offset(offset)).leader_epoch(Epoch(epoch));
    for i in 0..records {
        b.push(
            timestamp,
            None,
            Some(format!("value-{:04}", offset + i).as_bytes()),
        );
    }
    b.build().unwrap()
}

fn small() -> Config {
    Config {
        segment_bytes: 400,
        index_interval_bytes: 100,
        ..Config::default()
    }
}

fn open(dir: &Path, config: Config) -> Log {
    Log::open(dir, config).unwrap().0
}

fn filled(dir: &Path, config: Config, n: i64) -> Log {
    let mut log = open(dir, config);
    for i in 0..n {
        log.append(&[one(i, 0, 1000 + i)]).unwrap();
    }
    log
}

fn offsets(runs: Vec<Bytes>) -> Vec<i64> {
    runs.into_iter()
        .flat_map(|run| batch::split(run).unwrap())
        .flat_map(|b| b.records().map(|r| r.unwrap().offset.0).collect::<Vec<_>>())
        .collect()
}

fn segment_files(dir: &Path) -> usize {
    std::fs::read_dir(dir)
        .unwrap()
        .filter(|e| {
            let name = e.as_ref().unwrap().file_name();
            files::segment_base(name.to_str().unwrap()).is_some()
        })
        .count()
}

#[test]
fn what_was_appended_is_read_from_memory_and_from_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), small(), 30);
    let reader = log.reader();
    for from in 0..30 {
        let warm = offsets(reader.read(Offset(from), usize::MAX >> 1).unwrap());
        assert_eq!(warm, (from..30).collect::<Vec<_>>());
    }
    log.rest();
    for from in 0..30 {
        let cold = offsets(reader.read(Offset(from), usize::MAX >> 1).unwrap());
        assert_eq!(cold, (from..30).collect::<Vec<_>>(), "from {from}");
    }
    assert_eq!(reader.read(Offset(30), 100).unwrap(), Vec::<Bytes>::new());
    assert!(matches!(
        reader.read(Offset(31), 100),
        Err(Error::OutOfRange { .. })
    ));
}

#[test]
fn first_batch_comes_whole_however_small_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), small(), 8);
    for _ in 0..2 {
        assert_eq!(offsets(log.read(Offset(3), 0).unwrap()), [3]);
        assert_eq!(
            offsets(
                log.reader()
                    .read_until(Offset(3), Offset(5), 10_000)
                    .unwrap()
            ),
            [3, 4]
        );
        log.rest();
    }
}

#[test]
fn batch_larger_than_the_look_ahead_is_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), Config::default());
    let mut b = Builder::new(Offset(0));
    b.push(0, None, Some(&vec![7; 300_000]));
    let large = b.build().unwrap();
    log.append(&[large.clone(), one(1, 0, 0)]).unwrap();
    log.rest();
    assert_eq!(log.read(Offset(0), 10).unwrap(), [large]);
    assert_eq!(offsets(log.read(Offset(1), 10).unwrap()), [1]);
}

#[test]
fn offset_inside_a_batch_gives_that_batch() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), small());
    log.append(&[many(0, 0, 1, 5), many(5, 0, 1, 5)]).unwrap();
    for _ in 0..2 {
        assert_eq!(offsets(log.read(Offset(7), 1).unwrap()), [5, 6, 7, 8, 9]);
        log.rest();
    }
}

#[test]
fn batch_that_begins_before_the_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), small(), 3);
    assert!(matches!(
        log.append(&[one(2, 0, 0)]),
        Err(Error::NotNext { .. })
    ));
    assert!(matches!(
        log.append(&[one(3, 0, 0).slice(..50)]),
        Err(Error::Invalid(_))
    ));
    assert_eq!(log.end_offset(), Offset(3));
}

#[test]
fn lookup_by_time_finds_the_first_batch_as_new_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), small());
    // Times go up and down, as producers' clocks do.
    let times = [10, 30, 20, 20, 50, 40, 40, 40, 60, 55, 70, 70, 65, 80];
    for (i, t) in times.iter().enumerate() {
        log.append(&[one(i as i64, 0, *t)]).unwrap();
    }
    log.rest();
    for asked in 0..82 {
        let expected = times.iter().position(|t| *t >= asked).map(|i| i as i64);
        let found = log.reader().batch_for_time(asked).unwrap();
        assert_eq!(
            found.map(|b| b.header.base_offset.0),
            expected,
            "asked {asked}"
        );
    }
    let newest = log.reader().newest_batch().unwrap().unwrap();
    assert_eq!(newest.header.base_offset, Offset(13));
}

#[test]
fn damaged_index_is_built_anew() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), small(), 30).close().unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|e| e.to_str()) {
            Some("index") => std::fs::write(&path, [0xff; 24]).unwrap(),
            Some("timeindex") => std::fs::remove_file(&path).unwrap(),
            _ => {}
        }
    }
    let clean = Config {
        opened_after: Shutdown::Clean,
        ..small()
    };
    let log = open(dir.path(), clean);
    assert_eq!(log.end_offset(), Offset(30));
    for from in 0..30 {
        assert_eq!(offsets(log.read(Offset(from), 1).unwrap()), [from]);
    }
    let found = log.reader().batch_for_time(1017).unwrap().unwrap();
    assert_eq!(found.header.base_offset, Offset(17));
}

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

#[test]
fn deleted_prefix_stays_deleted_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), small(), 20);
    log.delete_before(Offset(11)).unwrap();
    log.delete_before(Offset(4)).unwrap();
    assert!(log.delete_before(Offset(21)).is_err());
    drop(log);
    let log = open(dir.path(), small());
    assert_eq!(log.start_offset(), Offset(11));
    assert_eq!(
        offsets(log.read(Offset(11), 1 << 20).unwrap()),
        (11..20).collect::<Vec<_>>()
    );
}

#[test]
fn epochs_follow_appends_truncation_and_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), small());
    for i in 0..20 {
        log.append(&[one(i, i as i32 / 5, 0)]).unwrap();
    }
    let reader = log.reader();
    assert_eq!(reader.epoch_end(Epoch(1)), (Epoch(1), Offset(10)));
    assert_eq!(reader.epoch_end(Epoch(3)), (Epoch(3), Offset(20)));
    log.truncate_to(Offset(12)).unwrap();
    assert_eq!(reader.epoch_end(Epoch(2)), (Epoch(2), Offset(12)));
    assert_eq!(reader.latest_epoch(), Some(Epoch(2)));
    log.append(&[one(12, 9, 0)]).unwrap();
    drop(log);
    let log = open(dir.path(), small());
    assert_eq!(log.reader().epoch_end(Epoch(2)), (Epoch(2), Offset(12)));
    assert_eq!(log.reader().latest_epoch(), Some(Epoch(9)));
    std::fs::remove_file(dir.path().join(files::EPOCHS)).unwrap();
    drop(log);
    let log = open(dir.path(), small());
    assert_eq!(log.reader().epoch_end(Epoch(0)), (Epoch(0), Offset(5)));
    assert_eq!(log.reader().latest_epoch(), Some(Epoch(9)));
}

#[test]
fn sync_moves_the_recovery_point_and_a_cut_takes_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), small(), 10);
    assert_eq!(log.reader().synced_offset(), Offset(0));
    let task = log.begin_sync().unwrap().unwrap();
    log.append(&[one(10, 0, 0)]).unwrap();
    assert_eq!(task.run().unwrap(), Offset(10));
    assert_eq!(log.reader().synced_offset(), Offset(10));
    let late = log.begin_sync().unwrap().unwrap();
    log.truncate_to(Offset(5)).unwrap();
    assert_eq!(late.run().unwrap(), Offset(5), "began before the cut");
    assert!(log.begin_sync().unwrap().is_none());
}

#[test]
fn failed_sync_closes_the_log_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), small(), 2);
    let mut task = log.begin_sync().unwrap().unwrap();
    // A pipe cannot be synced.
    let (_reader, writer) = std::io::pipe().unwrap();
    let pipe = std::fs::File::from(std::os::fd::OwnedFd::from(writer));
    task.files.push((dir.path().into(), Arc::new(pipe)));
    assert!(matches!(task.run(), Err(Error::Io { .. })));
    assert!(matches!(log.append(&[one(2, 0, 0)]), Err(Error::Poisoned)));
    assert!(matches!(log.sync(), Err(Error::Poisoned)));
    assert_eq!(offsets(log.read(Offset(0), 1 << 20).unwrap()), [0, 1]);
}

#[test]
fn write_that_the_disk_refuses_leaves_the_log_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = filled(dir.path(), Config::default(), 2);
    let path = log.active.path();
    // Every write to this device fails with "no space left".
    let kept = dir.path().join("kept");
    std::fs::rename(&path, &kept).unwrap();
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    crate::descriptors::Closable::close(&*log.active);
    assert!(matches!(log.append(&[one(2, 0, 0)]), Err(Error::Io { .. })));
    assert_eq!(log.end_offset(), Offset(2));
    assert_eq!(offsets(log.read(Offset(0), 1 << 20).unwrap()), [0, 1]);
}

#[test]
fn few_descriptors_serve_many_segments() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        resources: Resources {
            descriptors: Arc::new(Descriptors::new(4)),
            tail: Arc::new(Budget::new(0)),
            ..Resources::default()
        },
        ..small()
    };
    let log = filled(dir.path(), config, 200);
    assert!(log.shared().snapshot().len() > 30);
    for from in (0..200).rev() {
        assert_eq!(offsets(log.read(Offset(from), 1).unwrap()), [from]);
    }
}

#[test]
fn all_tails_together_stay_within_their_budget() {
    let budget = Arc::new(Budget::new(1000));
    let dir = tempfile::tempdir().unwrap();
    let mut logs: Vec<Log> = (0..4)
        .map(|i| {
            let config = Config {
                resources: Resources {
                    tail: budget.clone(),
                    ..Resources::default()
                },
                ..small()
            };
            filled(&dir.path().join(i.to_string()), config, 20)
        })
        .collect();
    assert!(budget.used_bytes() <= 1000, "{}", budget.used_bytes());
    logs.iter_mut().for_each(Log::rest);
    assert_eq!(budget.used_bytes(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Append { batches: u8, records: u8 },
    Truncate(u8),
    DeleteBefore(u8),
    Reset(u8),
    Roll,
    Sync,
    Reopen,
    CleanRestart,
    ForgetTail,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u8..5, 1u8..4).prop_map(|(batches, records)| Step::Append { batches, records }),
        1 => any::<u8>().prop_map(Step::Truncate),
        1 => any::<u8>().prop_map(Step::DeleteBefore),
        1 => any::<u8>().prop_map(Step::Reset),
        1 => Just(Step::Roll),
        1 => Just(Step::Sync),
        1 => Just(Step::Reopen),
        1 => Just(Step::CleanRestart),
        1 => Just(Step::ForgetTail),
    ]
}

/// The log as a list of batches.
#[derive(Default)]
struct Model {
    start: i64,
    end: i64,
    batches: Vec<Batch>,
    time: i64,
}

impl Model {
    fn apply(&mut self, step: &Step, log: Log, dir: &Path) -> Log {
        let mut log = log;
        match *step {
            Step::Append { batches, records } => {
                let mut run = Vec::new();
                for _ in 0..batches {
                    // Up and down, as producers' clocks go.
                    self.time = (self.time * 31 + 7) % 97;
                    let bytes = many(self.end, 0, self.time, i64::from(records));
                    self.batches.push(Batch::parse(&bytes).unwrap());
                    self.end += i64::from(records);
                    run.push(bytes);
                }
                log.append(&run).unwrap();
            }
            Step::Truncate(back) => {
                let to = (self.end - i64::from(back)).max(0);
                log.truncate_to(Offset(to)).unwrap();
                if to <= self.start && to < self.end {
                    *self = Self {
                        start: to,
                        end: to,
                        time: self.time,
                        ..Self::default()
                    };
                } else if to < self.end {
                    while let Some(last) = self.batches.pop_if(|b| b.header.last_offset().0 >= to) {
                        self.end = last.header.base_offset.0;
                    }
                    self.end = self.end.max(self.start.min(to));
                }
            }
            Step::DeleteBefore(on) => {
                let to = (self.start + i64::from(on % 16)).min(self.end);
                log.delete_before(Offset(to)).unwrap();
                self.start = to;
                self.batches.retain(|b| b.header.last_offset().0 >= to);
            }
            Step::Reset(on) => {
                let to = self.end + i64::from(on % 8);
                log.reset_to(Offset(to)).unwrap();
                *self = Self {
                    start: to,
                    end: to,
                    time: self.time,
                    ..Self::default()
                };
            }
            Step::Roll => {
                log.roll_if_due(0).unwrap();
                log.roll_if_due(i64::MAX).unwrap();
            }
            Step::Sync => log.sync().unwrap(),
            Step::Reopen => {
                drop(log);
                log = open(dir, small());
            }
            Step::CleanRestart => {
                log.close().unwrap();
                log = open(
                    dir,
                    Config {
                        opened_after: Shutdown::Clean,
                        ..small()
                    },
                );
            }
            Step::ForgetTail => log.rest(),
        }
        log
    }

    fn check(&self, log: &Log) {
        assert_eq!(
            (log.start_offset().0, log.end_offset().0),
            (self.start, self.end)
        );
        for from in self.start..self.end {
            let expected: Vec<Bytes> = self
                .batches
                .iter()
                .filter(|b| b.header.last_offset().0 >= from)
                .map(|b| b.bytes.clone())
                .collect();
            let read = log.read(Offset(from), usize::MAX >> 1).unwrap();
            assert_eq!(read.concat(), expected.concat(), "from {from}");
            let one = log.read(Offset(from), 1).unwrap();
            assert_eq!(Some(&one.concat()[..]), expected.first().map(|b| &b[..]));
        }
        for asked in (0..100).step_by(9).chain([self.time]) {
            let expected = self
                .batches
                .iter()
                .find(|b| b.header.max_timestamp >= asked);
            let found = log.reader().batch_for_time(asked).unwrap();
            assert_eq!(found.as_ref(), expected, "time {asked}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn log_behaves_as_a_list_of_batches(steps in proptest::collection::vec(any_step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), small());
        let mut model = Model::default();
        for step in &steps {
            log = model.apply(step, log, dir.path());
            model.check(&log);
        }
    }
}

#[test]
fn a_sync_behind_a_failed_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut log = filled(&path, small(), 1);
    let first = log.begin_sync().unwrap().unwrap();
    log.append(&[one(1, 0, 1001)]).unwrap();
    let second = log.begin_sync().unwrap().unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    first.run().unwrap_err();
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(second.run(), Err(Error::Poisoned)));
    assert!(log.is_poisoned());
}
