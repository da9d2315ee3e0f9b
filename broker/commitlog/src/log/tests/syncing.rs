//! Syncs and writes, and the disk that refuses them.

use super::*;

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
