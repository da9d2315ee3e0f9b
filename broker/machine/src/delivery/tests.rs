use super::*;

/// A log as the machine hears of it: one record a batch, with the time of its append.
struct Log {
    delivery: Delivery,
    appended: Vec<i64>,
    /// Batches told at a time.
    told: usize,
}

impl Log {
    fn new(delay_ms: i64, appended: &[i64]) -> Self {
        let mut delivery = Delivery::default();
        delivery.begin(delay_ms, Offset(0));
        Self {
            delivery,
            appended: appended.to_vec(),
            told: 2,
        }
    }

    fn end(&self) -> Offset {
        Offset(i64::try_from(self.appended.len()).unwrap())
    }

    fn batches(&self, from: Offset) -> Vec<Appended> {
        let next = (1..).map(Offset);
        let batches = next.zip(&self.appended);
        batches
            .map(|(next, at_ms)| Appended {
                next,
                at_ms: *at_ms,
            })
            .filter(|batch| batch.next > from)
            .take(self.told)
            .collect()
    }

    /// The readable end at `now_ms` when everything is committed.
    fn at(&mut self, now_ms: i64) -> i64 {
        let end = self.end();
        while let Some(from) = self.delivery.advance(Offset(0), end, now_ms) {
            self.delivery.found(self.batches(from), end);
        }
        self.delivery.readable_end(end).0
    }
}

#[test]
fn a_record_is_readable_from_the_millisecond_in_which_its_delay_is_over() {
    let mut log = Log::new(100, &[1000, 1000, 1005, 1007, 1020]);
    let readable = [1000, 1099, 1100, 1104, 1105, 1119, 1120].map(|now| log.at(now));
    assert_eq!(readable, [0, 0, 2, 2, 3, 4, 5]);
    log.appended.push(1120);
    assert_eq!(log.at(1120), 5);
    assert_eq!(log.delivery.next_due(), Some(1220));
    assert_eq!(log.at(1220), 6);
    assert_eq!(log.delivery.next_due(), None);
}

#[test]
fn nothing_overtakes_a_record_that_waits() {
    // The second leader's clock was behind, and the last two are older than the delay.
    let mut log = Log::new(100, &[1000, 950, i64::MIN, 1001]);
    assert_eq!(log.at(1099), 0);
    assert_eq!(log.at(1100), 3);
}

#[test]
fn what_is_not_committed_is_not_readable_however_old() {
    let mut log = Log::new(100, &[1000, 1001]);
    assert_eq!(log.at(2000), 2);
    assert_eq!(log.delivery.readable_end(Offset(1)), Offset(1));
}

#[test]
fn without_a_delay_all_that_is_committed_is_readable() {
    let mut delivery = Delivery::default();
    assert_eq!(delivery.readable_end(Offset(7)), Offset(7));
    delivery.begin(0, Offset(0));
    assert_eq!(delivery.readable_end(Offset(7)), Offset(7));
}

#[test]
fn little_is_known_ahead_however_much_waits() {
    let times: Vec<i64> = (0..10_000).collect();
    let mut log = Log::new(100_000, &times);
    log.told = usize::MAX;
    assert_eq!(log.at(50_000), 0);
    assert_eq!(log.delivery.ahead.len(), AHEAD_MAX);
    assert_eq!(log.at(104_999), 5000);
    assert!(log.delivery.ahead.len() <= AHEAD_MAX);
}

#[test]
fn a_cut_takes_back_what_was_known_of_records_that_are_gone() {
    let mut log = Log::new(100, &[1000, 1000, 1000, 1010]);
    log.told = usize::MAX;
    assert_eq!(log.at(1050), 0);
    log.appended.truncate(2);
    log.delivery.cut(Offset(2));
    log.appended.extend([1030, 1030]);
    assert_eq!(log.at(1110), 2);
    assert_eq!(log.at(1130), 4);
    log.appended.truncate(1);
    log.delivery.cut(Offset(1));
    log.appended.push(1131);
    assert_eq!(log.at(1131), 1);
}

#[test]
fn deleted_records_and_what_compaction_has_left_out_are_passed_over() {
    let mut log = Log::new(100, &[1000, 1000, 1050]);
    assert_eq!(
        log.delivery.advance(Offset(2), Offset(3), 1000),
        Some(Offset(2))
    );
    log.delivery.found(log.batches(Offset(2)), Offset(3));
    assert_eq!(log.delivery.readable_end(Offset(3)), Offset(2));
    log.delivery.begin(100, Offset(1));
    assert_eq!(
        log.delivery.advance(Offset(0), Offset(3), 1000),
        Some(Offset(1))
    );
    log.delivery.found([], Offset(3));
    assert_eq!(log.delivery.advance(Offset(0), Offset(3), 1000), None);
    assert_eq!(log.delivery.readable_end(Offset(3)), Offset(3));
}
