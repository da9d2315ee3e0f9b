#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use machine::replica::{Ack, Admission};
use model::{TopicId, batch::Builder};

use super::*;
use crate::Opening;

fn ids(list: &[i32]) -> Vec<BrokerId> {
    list.iter().copied().map(BrokerId).collect()
}

/// Broker 1 leads in that epoch, broker 2 follows.
fn led(epoch: i32) -> Membership {
    Membership {
        leader: Some(BrokerId(1)),
        leader_epoch: Epoch(epoch),
        partition_epoch: epoch,
        replicas: ids(&[1, 2]),
        in_sync: ids(&[1, 2]),
        ..Membership::default()
    }
}

#[test]
fn position_that_was_compared_in_another_epoch_is_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let rules = Rules {
        in_sync_min: 1,
        lag_max_ms: 1000,
        synced_only: false,
    };
    let mut local = Opening {
        this: BrokerId(1),
        partition: TopicPartition {
            topic: TopicId::default(),
            partition: 0,
        },
        directory: directory.path().join("log"),
        membership: &led(0),
        rules,
        log: commitlog::Config::default(),
        timing: Timing {
            sync_ms: 100,
            sync_bytes: 1 << 20,
        },
        watermarks: Arc::new(Watermarks::load(directory.path())),
        damaged: false,
        wall_ms: 0,
    }
    .open()
    .unwrap();
    local.assign(led(3), rules, None, 0);
    let mut builder = Builder::default();
    builder.push(7, None, None);
    let batch = Batch::parse(&builder.build().unwrap()).unwrap();
    let admitted = local.admit(batch, Ack::InSync, 0, 1000, 9);
    assert!(matches!(admitted, Admission::Write { .. }));
    local.write(0);
    let at = Position {
        next: Offset(1),
        held: Offset(1),
    };
    // What it had under an earlier leadership may since have been cut here, and other records stand there.
    local.follower_at(BrokerId(2), (Epoch(2), 0), at, 0);
    assert_eq!(local.machine().high_watermark(), Offset(0));
    let effects = local.follower_at(BrokerId(2), (Epoch(3), 0), at, 0);
    assert_eq!(local.machine().high_watermark(), Offset(1));
    assert!(matches!(
        effects[..],
        [Effect::Answer {
            token: 9,
            outcome: Ok(())
        }]
    ));
}
