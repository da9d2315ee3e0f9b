//! Deleted beginnings and cut ends.

use super::*;

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
