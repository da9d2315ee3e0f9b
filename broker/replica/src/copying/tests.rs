#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use machine::replica::{Membership, Rules};
use model::{BrokerId, TopicId, TopicPartition, batch::Builder};

use super::*;
use crate::{Opening, Timing};

const RULES: Rules = Rules {
    in_sync_min: 1,
    lag_max_ms: 1000,
    synced_only: true,
};

/// Broker 2 follows broker 1 in epoch 0.
fn follower(directory: &std::path::Path) -> Local {
    let membership = Membership {
        leader: Some(BrokerId(1)),
        leader_epoch: Epoch(0),
        partition_epoch: 0,
        replicas: vec![BrokerId(1), BrokerId(2)],
        in_sync: vec![BrokerId(1), BrokerId(2)],
        ..Membership::default()
    };
    let mut local = Opening {
        this: BrokerId(2),
        partition: TopicPartition {
            topic: TopicId::default(),
            partition: 0,
        },
        directory: directory.join("log"),
        membership: &membership,
        rules: RULES,
        log: commitlog::Config::default(),
        timing: Timing {
            sync_ms: 100,
            sync_bytes: 1 << 20,
        },
        watermarks: std::sync::Arc::new(crate::Watermarks::load(directory)),
        damaged: false,
        wall_ms: 0,
    }
    .open()
    .unwrap();
    let effects = local.assign(membership, RULES, None, 0);
    for effect in effects {
        if let Effect::Sync(task) = effect {
            local.synced(task.run(), 0);
        }
    }
    local
}

/// A batch of three records that begins at `base`.
fn batch(base: i64) -> Bytes {
    let mut builder = Builder::new(Offset(base)).leader_epoch(Epoch(0));
    for _ in 0..3 {
        builder.push(7, None, None);
    }
    builder.build().unwrap()
}

fn records(from: i64, batches: &[i64], log_start: i64) -> Answer {
    Answer::Records {
        from: Offset(from),
        high_watermark: Offset(30),
        log_start: Offset(log_start),
        batches: batches.iter().map(|base| batch(*base)).collect(),
    }
}

#[test]
fn log_that_is_to_begin_inside_a_batch_takes_it_whole_and_begins_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut local = follower(directory.path());
    let reset = Answer::Reset {
        from: Offset(0),
        start: Offset(25),
    };
    assert!(local.fetched(Epoch(0), reset, 0).0);
    assert!(local.fetched(Epoch(0), records(25, &[24, 27], 25), 0).0);
    let log = local.log();
    assert_eq!(
        (log.start_offset(), log.end_offset()),
        (Offset(25), Offset(30))
    );
    assert_eq!(log.read(Offset(25), 1).unwrap(), [batch(24)]);
}

#[test]
fn what_a_crash_left_unsynced_is_synced_without_another_write() {
    let directory = tempfile::tempdir().unwrap();
    let mut local = follower(directory.path());
    assert!(local.fetched(Epoch(0), records(0, &[0], 0), 0).0);
    drop(local);
    let local = follower(directory.path());
    assert_eq!(local.machine().position().held, Offset(3));
}

#[test]
fn records_that_come_twice_are_taken_once_and_the_newer_watermark_with_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut local = follower(directory.path());
    let told = |high_watermark| Answer::Records {
        from: Offset(0),
        high_watermark: Offset(high_watermark),
        log_start: Offset(0),
        batches: vec![batch(0)],
    };
    for (epoch, watermark, known) in [(0, 0, 0), (0, 3, 3), (0, 1, 3), (1, 2, 3)] {
        assert!(local.fetched(Epoch(epoch), told(watermark), 0).0);
        assert_eq!(local.machine().high_watermark(), Offset(known));
        assert_eq!(local.log().end_offset(), Offset(3));
    }
}

#[test]
fn cut_inside_a_batch_leaves_nothing_noted_beyond_where_the_log_ends() {
    let directory = tempfile::tempdir().unwrap();
    let mut local = follower(directory.path());
    local.delay_delivery(0, 0);
    let some = records(0, &[0, 3, 6], 0);
    assert!(local.fetched(Epoch(0), some, 0).0);
    // All that is there is due and stays so.
    local.delay_delivery(1000, 0);
    let partition = local.partition;
    local.watermarks.note(partition, Offset(9));
    let diverging = Answer::Diverging {
        from: Offset(9),
        known: (Epoch(0), Offset(4)),
    };
    assert!(local.fetched(Epoch(0), diverging, 0).0);
    assert_eq!(local.log.end_offset(), Offset(3));
    let delivered = crate::delivered::Delivered::load(&local.directory).unwrap();
    assert_eq!(delivered.upto, Offset(3));
    assert_eq!(local.watermarks.of(partition), Some(Offset(3)));
}
