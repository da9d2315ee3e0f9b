//! Produce: acknowledgements, refusals and their codes, idempotence.

use bytes::Bytes;
use kafka_wire::ErrorCode;
use kafka_wire::messages::produce::{Request, TopicProduceData};
use model::Offset;
use model::batch::Builder;
use uuid::Uuid;

use super::client::{Client, produce};
use super::fetch::fetch;
use super::{batch, batch_of, create, leader, led_by};
use crate::cluster::Cluster;

#[tokio::test]
async fn batches_get_consecutive_offsets_and_bad_ones_their_codes() {
    let cluster = Cluster::start(1).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut client = Client::connect(&cluster, 0).await;
    let first = client.produce("t", batch(&["a", "b"])).await;
    assert_eq!((first.error_code, first.base_offset), (0, 0));
    assert_eq!(first.log_append_time_ms, -1);
    let second = client.produce("t", batch(&["c"])).await;
    assert_eq!((second.error_code, second.base_offset), (0, 2));

    let mut damaged = batch(&["x"]).to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    let two = [batch(&["x"]), batch(&["y"])].concat();
    let mut old = batch(&["x"]).to_vec();
    old[16] = 1;
    let mut cut = batch(&["x"]);
    cut.truncate(65);
    let control = batch_of(Builder::new(Offset(0)).control(), &["x"]);
    let cases: [(&str, Bytes, ErrorCode); 6] = [
        ("bad CRC", damaged.into(), ErrorCode::CorruptMessage),
        ("two batches", two.into(), ErrorCode::InvalidRecord),
        ("magic 1", old.into(), ErrorCode::InvalidRecord),
        ("cut", cut, ErrorCode::InvalidRecord),
        ("empty", Bytes::new(), ErrorCode::InvalidRecord),
        ("control batch", control, ErrorCode::InvalidRecord),
    ];
    for (what, records, code) in cases {
        let refused = client.produce("t", records).await;
        assert_eq!(refused.error_code, code.code(), "{what}");
        assert_eq!(refused.base_offset, -1, "{what}");
    }
    let last = client.produce("t", batch(&["d"])).await;
    assert_eq!((last.error_code, last.base_offset), (0, 3));
}

#[tokio::test]
async fn requests_that_name_nothing_are_refused_by_code() {
    let cluster = Cluster::start(1).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut client = Client::connect(&cluster, 0).await;
    assert_eq!(client.produce("t", batch(&["a"])).await.error_code, 0);

    let code = |response: kafka_wire::messages::produce::Response| {
        response.responses[0].partition_responses[0].error_code
    };
    let unknown = client
        .call(9, &produce("none", -1, Some(batch(&["a"]))))
        .await;
    assert_eq!(code(unknown), ErrorCode::UnknownTopicOrPartition.code());
    let acks = client.call(9, &produce("t", 2, Some(batch(&["a"])))).await;
    assert_eq!(code(acks), ErrorCode::InvalidRequiredAcks.code());
    let null = client.call(9, &produce("t", -1, None)).await;
    assert_eq!(code(null), ErrorCode::InvalidRecord.code());

    let by_id = produce("", -1, Some(batch(&["a"])));
    let by_id = Request {
        topic_data: vec![TopicProduceData {
            topic_id: Uuid::new_v4(),
            ..by_id.topic_data[0].clone()
        }],
        ..by_id
    };
    let unknown = client.call(13, &by_id).await;
    assert_eq!(code(unknown), ErrorCode::UnknownTopicId.code());
}

#[tokio::test]
async fn without_acks_nothing_is_answered_and_a_failure_closes() {
    let cluster = Cluster::start(1).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut client = Client::connect(&cluster, 0).await;
    assert_eq!(client.produce("t", batch(&["a"])).await.base_offset, 0);
    client.send(9, &produce("t", 0, Some(batch(&["b"])))).await;
    assert_eq!(client.produce("t", batch(&["c"])).await.base_offset, 2);
    client
        .send(9, &produce("none", 0, Some(batch(&["d"]))))
        .await;
    client.closed().await;
}

#[tokio::test]
async fn a_repeated_idempotent_batch_is_answered_with_its_first_offset() {
    let cluster = Cluster::start(1).await;
    create(&cluster, "t", 1, 1, &[]).await;
    let mut client = Client::connect(&cluster, 0).await;
    let send = |sequence| {
        batch_of(
            Builder::new(Offset(0)).producer(4, 0, sequence),
            &["a", "b"],
        )
    };
    assert_eq!(client.produce("t", send(0)).await.base_offset, 0);
    assert_eq!(client.produce("t", send(2)).await.base_offset, 2);
    let again = client.produce("t", send(0)).await;
    assert_eq!((again.error_code, again.base_offset), (0, 0));
    let gap = client.produce("t", send(9)).await;
    assert_eq!(gap.error_code, ErrorCode::OutOfOrderSequenceNumber.code());
}

#[tokio::test]
async fn a_follower_names_the_leader() {
    let cluster = Cluster::start(3).await;
    create(&cluster, "t", 1, 3, &[("min.insync.replicas", "2")]).await;
    let led_by = leader(&cluster, "t");
    let mut right = Client::connect(&cluster, led_by).await;
    assert_eq!(right.produce("t", batch(&["a"])).await.error_code, 0);

    let follower = cluster
        .running()
        .into_iter()
        .find(|id| *id != led_by)
        .unwrap();
    let mut wrong = Client::connect(&cluster, follower).await;
    let response = wrong.call(10, &produce("t", -1, Some(batch(&["b"])))).await;
    let partition = &response.responses[0].partition_responses[0];
    assert_eq!(partition.error_code, ErrorCode::NotLeaderOrFollower.code());
    let named = usize::try_from(partition.current_leader.leader_id).unwrap();
    assert_eq!(named, led_by);
    assert_eq!(response.node_endpoints.len(), 1);
}

#[tokio::test]
async fn a_leader_that_hears_no_other_broker_sends_its_clients_elsewhere() {
    let mut cluster = Cluster::start_with(3, &[1, 2], &[]).await;
    create(&cluster, "t", 3, 3, &[("min.insync.replicas", "1")]).await;
    let image = cluster
        .sees(0, |image| led_by(image, "t", 0).is_some())
        .await;
    let to_own = |acks, timeout_ms| {
        let mut request = produce("t", acks, Some(batch(&["a"])));
        request.topic_data[0].partition_data[0].index = led_by(&image, "t", 0).unwrap();
        Request {
            timeout_ms,
            ..request
        }
    };
    let mut client = Client::connect(&cluster, 0).await;
    cluster.kill_broker(1);
    cluster.kill_broker(2);
    // Waits for both of the others to acknowledge it, and they would have to be replaced first.
    let answer = client.call(9, &to_own(-1, i32::MAX)).await;
    let code = answer.responses[0].partition_responses[0].error_code;
    assert_eq!(code, ErrorCode::NotLeaderOrFollower.code());
    // It would name itself again: the client shall ask another.
    client.closed().await;
    // Somebody else may have what it has not.
    let mut client = Client::connect(&cluster, 0).await;
    let mut beyond = fetch(1000, 0);
    beyond.topics[0].partitions[0].partition = led_by(&image, "t", 0).unwrap();
    let answer = client.call(12, &beyond).await;
    let code = answer.responses[0].partitions[0].error_code;
    assert_eq!(code, ErrorCode::NotLeaderOrFollower.code());
    client.closed().await;
    // What needs nobody else goes on.
    let mut client = Client::connect(&cluster, 0).await;
    let alone = client.call(9, &to_own(1, 30_000)).await;
    assert_eq!(alone.responses[0].partition_responses[0].error_code, 0);
}
