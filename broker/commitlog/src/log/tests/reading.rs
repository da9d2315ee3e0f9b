//! What is read back, from memory and from disk, by offset and by time.

use super::*;

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
