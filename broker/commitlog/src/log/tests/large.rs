//! Batches larger than what is read of a file at a time.

use super::*;

/// Just over that, and far more: `max.message.bytes` allows both.
const SIZES: [usize; 3] = [1_048_400, 1_200_000, 5_000_000];

fn large(offset: i64, bytes: usize) -> Bytes {
    let mut builder = Builder::new(Offset(offset));
    builder.push(1000, None, Some(&vec![b'x'; bytes]));
    builder.build().unwrap()
}

/// A large batch between small ones, and at the end.
fn with_large(dir: &Path, bytes: usize) -> (Log, Vec<Bytes>) {
    let config = Config {
        tail_bytes_max: 0,
        ..Config::default()
    };
    let mut log = open(dir, config);
    let batches = vec![
        one(0, 0, 1000),
        large(1, bytes),
        one(2, 0, 1000),
        large(3, bytes),
    ];
    for batch in &batches {
        log.append(std::slice::from_ref(batch)).unwrap();
    }
    (log, batches)
}

#[test]
fn log_with_large_batches_is_whole_after_a_crash_and_after_a_clean_stop() {
    for bytes in SIZES {
        for shutdown in [Shutdown::Unclean, Shutdown::Clean] {
            let dir = tempfile::tempdir().unwrap();
            let (mut log, batches) = with_large(dir.path(), bytes);
            if shutdown == Shutdown::Clean {
                log.close().unwrap();
            } else {
                // The synced ones are damage where they cannot be read, the others would be cut.
                log.sync().unwrap();
                log.append(&[large(4, bytes)]).unwrap();
                drop(log);
            }
            let config = Config {
                opened_after: shutdown,
                ..Config::default()
            };
            let log = open(dir.path(), config);
            let ends = log.end_offset().0;
            assert_eq!(ends, if shutdown == Shutdown::Clean { 4 } else { 5 });
            for (offset, batch) in (0..).zip(&batches) {
                assert_eq!(
                    &log.read(Offset(offset), 1).unwrap(),
                    std::slice::from_ref(batch)
                );
            }
        }
    }
}

#[test]
fn large_batches_are_not_damage_to_a_scrub() {
    for bytes in SIZES {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, _) = with_large(dir.path(), bytes);
        log.sync().unwrap();
        assert_eq!(log.begin_scrub().run(|_| true).unwrap(), []);
    }
}

#[test]
fn log_is_cut_behind_a_large_batch() {
    for bytes in SIZES {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, batches) = with_large(dir.path(), bytes);
        log.truncate_to(Offset(2)).unwrap();
        assert_eq!(log.end_offset(), Offset(2));
        assert_eq!(log.read(Offset(1), 1).unwrap(), [batches[1].clone()]);
    }
}
