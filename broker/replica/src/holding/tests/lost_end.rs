//! What is written down beside a log that has lost its end, and what is read of a log to hand over.

use std::{fs, path::Path};

use super::*;

/// Far beyond all that becomes due.
const FAR_MS: i64 = 1 << 40;

/// A batch of records of so many bytes, each held until a time or plain with `None`.
fn append(local: &mut Local, now_ms: i64, records: &[(usize, Option<i64>)]) {
    let mut builder = Builder::default();
    let mut waits = false;
    for (bytes, at_ms) in records {
        let text = at_ms.unwrap_or_default().to_string();
        let header = (DELIVER_AT.as_bytes(), Some(text.as_bytes()));
        let headers = if at_ms.is_some() { &[header][..] } else { &[] };
        waits |= at_ms.is_some();
        builder.push_with_headers(now_ms, None, Some(&vec![b'x'; *bytes]), headers);
    }
    let bytes = builder.build().unwrap();
    let bytes = if waits { batch::hold(bytes) } else { bytes };
    let batch = Batch::parse(&bytes).unwrap();
    let admitted = local.admit(batch, Ack::Leader, now_ms, now_ms, 1);
    assert!(matches!(admitted, Admission::Write { .. }), "{admitted:?}");
    local.write(now_ms);
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// A log ended with `lost`, of which only the file beside it still knows; `then` came there, and a crash.
fn replaced(lost: Option<i64>, then: Option<i64>) -> Pair {
    let mut pair = Pair::new(1);
    pair.agree(0, vec![id(0)]);
    let now_ms = pair.now_ms;
    append(pair.local(0), now_ms, &[(1, Some(now_ms + FAR_MS))]);
    pair.locals[0].take().unwrap().close().unwrap();
    let log = pair.directories[0].path().join("log");
    let aside = tempfile::tempdir().unwrap();
    copy_files(&log, aside.path());
    pair.open(0);
    append(pair.local(0), now_ms, &[(1, lost)]);
    pair.locals[0].take().unwrap().close().unwrap();
    let known = fs::read(log.join("held")).unwrap();
    fs::remove_dir_all(&log).unwrap();
    copy_files(aside.path(), &log);
    fs::write(log.join("held"), known).unwrap();
    pair.open(0);
    assert_eq!(pair.local(0).log.end_offset(), Offset(1));
    append(pair.local(0), now_ms, &[(1, then)]);
    pair.locals[0] = None;
    pair.open(0);
    pair
}

fn hand_over_all(pair: &mut Pair) -> Offset {
    for _ in 0..20 {
        pair.now_ms += AGAIN_MS;
        pair.hand_over();
    }
    pair.local(0).log.end_offset()
}

#[test]
fn a_record_that_came_in_place_of_a_lost_one_that_waited_is_not_handed_over() {
    let due_ms = 1_000_100;
    let mut pair = replaced(Some(due_ms), None);
    pair.check(0);
    assert_eq!(hand_over_all(&mut pair), Offset(2));
}

#[test]
fn a_record_that_waits_in_place_of_a_lost_one_comes() {
    let due_ms = 1_000_100;
    let mut pair = replaced(None, Some(due_ms));
    pair.check(0);
    assert_eq!(hand_over_all(&mut pair), Offset(3));
}

#[test]
fn what_is_known_to_wait_and_does_not_in_the_log_is_not_handed_over_but_looked_for() {
    let mut pair = Pair::new(1);
    pair.agree(0, vec![id(0)]);
    let now_ms = pair.now_ms;
    append(pair.local(0), now_ms, &[(1, Some(now_ms + FAR_MS))]);
    append(pair.local(0), now_ms, &[(1, None)]);
    append(pair.local(0), now_ms, &[(1, Some(now_ms + 10))]);
    // Of a plain record, at another time than a record says, of none.
    for offset in [1, 0, 7] {
        let wrong = Entry {
            due_ms: now_ms,
            offset: Offset(offset),
            size_bytes: 1,
        };
        pair.now_ms = now_ms;
        let held = pair.local(0).holding.held.as_mut().unwrap();
        held.waiting.insert(wrong);
        pair.hand_over();
        assert_eq!(pair.local(0).log.end_offset(), Offset(3));
        let held = pair.local(0).holding.held.as_ref().unwrap();
        assert!(held.is_lost);
        pair.hand_over();
        pair.check(0);
        assert_eq!(pair.local(0).held().0, 2);
    }
    assert_eq!(hand_over_all(&mut pair), Offset(4));
    pair.check(0);
}

#[test]
fn a_batch_is_gone_through_once_for_all_of_its_records_that_are_due() {
    let mut pair = Pair::new(1);
    pair.agree(0, vec![id(0)]);
    let now_ms = pair.now_ms;
    // More than is taken along at once.
    let records: Vec<_> = (0..30)
        .map(|n| (BATCH_BYTES * 2 / 5, Some(now_ms + n / 10)))
        .collect();
    let local = pair.local(0);
    append(local, now_ms, &records);
    let size_bytes = local.reader.read(Offset(0), 1).unwrap()[0].len();
    let (mut left, due_ms) = (GO_BYTES_MAX, now_ms + 10);
    let next = |local: &mut Local, left: &mut usize| {
        let next = local.next_due(due_ms, due_ms, false, left);
        next.unwrap()
    };
    let mut times = 0;
    while let Some((batch, _)) = next(local, &mut left) {
        local.admit(batch, Ack::Written, now_ms, now_ms, NOBODY);
        local.write(now_ms);
        times += 1;
    }
    assert!(times > BATCHES_MAX, "{times}");
    assert_eq!(local.held(), (0, 0));
    assert_eq!(left, GO_BYTES_MAX - size_bytes);
}

#[test]
fn a_go_through_large_batches_ends_after_some_and_keeps_none_of_them_for_its_records() {
    let mut pair = Pair::new(1);
    pair.agree(0, vec![id(0)]);
    let (now_ms, batches) = (pair.now_ms, 6);
    let large = GO_BYTES_MAX / 2;
    for _ in 0..batches {
        let records = [(1, Some(now_ms)), (large, Some(now_ms + FAR_MS))];
        append(pair.local(0), now_ms, &records);
    }
    let end = pair.local(0).log.end_offset();
    for goes in 1..batches / 2 {
        pair.hand_over();
        let local = pair.local(0);
        assert_eq!(local.log.end_offset(), end);
        assert_eq!(local.holding.next_look(), Some(now_ms));
        let taken: Vec<_> = local.holding.ahead.records().collect();
        assert_eq!(taken.len(), goes * 2);
        for record in taken {
            assert!(record.value.as_ref().unwrap().is_unique());
            assert!(record.headers.iter().all(|(key, _)| key.is_unique()));
        }
    }
    pair.hand_over();
    let local = pair.local(0);
    let batches = i64::try_from(batches).unwrap();
    assert_eq!(local.log.end_offset(), Offset(end.0 + batches));
    assert_eq!(local.holding.ahead.records().count(), 0);
}
