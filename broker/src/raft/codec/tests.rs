use std::collections::BTreeSet;

use bytes::{Bytes, BytesMut};
use openraft::raft::AppendEntriesRequest;

use super::super::types::{Entry, EntryPayload, Membership, Vote, log_id};
use super::{Malformed, append, decode_commands, encode_commands, put_append};

fn request() -> AppendEntriesRequest<super::TypeConfig> {
    let voters = BTreeSet::from([0, 1, 2]);
    let membership = Membership::new_with_defaults(vec![voters], [7]);
    let commands = encode_commands(5, &[Bytes::from_static(b"one"), Bytes::new()]);
    let payloads = [
        EntryPayload::Blank,
        EntryPayload::Normal(commands),
        EntryPayload::Membership(membership),
    ];
    AppendEntriesRequest {
        vote: Vote::new_committed(3, 1),
        prev_log_id: None,
        entries: (4..)
            .zip(payloads)
            .map(|(index, payload)| Entry {
                log_id: log_id(3, index),
                payload,
            })
            .collect(),
        leader_commit: Some(log_id(2, 3)),
    }
}

#[test]
fn an_append_is_read_back() {
    let sent = request();
    let mut bytes = BytesMut::new();
    put_append(&mut bytes, &sent);
    let read = append(&mut bytes.freeze()).expect("well formed");
    assert_eq!(read.vote, sent.vote);
    assert_eq!(read.prev_log_id, sent.prev_log_id);
    assert_eq!(read.leader_commit, sent.leader_commit);
    assert_eq!(read.entries, sent.entries);
}

#[test]
fn every_cut_of_an_append_is_refused_without_a_panic() {
    let mut bytes = BytesMut::new();
    put_append(&mut bytes, &request());
    let bytes = bytes.freeze();
    for len in 0..bytes.len() {
        assert!(append(&mut bytes.slice(..len)).is_err(), "{len}");
    }
}

#[test]
fn a_count_beyond_the_bytes_is_refused_before_memory_is_taken() {
    let mut hostile = encode_commands(0, &[]).0.to_vec();
    hostile[8..12].fill(0xff);
    let payload = super::Payload(hostile.into());
    assert_eq!(decode_commands(&payload), Err(Malformed("entry")));
}
