use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;

/// Answers one request with `status` and `body`; returns its address and what it was sent.
fn one_answer(status: &'static str, body: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        let mut buffer = [0; 4096];
        while !got.windows(4).any(|w| w == b"\r\n\r\n") {
            let n = stream.read(&mut buffer).unwrap();
            got.extend_from_slice(&buffer[..n]);
        }
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        String::from_utf8(got).unwrap()
    });
    (address, served)
}

#[test]
fn slash_vhost_travels_as_one_segment() {
    let url = join(
        &parse_address("localhost:9644").unwrap(),
        &["v1", "vhosts", "/", "queues", "a b"],
    );
    assert_eq!(
        url.as_str(),
        "http://localhost:9644/v1/vhosts/%2F/queues/a%20b"
    );
}

#[test]
fn address_that_is_not_http_is_refused() {
    for bad in ["https://h:1", "ftp://h", "", "http://"] {
        assert!(
            matches!(Admin::new([bad]), Err(Error::Address(_))),
            "{bad:?}"
        );
    }
    let none: [&str; 0] = [];
    assert!(matches!(Admin::new(none), Err(Error::NoAddress)));
}

#[tokio::test]
async fn next_broker_is_asked_when_one_does_not_answer() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = closed.local_addr().unwrap().to_string();
    drop(closed);
    let (alive, served) = one_answer("200 OK", r#"{"index":7}"#);
    let admin = Admin::new([dead, alive]).unwrap();
    let changes = admin.changes(6, Duration::from_millis(5)).await.unwrap();
    assert_eq!(changes, Changes { index: 7 });
    let request = served.join().unwrap();
    assert!(
        request.starts_with("GET /v1/changes?since=6&timeout_ms=5 HTTP/1.1"),
        "{request}"
    );
}

#[tokio::test]
async fn refusal_keeps_code_message_and_field() {
    let (address, served) = one_answer(
        "400 Bad Request",
        r#"{"code":"invalid","message":"cannot shrink 12 to 3","field":"partitions"}"#,
    );
    let admin = Admin::new([address]).unwrap();
    let error = admin
        .put_topic("t", &TopicSpec::default())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Invalid));
    assert_eq!(error.to_string(), "partitions: cannot shrink 12 to 3");
    assert!(!error.is_transient());
    served.join().unwrap();
}

#[test]
fn code_of_a_later_version_reads_as_unknown() {
    let body: ErrorBody = serde_json::from_str(r#"{"code":"melted","message":"m"}"#).unwrap();
    assert_eq!(body.code, ErrorCode::Unknown);
}
