use std::time::Duration;

use kafka_wire::messages::{api_versions, describe_groups, join_group, metadata};
use kafka_wire::{ApiKey, ErrorCode, Request, Str};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{Frames, Pipeline};
use crate::kafka::testing::{self, Client, frame};

fn named() -> api_versions::Request {
    api_versions::Request {
        client_software_name: Str::from_static("test"),
        client_software_version: Str::from_static("1"),
        ..api_versions::Request::default()
    }
}

#[tokio::test]
async fn api_versions_from_the_future_are_answered_in_version_0() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    client
        .send_bytes(&frame(ApiKey::ApiVersions, 77, 5, |w| w.int8(0)))
        .await;
    let (id, response) = client
        .receive::<api_versions::Response>(ApiKey::ApiVersions, 0)
        .await;
    assert_eq!(id, 5);
    assert_eq!(response.error_code, ErrorCode::UnsupportedVersion.code());
    assert_eq!(response.api_keys.len(), 1);
    assert_eq!(response.api_keys[0].api_key, ApiKey::ApiVersions.code());
    assert_eq!(client.call(4, &named()).await.error_code, 0);
}

#[tokio::test]
async fn api_versions_without_a_client_name_are_invalid() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    let response = client.call(3, &api_versions::Request::default()).await;
    assert_eq!(response.error_code, ErrorCode::InvalidRequest.code());
}

#[tokio::test]
async fn a_client_that_means_another_broker_is_told_to_look_around() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    let elsewhere = api_versions::Request {
        node_id: 3,
        ..named()
    };
    let response = client.call(5, &elsewhere).await;
    assert_eq!(response.error_code, ErrorCode::RebootstrapRequired.code());
}

#[tokio::test]
async fn unknown_keys_versions_and_sizes_close_the_connection() {
    let server = testing::serve("socket.request.max.bytes=1000").await;
    let unknown_key = [0, 0, 0, 10, 0x7f, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff];
    let unknown_version = frame(ApiKey::Metadata, 99, 1, |_| {});
    let malformed = frame(ApiKey::Metadata, 1, 1, |w| w.int32(i32::MAX));
    let too_large = 1001_i32.to_be_bytes();
    let negative = (-1_i32).to_be_bytes();
    let cases: [&[u8]; 5] = [
        &unknown_key,
        &unknown_version,
        &malformed,
        &too_large,
        &negative,
    ];
    for bytes in cases {
        let mut client = Client::connect(&server).await;
        client.send_bytes(bytes).await;
        client.closed().await;
    }
    let mut client = Client::connect(&server).await;
    assert_eq!(client.call(4, &named()).await.error_code, 0);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_however_they_are_cut() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    let mut bytes = Vec::new();
    for id in 0..20 {
        bytes.extend(frame(ApiKey::Metadata, 1, id, |w| w.int32(0)));
    }
    for piece in bytes.chunks(7) {
        client.send_bytes(piece).await;
    }
    for id in 0..20 {
        let (answered, response) = client
            .receive::<metadata::Response>(ApiKey::Metadata, 1)
            .await;
        assert_eq!(answered, id);
        assert_eq!(response.brokers.len(), 1);
    }
}

#[tokio::test]
async fn a_front_that_stops_answers_what_it_took_and_closes() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    assert_eq!(client.call(4, &named()).await.error_code, 0);
    server.front.stop.cancel();
    client.closed().await;
}

#[tokio::test]
async fn an_unknown_topic_is_unknown_and_a_bad_name_invalid() {
    let server = testing::serve("auto.create.topics.enable=false").await;
    let mut client = Client::connect(&server).await;
    let topic = |name: &'static str| metadata::MetadataRequestTopic {
        name: Some(Str::from_static(name)),
        ..metadata::MetadataRequestTopic::default()
    };
    let request = metadata::Request {
        topics: Some(vec![topic("none"), topic("no good")]),
        ..metadata::Request::default()
    };
    let response = client.call(12, &request).await;
    let codes: Vec<i16> = response.topics.iter().map(|t| t.error_code).collect();
    assert_eq!(
        codes,
        [
            ErrorCode::UnknownTopicOrPartition.code(),
            ErrorCode::InvalidTopicException.code()
        ]
    );
}

#[tokio::test]
async fn clients_that_announce_and_do_not_send_hold_up_nobody() {
    let small = "socket.request.max.bytes=1000000\nmillrace.kafka.inflight.bytes=300000\n\
                 millrace.kafka.full.stall.ms=200";
    let server = testing::serve(small).await;
    let mut silent = Vec::new();
    for _ in 0..8 {
        let mut client = Client::connect(&server).await;
        client.send_bytes(&1_000_000_i32.to_be_bytes()).await;
        client.send_bytes(&[0; 100_000]).await;
        silent.push(client);
    }
    let mut client = Client::connect(&server).await;
    assert_eq!(client.call(4, &named()).await.error_code, 0);
    // At least those without which the room is full.
    silent.remove(0).closed().await;
}

#[tokio::test]
async fn a_client_that_is_silent_behind_a_large_request_is_not_let_go() {
    let server = testing::serve("millrace.kafka.frame.stall.ms=20").await;
    let mut client = Client::connect(&server).await;
    // Larger than one read, so that the last read takes all that there is and no less than it asks for.
    let large = api_versions::Request {
        client_software_version: Str::from("1".repeat(30_000)),
        ..named()
    };
    assert_eq!(client.call(4, &large).await.error_code, 0);
    let stalls = Duration::from_millis(200);
    assert!(timeout(stalls, client.closed()).await.is_err());
    assert_eq!(client.call(4, &named()).await.error_code, 0);
}

#[tokio::test]
async fn a_client_that_stops_in_the_middle_of_a_request_is_let_go() {
    let server = testing::serve("millrace.kafka.frame.stall.ms=50").await;
    for beginning in [&[0][..], &[0, 0, 1, 0, 0]] {
        let mut client = Client::connect(&server).await;
        client.send_bytes(beginning).await;
        client.closed().await;
    }
}

/// Bytes that a request holds of the room of all while it is served.
async fn held<R: Request>(server: &testing::Server, request: &R) -> usize {
    let front = &server.front;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let (mut stream, peer) = listener.accept().await.unwrap();
    let bytes = frame(R::KEY, 3, 9, |w| request.encode(w, 3));
    client.write_all(&bytes).await.unwrap();
    let (reading, _writing) = stream.split();
    let mut frames = Frames::new(reading, &front.requests, &front.limits.load());
    let frame = frames.next().await.unwrap().unwrap();
    let mut pipeline = Pipeline::new(front.clone(), peer);
    pipeline.take(frame).unwrap();
    front.requests.bytes_max() - front.requests.free_bytes()
}

#[tokio::test]
async fn who_waits_for_the_rest_of_a_group_holds_no_room_of_others() {
    let server = testing::serve("").await;
    let describe = describe_groups::Request {
        groups: vec![Str::from_static("g")],
        ..describe_groups::Request::default()
    };
    assert!(held(&server, &describe).await > 0);
    let join = join_group::Request {
        group_id: Str::from_static("g"),
        ..join_group::Request::default()
    };
    assert_eq!(held(&server, &join).await, 0);
}
