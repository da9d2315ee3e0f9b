//! Fetch and list offsets: what is there, what is waited for, what is out of range.

use kafka_wire::messages::fetch::{FetchPartition, FetchTopic, PartitionData, Request, Response};
use kafka_wire::messages::list_offsets;
use kafka_wire::{ErrorCode, Str};
use tokio::time::timeout;

use super::client::Client;
use super::{T0, batch, create, leader};
use crate::cluster::{Cluster, LONG};

pub(super) fn fetch(offset: i64, max_wait_ms: i32) -> Request {
    Request {
        max_wait_ms,
        min_bytes: 1,
        topics: vec![FetchTopic {
            topic: Str::from_static("t"),
            partitions: vec![FetchPartition {
                partition: 0,
                fetch_offset: offset,
                partition_max_bytes: 1 << 20,
                ..FetchPartition::default()
            }],
            ..FetchTopic::default()
        }],
        ..Request::default()
    }
}

pub(super) fn only(mut response: Response) -> PartitionData {
    assert_eq!(response.error_code, 0);
    response.responses.remove(0).partitions.remove(0)
}

pub(super) fn bytes(partition: PartitionData) -> usize {
    partition.records.map_or(0, |records| records.len())
}

async fn filled() -> (Cluster, Client) {
    let cluster = Cluster::start(1).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut client = Client::connect(&cluster, 0).await;
    assert_eq!(client.produce("t", batch(&["a", "b"])).await.base_offset, 0);
    assert_eq!(
        client
            .produce("t", batch(&["c", "d", "e"]))
            .await
            .base_offset,
        2
    );
    (cluster, client)
}

#[tokio::test]
async fn what_was_produced_is_fetched_as_it_was_sent() {
    let (_cluster, mut client) = filled().await;
    let fetched = only(client.call(12, &fetch(0, 0)).await);
    assert_eq!((fetched.error_code, fetched.high_watermark), (0, 5));
    assert_eq!(fetched.last_stable_offset, 5);
    assert_eq!(fetched.log_start_offset, 0);
    let records = fetched.records.unwrap().into_bytes();
    let first = batch(&["a", "b"]);
    // Only the leader epoch, outside of what the checksum covers, is the broker's.
    assert_eq!(records[16..first.len()], first[16..]);
    assert_eq!(records.len(), first.len() + batch(&["c", "d", "e"]).len());
}

#[tokio::test]
async fn the_first_batch_comes_whole_however_little_is_asked_for() {
    let (_cluster, mut client) = filled().await;
    let tiny = Request {
        max_bytes: 1,
        ..fetch(0, 0)
    };
    let fetched = only(client.call(12, &tiny).await);
    assert_eq!(bytes(fetched), batch(&["a", "b"]).len());
}

#[tokio::test]
async fn offsets_outside_the_log_are_answered_at_once() {
    let (_cluster, mut client) = filled().await;
    for offset in [6, 1000, -1] {
        let refused = only(client.call(12, &fetch(offset, 60_000)).await);
        assert_eq!(
            refused.error_code,
            ErrorCode::OffsetOutOfRange.code(),
            "{offset}"
        );
        assert_eq!(refused.high_watermark, -1);
        assert_eq!(bytes(refused), 0);
    }
}

#[tokio::test]
async fn a_fetch_at_the_end_waits_for_the_next_batch() {
    let (cluster, mut producer) = filled().await;
    let mut consumer = Client::connect(&cluster, 0).await;
    consumer.send(12, &fetch(5, 60_000)).await;
    assert_eq!(producer.produce("t", batch(&["f"])).await.base_offset, 5);
    let fetched = only(consumer.receive::<Request>(12).await);
    assert_eq!(fetched.error_code, 0);
    assert_eq!(bytes(fetched), batch(&["f"]).len());
}

#[tokio::test]
async fn a_fetch_session_tells_only_what_changed() {
    let (_cluster, mut client) = filled().await;
    let open = Request {
        session_epoch: 0,
        ..fetch(5, 0)
    };
    let opened = client.call(12, &open).await;
    assert_ne!(opened.session_id, 0);
    assert_eq!(opened.responses.len(), 1);
    let quiet = Request {
        session_id: opened.session_id,
        session_epoch: 1,
        topics: Vec::new(),
        ..fetch(5, 0)
    };
    assert!(client.call(12, &quiet).await.responses.is_empty());
    assert_eq!(client.produce("t", batch(&["f"])).await.base_offset, 5);
    let news = Request {
        session_epoch: 2,
        ..quiet.clone()
    };
    assert_eq!(client.call(12, &news).await.responses.len(), 1);
    let stale = client.call(12, &news).await;
    assert_eq!(stale.error_code, ErrorCode::InvalidFetchSessionEpoch.code());
}

#[tokio::test]
async fn leader_epochs_are_compared_both_ways() {
    let (_cluster, mut client) = filled().await;
    let mut newer = fetch(0, 0);
    newer.topics[0].partitions[0].current_leader_epoch = 1000;
    let refused = only(client.call(12, &newer).await);
    assert_eq!(refused.error_code, ErrorCode::UnknownLeaderEpoch.code());
}

#[tokio::test]
async fn offsets_are_listed_by_place_and_by_time() {
    let (_cluster, mut client) = filled().await;
    let ask = |timestamp| list_offsets::Request {
        topics: vec![list_offsets::ListOffsetsTopic {
            name: Str::from_static("t"),
            partitions: vec![list_offsets::ListOffsetsPartition {
                timestamp,
                ..list_offsets::ListOffsetsPartition::default()
            }],
        }],
        ..list_offsets::Request::default()
    };
    // The batches have timestamps T0, T0+1 and T0, T0+1, T0+2.
    let cases = [
        (-1, 0, -1, 5),
        (-2, 0, -1, 0),
        (-3, 0, T0 + 2, 4),
        (-4, 0, -1, 0),
        (-5, 0, -1, -1),
        (-9, ErrorCode::UnsupportedVersion.code(), -1, -1),
        (T0, 0, T0, 0),
        (T0 + 1, 0, T0 + 1, 1),
        (T0 + 2, 0, T0 + 2, 4),
        (T0 + 3, 0, -1, -1),
    ];
    for (asked, code, timestamp, offset) in cases {
        let response = client.call(9, &ask(asked)).await;
        let found = &response.topics[0].partitions[0];
        assert_eq!(
            (found.error_code, found.timestamp, found.offset),
            (code, timestamp, offset),
            "asked for {asked}"
        );
    }
}

#[tokio::test]
async fn clients_that_do_not_read_hold_up_no_other_and_are_let_go() {
    let settings = [
        "millrace.kafka.reply.bytes=1",
        "millrace.kafka.full.stall.ms=100",
    ];
    let cluster = Cluster::start_with(1, &[], &settings).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut client = Client::connect(&cluster, 0).await;
    let large = batch(&["x".repeat(900_000).as_str()]);
    assert_eq!(client.produce("t", large.clone()).await.error_code, 0);
    let mut slow = Client::connect(&cluster, 0).await;
    for _ in 0..40 {
        // More than the sockets between take.
        slow.send(12, &fetch(0, 0)).await;
    }
    let let_go = async {
        while slow.try_send(12, &fetch(0, 0)).await.is_ok() {
            let fetched = only(client.call(12, &fetch(0, 0)).await);
            assert_eq!(bytes(fetched), large.len());
        }
    };
    timeout(LONG, let_go).await.unwrap();
}

#[tokio::test]
async fn fetches_that_wait_let_others_in_when_requests_have_no_more_room() {
    let settings = ["millrace.kafka.inflight.bytes=1"];
    let cluster = Cluster::start_with(1, &[], &settings).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut waiting = Vec::new();
    // One fills the room, one is let in beyond it.
    for _ in 0..2 {
        let mut client = Client::connect(&cluster, 0).await;
        client.send(12, &fetch(0, i32::MAX)).await;
        waiting.push(client);
    }
    let mut client = Client::connect(&cluster, 0).await;
    let served = client.produce("t", batch(&["x"]));
    assert_eq!(timeout(LONG, served).await.unwrap().error_code, 0);
}

#[tokio::test]
async fn a_consumer_reads_on_from_the_in_sync_follower_of_its_rack() {
    let cluster = Cluster::start(3).await;
    create(&cluster, "t", 1, 3, &[]).await;
    let leads = leader(&cluster, "t");
    let near = (leads + 1) % 3;
    let mut at_leader = Client::connect(&cluster, leads).await;
    assert_eq!(at_leader.produce("t", batch(&["a"])).await.base_offset, 0);

    let from_rack = |rack: usize, offset| Request {
        rack_id: Str::from(["a", "b", "c"][rack]),
        ..fetch(offset, 20_000)
    };
    let sent = only(at_leader.call(12, &from_rack(near, 0)).await);
    assert_eq!(usize::try_from(sent.preferred_read_replica), Ok(near));
    assert_eq!((sent.error_code, bytes(sent)), (0, 0));
    let stays = only(at_leader.call(12, &from_rack(leads, 0)).await);
    assert_eq!(stays.preferred_read_replica, -1);
    assert!(bytes(stays) > 0);
    let beyond = only(at_leader.call(12, &from_rack(near, 9)).await);
    assert_eq!(beyond.preferred_read_replica, -1);
    assert_eq!(beyond.error_code, ErrorCode::OffsetOutOfRange.code());

    let mut at_near = Client::connect(&cluster, near).await;
    let first = only(at_near.call(12, &from_rack(near, 0)).await);
    assert_eq!((first.error_code, first.high_watermark), (0, 1));
    assert!(bytes(first) > 0);
    let request = from_rack(near, 1);
    let waiting = at_near.call(12, &request);
    let (next, _) = tokio::join!(waiting, at_leader.produce("t", batch(&["b"])));
    let next = only(next);
    assert_eq!(
        next.high_watermark, 2,
        "its long poll heard of the next one"
    );
    assert!(bytes(next) > 0);

    // What else a follower is asked.
    let not_leader = ErrorCode::NotLeaderOrFollower.code();
    let beyond = only(at_near.call(12, &from_rack(near, 9)).await);
    assert_eq!(beyond.error_code, ErrorCode::OffsetOutOfRange.code());
    let older = only(at_near.call(10, &fetch(0, 0)).await);
    assert_eq!(older.error_code, not_leader, "knows nothing of followers");
    let mut of_the_past = from_rack(near, 0);
    of_the_past.topics[0].partitions[0].current_leader_epoch = 9;
    let newer = only(at_near.call(12, &of_the_past).await);
    assert_eq!(newer.error_code, ErrorCode::UnknownLeaderEpoch.code());
}
