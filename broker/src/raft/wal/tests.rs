use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use futures::FutureExt;

use super::super::GroupId;
use super::super::types::{Vote, log_id};
use super::room::Room;
use super::{Config, Kind, Record, Wal, file};

const GROUP: GroupId = GroupId(7);
const FILE_BYTES: usize = 8192;
const WAITING_BYTES_MAX: usize = 4096;

/// Opens the log, lets `act` write, and waits until the writer has ended.
async fn with_wal<T>(dir: &Path, act: impl AsyncFnOnce(&Wal) -> T) -> T {
    let config = Config {
        file_bytes: FILE_BYTES,
        files_max: 3,
        waiting_bytes_max: WAITING_BYTES_MAX,
    };
    let (wal, thread) = Wal::open(dir, config, ()).expect("opens");
    let outcome = act(&wal).await;
    wal.stop();
    thread.join().expect("writer");
    outcome
}

fn entry(index: u64, term: u64, len: usize) -> (Record, Bytes) {
    let payload = Bytes::from(vec![u8::try_from(index % 251).expect("byte"); len]);
    let record = Record {
        group: GROUP,
        kind: Kind::Normal,
        a: index,
        b: term,
        payload: payload.clone(),
    };
    (record, payload)
}

async fn append(wal: &Wal, indexes: impl Iterator<Item = u64>, term: u64, len: usize) {
    for index in indexes {
        let (record, payload) = entry(index, term, len);
        let log = wal.log(GROUP);
        log.lock()
            .push(log_id(term, index), Kind::Normal, payload)
            .expect("follows");
        wal.write_durably(vec![record]).await.expect("durable");
    }
}

/// Terms of the live entries by index; each payload is read and compared.
fn terms(wal: &Wal) -> BTreeMap<u64, u64> {
    let log = wal.log(GROUP);
    let found = log
        .lock()
        .find(wal.files(), 0..u64::MAX, usize::MAX)
        .expect("there");
    found
        .into_iter()
        .map(|found| {
            let entry = found.load().expect("readable");
            let index = entry.log_id.index;
            if let openraft::EntryPayload::Normal(payload) = &entry.payload {
                let expected = u8::try_from(index % 251).expect("byte");
                assert!(payload.0.iter().all(|b| *b == expected), "entry {index}");
            }
            (index, super::super::types::term(&entry.log_id))
        })
        .collect()
}

#[tokio::test]
async fn entries_votes_truncations_and_purges_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("directory");
    let vote = Vote::new_committed(2, 1);
    with_wal(dir.path(), async |wal| {
        append(wal, 0..8, 1, 100).await;
        let log = wal.log(GROUP);
        log.lock().truncate_from(5);
        log.lock().set_vote(vote);
        let records = vec![Record::truncate(GROUP, 5), Record::vote(GROUP, &vote)];
        wal.write_durably(records).await.expect("durable");
        append(wal, 5..7, 2, 100).await;
        log.lock().purge(log_id(1, 2));
        let purge = Record::purge(GROUP, &log_id(1, 2));
        wal.write_durably(vec![purge]).await.expect("durable");
    })
    .await;
    with_wal(dir.path(), async |wal| {
        assert_eq!(wal.groups(), [GROUP]);
        let expected = BTreeMap::from([(3, 1), (4, 1), (5, 2), (6, 2)]);
        assert_eq!(terms(wal), expected);
        let log = wal.log(GROUP);
        assert_eq!(log.lock().vote(), Some(vote));
        assert_eq!(log.lock().purged(), Some(log_id(1, 2)));
    })
    .await;
}

#[tokio::test]
async fn files_are_used_again_and_old_entries_are_carried_along() {
    let dir = tempfile::tempdir().expect("directory");
    let other = GroupId(9);
    with_wal(dir.path(), async |wal| {
        // A group that is never purged holds the first file.
        let (mut record, payload) = entry(0, 1, 50);
        record.group = other;
        wal.log(other)
            .lock()
            .push(log_id(1, 0), Kind::Normal, payload)
            .expect("first");
        wal.write_durably(vec![record]).await.expect("durable");
        for round in 0..40_u64 {
            append(wal, round * 10..(round + 1) * 10, 1, 300).await;
            let upto = log_id(1, round * 10 + 8);
            wal.log(GROUP).lock().purge(upto);
            let purge = Record::purge(GROUP, &upto);
            wal.write_durably(vec![purge]).await.expect("durable");
        }
    })
    .await;
    let used = file::list(dir.path(), "wal").expect("lists").len();
    let spare = file::list(dir.path(), "spare").expect("lists").len();
    assert!(used + spare <= 6, "{used} files and {spare} spares");
    with_wal(dir.path(), async |wal| {
        assert_eq!(terms(wal), BTreeMap::from([(399, 1)]));
        let log = wal.log(other);
        assert_eq!(log.lock().last(), Some(log_id(1, 0)));
    })
    .await;
}

#[tokio::test]
async fn a_crash_before_a_purge_and_a_truncation_are_written_leaves_no_gap() {
    let dir = tempfile::tempdir().expect("directory");
    let other = GroupId(9);
    with_wal(dir.path(), async |wal| {
        append(wal, 0..30, 1, 300).await;
        let first = file::path(dir.path(), 1);
        assert!(file::path(dir.path(), 2).exists() && first.exists());
        // The index has it, the record is never written.
        let log = wal.log(GROUP);
        log.lock().purge(log_id(1, 2));
        log.lock().truncate_from(3);
        for index in 0..30 {
            let (mut record, payload) = entry(index, 1, 300);
            record.group = other;
            let log = wal.log(other);
            log.lock()
                .push(log_id(1, index), Kind::Normal, payload)
                .expect("follows");
            wal.write_durably(vec![record]).await.expect("durable");
        }
        assert!(!first.exists(), "the first file was freed");
    })
    .await;
    with_wal(dir.path(), async |wal| {
        assert_eq!(terms(wal), BTreeMap::new());
        let log = wal.log(GROUP);
        assert_eq!(log.lock().last(), Some(log_id(1, 2)));
        append(wal, 3..5, 2, 10).await;
        assert_eq!(terms(wal), BTreeMap::from([(3, 2), (4, 2)]));
    })
    .await;
}

#[tokio::test]
async fn a_last_record_torn_at_any_byte_is_cut_and_the_log_goes_on() {
    let dir = tempfile::tempdir().expect("directory");
    let last = with_wal(dir.path(), async |wal| {
        append(wal, 0..3, 1, 60).await;
        entry(2, 1, 60).0.len()
    })
    .await;
    let path = file::path(dir.path(), 1);
    let whole = std::fs::read(&path).expect("file");
    let start = 2 * last;
    for torn in 0..last {
        // What a crash leaves: the first bytes, and zeroes where the rest would be.
        let mut bytes = whole.clone();
        bytes[start + torn..start + last].fill(0);
        if bytes == whole {
            continue;
        }
        std::fs::write(&path, &bytes).expect("torn");
        with_wal(dir.path(), async |wal| {
            let found = terms(wal);
            let lost_padding_only = found.len() == 3;
            let payload_end = 40 + 60;
            assert_eq!(lost_padding_only, torn >= payload_end, "torn at {torn}");
            let next = found.len() as u64;
            append(wal, next..next + 1, 2, 10).await;
            assert_eq!(terms(wal).len(), found.len() + 1);
        })
        .await;
    }
}

#[tokio::test]
async fn a_synced_record_that_is_unreadable_is_refused_and_not_cut() {
    let dir = tempfile::tempdir().expect("directory");
    with_wal(dir.path(), async |wal| append(wal, 0..4, 1, 60).await).await;
    let path = file::path(dir.path(), 1);
    let mut bytes = std::fs::read(&path).expect("file");
    bytes[45] ^= 1;
    std::fs::write(&path, &bytes).expect("damaged");
    let config = Config {
        file_bytes: FILE_BYTES,
        files_max: 3,
        waiting_bytes_max: WAITING_BYTES_MAX,
    };
    let refused = Wal::open(dir.path(), config, ()).err().expect("refused");
    assert!(
        refused.to_string().contains("damaged at byte 0"),
        "{refused}"
    );
}

#[tokio::test]
async fn what_a_recycled_file_still_holds_is_not_read() {
    let dir = tempfile::tempdir().expect("directory");
    with_wal(dir.path(), async |wal| append(wal, 0..4, 1, 60).await).await;
    // The same bytes under another sequence number, as in a file used again.
    let old = std::fs::read(file::path(dir.path(), 1)).expect("file");
    std::fs::remove_file(file::path(dir.path(), 1)).expect("removed");
    std::fs::write(file::path(dir.path(), 2), old).expect("written");
    with_wal(dir.path(), async |wal| {
        assert!(wal.groups().is_empty());
        append(wal, 0..1, 1, 10).await;
        assert_eq!(terms(wal).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_being_read_is_not_used_again() {
    let dir = tempfile::tempdir().expect("directory");
    with_wal(dir.path(), async |wal| append(wal, 0..4, 1, 300).await).await;
    // Started anew, the log has no payloads in memory.
    with_wal(dir.path(), async |wal| {
        let log = wal.log(GROUP);
        let found = log.lock().find(wal.files(), 0..4, usize::MAX);
        let found = found.expect("there");
        for round in 0..20_u64 {
            append(wal, 4 + round * 10..14 + round * 10, 1, 300).await;
            let upto = log_id(1, round * 10 + 12);
            log.lock().purge(upto);
            let purge = Record::purge(GROUP, &upto);
            wal.write_durably(vec![purge]).await.expect("durable");
        }
        assert!(!file::path(dir.path(), 1).exists(), "the file was freed");
        for (index, found) in (0..).zip(found) {
            let entry = found.load().expect("readable");
            let openraft::EntryPayload::Normal(payload) = entry.payload else {
                panic!("not what was written");
            };
            assert_eq!(payload.0.as_ref(), [index; 300]);
        }
    })
    .await;
}

#[tokio::test]
async fn proposals_wait_while_too_much_waits_to_be_written() {
    let dir = tempfile::tempdir().expect("directory");
    with_wal(dir.path(), async |wal| {
        let (stand, stands) = tokio::sync::oneshot::channel();
        let (go_on, held) = std::sync::mpsc::channel();
        wal.write(
            Vec::new(),
            Box::new(move |_| {
                stand.send(()).expect("awaited");
                held.recv().expect("told");
            }),
        );
        stands.await.expect("the writer stands still");
        assert!(wal.admits(GROUP).await);
        wal.write(vec![entry(0, 1, WAITING_BYTES_MAX).0], Box::new(|_| ()));
        let mut admitted = Box::pin(wal.admits(GROUP));
        assert_eq!(admitted.as_mut().now_or_never(), None);
        go_on.send(()).expect("waits");
        assert!(admitted.await);
    })
    .await;
}

#[tokio::test]
async fn what_a_log_that_has_failed_refuses_keeps_no_proposal_waiting() {
    let dir = tempfile::tempdir().expect("directory");
    with_wal(dir.path(), async |wal| {
        let too_large = entry(0, 1, 2 * FILE_BYTES).0;
        let failed = wal.write_durably(vec![too_large]).await;
        assert!(failed.is_err());
        let refused = wal.write_durably(vec![entry(0, 1, WAITING_BYTES_MAX).0]);
        assert!(refused.await.is_err());
        assert_eq!(wal.admits(GROUP).now_or_never(), Some(true));
    })
    .await;
}

#[tokio::test]
#[ignore = "fills the file system of TMPDIR: mount one of some 24 MB there"]
async fn a_full_disk_is_known_while_there_is_room_for_votes_and_waited_for_after_that() {
    let dir = tempfile::tempdir().expect("directory");
    let config = Config {
        file_bytes: 4 << 20,
        files_max: 3,
        waiting_bytes_max: WAITING_BYTES_MAX,
    };
    let (wal, thread) = Wal::open(&dir.path().join("wal"), config, ()).expect("opens");
    let ballast = dir.path().join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 24 << 20]);
    assert!(filled.is_err(), "the file system is larger than 24 MB");
    let mut room = wal.room();
    let mut next = 0;
    while *room.borrow() == Room::Ample {
        append(&wal, next..next + 1, 1, 100_000).await;
        next += 1;
    }
    assert_eq!(*room.borrow_and_update(), Room::Last);
    assert!(!wal.admits(GROUP).await);
    assert!(wal.admits(GroupId::METADATA).await);
    let vote = Record::vote(GROUP, &Vote::new(2, 1));
    wal.write_durably(vec![vote]).await.expect("durable");
    let full = room.wait_for(|room| *room == Room::Nothing);
    let fill = async {
        loop {
            append(&wal, next..next + 1, 1, 100_000).await;
            next += 1;
        }
    };
    tokio::select! {
        full = full => drop(full.expect("writes")),
        () = fill => {}
    }
    assert!(!wal.admits(GroupId::METADATA).await);
    std::fs::remove_file(&ballast).expect("removed");
    room.wait_for(|room| *room == Room::Ample)
        .await
        .expect("writes");
    assert!(wal.admits(GROUP).await);
    wal.write_durably(Vec::new()).await.expect("durable");
    wal.stop();
    thread.join().expect("writer");
    assert_eq!(terms(&wal).len() as u64, next + 1);
}

/// Sectors that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

fn config() -> Config {
    Config {
        file_bytes: FILE_BYTES,
        files_max: 3,
        waiting_bytes_max: WAITING_BYTES_MAX,
    }
}

/// What a start finds, or that it is refused; vote and entries with it.
fn started(dir: &Path) -> Option<(BTreeMap<u64, u64>, Option<Vote>)> {
    let (wal, thread) = Wal::open(dir, config(), ()).ok()?;
    let vote = wal.log(GROUP).lock().vote();
    let found = terms(&wal);
    wal.stop();
    thread.join().expect("writer");
    Some((found, vote))
}

#[tokio::test]
async fn a_group_commit_torn_at_any_sector_keeps_what_was_synced_and_a_prefix_of_the_rest() {
    let dir = tempfile::tempdir().expect("directory");
    let vote = Vote::new_committed(2, 1);
    with_wal(dir.path(), async |wal| {
        append(wal, 0..3, 1, 100).await;
        wal.log(GROUP).lock().set_vote(vote);
        wal.write_durably(vec![Record::vote(GROUP, &vote)])
            .await
            .expect("durable");
        let mut records = Vec::new();
        for index in 3..20 {
            let (record, payload) = entry(index, 2, 170);
            let log = wal.log(GROUP);
            log.lock()
                .push(log_id(2, index), Kind::Normal, payload)
                .expect("follows");
            records.push(record);
        }
        wal.write_durably(records).await.expect("durable");
    })
    .await;
    let path = file::path(dir.path(), 1);
    let whole = std::fs::read(&path).expect("file");
    let synced = 3 * entry(0, 1, 100).0.len() + Record::vote(GROUP, &vote).len();
    let each = entry(3, 2, 170).0.len();
    let end = synced + 17 * each;
    for sector in synced / SECTOR_BYTES..=end / SECTOR_BYTES {
        let from = (sector * SECTOR_BYTES).max(synced);
        let to = ((sector + 1) * SECTOR_BYTES).min(end);
        for torn in [from..whole.len(), from..to] {
            let mut bytes = whole.clone();
            bytes[torn.clone()].fill(0);
            std::fs::write(&path, &bytes).expect("torn");
            let (found, voted) = started(dir.path()).expect("starts");
            assert_eq!(voted, Some(vote), "sector {sector}");
            let entries = 3 + (from - synced) / each;
            let expected = (0..entries as u64).map(|i| (i, if i < 3 { 1 } else { 2 }));
            assert_eq!(found, expected.collect(), "{torn:?}");
        }
    }
}

#[tokio::test]
async fn a_changed_byte_of_what_was_synced_is_refused_or_changes_nothing() {
    let dir = tempfile::tempdir().expect("directory");
    let vote = Vote::new_committed(2, 1);
    let last = with_wal(dir.path(), async |wal| {
        append(wal, 0..3, 1, 60).await;
        wal.log(GROUP).lock().set_vote(vote);
        wal.write_durably(vec![Record::vote(GROUP, &vote)])
            .await
            .expect("durable");
        append(wal, 3..5, 2, 60).await;
        entry(4, 2, 60).0.len()
    })
    .await;
    let path = file::path(dir.path(), 1);
    let whole = std::fs::read(&path).expect("file");
    let end = 5 * last + Record::vote(GROUP, &vote).len();
    let all: BTreeMap<u64, u64> = [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)].into();
    for at in 0..end {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).expect("changed");
        let Some((found, voted)) = started(dir.path()) else {
            continue;
        };
        assert_eq!(voted, Some(vote), "byte {at}");
        let mut expected = all.clone();
        if found != expected {
            // Nothing behind the last write tells that it was synced: it looks like one that was torn.
            assert!(at >= end - last, "byte {at}");
            expected.pop_last();
        }
        assert_eq!(found, expected, "byte {at}");
    }
}
