#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod failing;
mod leading;
mod producing;

use model::{
    BrokerId, Epoch, Offset,
    batch::{Builder, Header},
};

use super::{producers::Producers, *};

const LAG_MS: i64 = 30_000;

fn ids(list: &[i32]) -> Vec<BrokerId> {
    list.iter().copied().map(BrokerId).collect()
}

fn rules(in_sync_min: usize) -> Rules {
    Rules {
        in_sync_min,
        lag_max_ms: LAG_MS,
        synced_only: false,
    }
}

fn membership(epoch: i32, version: i32, in_sync: &[i32]) -> Membership {
    Membership {
        leader: Some(BrokerId(1)),
        leader_epoch: Epoch(epoch),
        partition_epoch: version,
        replicas: ids(&[1, 2, 3]),
        in_sync: ids(in_sync),
        eligible: Vec::new(),
    }
}

/// Broker 1 leads three replicas since time 0, with an empty log.
fn leader(in_sync_min: usize, in_sync: &[i32]) -> Replica {
    let mut replica = Replica::new(
        BrokerId(1),
        rules(in_sync_min),
        Ends::default(),
        Offset(0),
        Producers::default(),
    );
    replica.assign(membership(0, 0, in_sync), 0);
    replica
}

fn header(producer: i64, epoch: i16, sequence: i32, records: i32) -> Header {
    let mut b = Builder::default();
    if producer >= 0 {
        b = b.producer(producer, epoch, sequence);
    }
    for _ in 0..records {
        b.push(7, None, None);
    }
    Header::parse(&b.build().unwrap()).unwrap()
}

/// Admits and writes batches of `records` records without a producer, one token each.
fn append(replica: &mut Replica, tokens: &[Token], records: i32, now_ms: i64) -> Vec<Effect> {
    let mut end = replica.position().next;
    for token in tokens {
        let admitted = replica.admit(
            &header(-1, 0, 0, records),
            Ack::InSync,
            now_ms,
            now_ms + 1000,
            *token,
        );
        assert!(matches!(admitted, Admission::Write { base_offset, .. } if base_offset == end));
        end = Offset(end.0 + i64::from(records));
    }
    replica.written(end, now_ms)
}

fn at(n: i64) -> Position {
    Position {
        next: Offset(n),
        held: Offset(n),
    }
}

fn done(token: Token) -> Effect {
    Effect::Answer {
        token,
        outcome: Ok(()),
    }
}

fn proposal(epoch: i32, version: i32, in_sync: &[i32]) -> Effect {
    Effect::Propose {
        in_sync: ids(in_sync),
        leader_epoch: Epoch(epoch),
        partition_epoch: version,
    }
}
