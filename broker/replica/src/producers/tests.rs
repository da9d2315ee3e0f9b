#![allow(clippy::unwrap_used)]

use commitlog::Log;
use model::{
    Epoch,
    batch::{self, Builder},
};

use super::*;

fn append(log: &mut Log, producer: i64, sequence: i32) {
    let mut b = Builder::default().producer(producer, 0, sequence);
    b.push(7, None, Some(b"v"));
    let bytes = batch::place(b.build().unwrap(), log.end_offset(), Epoch(0));
    log.append(&[bytes]).unwrap();
}

/// What the log alone says.
fn of(log: &Log) -> Producers {
    let mut producers = Producers::default();
    let reader = log.reader();
    let seen = reader.headers(reader.start_offset(), |header| producers.observe(header));
    seen.unwrap();
    producers
}

#[test]
fn what_was_written_down_of_records_that_are_gone_is_not_believed_when_others_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let (mut log, _) = Log::open(&path, commitlog::Config::default()).unwrap();
    for sequence in 0..3 {
        append(&mut log, 1, sequence);
    }
    store(&path, log.end_offset(), &of(&log));
    // As a crash cuts it.
    log.truncate_to(Offset(1)).unwrap();
    assert_eq!(recount(&path, &log.reader()), of(&log));
    for sequence in 0..2 {
        append(&mut log, 2, sequence);
    }
    assert_eq!(recount(&path, &log.reader()), of(&log));
}

#[test]
fn file_torn_or_changed_at_any_byte_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let (mut log, _) = Log::open(&path, commitlog::Config::default()).unwrap();
    for sequence in 0..3 {
        append(&mut log, 1, sequence);
        append(&mut log, 2, sequence);
    }
    store(&path, log.end_offset(), &of(&log));
    let file = path.join(FILE);
    let whole = fs::read(&file).unwrap();
    assert!(load(&path).is_some());
    for at in 0..whole.len() {
        let (before, rest) = whole.split_at(at);
        let bent = [before, &[rest.first().unwrap() ^ 1], rest.get(1..).unwrap()].concat();
        for image in [&bent, before] {
            fs::write(&file, image).unwrap();
            assert_eq!(recount(&path, &log.reader()), of(&log), "byte {at}");
        }
    }
}
