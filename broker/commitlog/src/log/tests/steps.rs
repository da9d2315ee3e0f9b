//! Random steps against a list of batches.

use super::*;

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
    Rest,
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
        1 => Just(Step::Rest),
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
            Step::Rest => log.rest(),
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
