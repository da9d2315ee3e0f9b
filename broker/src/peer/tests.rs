use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use model::BrokerId;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use uuid::Uuid;

use super::frame::{self, Greeting, Header, Kind, Malformed};
use super::{Address, Config, Error, Handler, Identity, Mesh, Service};

const A: BrokerId = BrokerId(0);
const B: BrokerId = BrokerId(1);
/// Only a bound for a test that would otherwise hang.
const LONG: Duration = Duration::from_secs(20);

struct Echo(mpsc::UnboundedSender<Bytes>);

impl Handler for Echo {
    fn call(&self, _from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes> {
        async move {
            assert_ne!(request.as_ref(), b"panic", "asked to");
            request
        }
        .boxed()
    }

    fn message(&self, _from: BrokerId, message: Bytes) {
        assert_ne!(message.as_ref(), b"panic", "asked to");
        self.0.send(message).expect("test listens");
    }
}

async fn mesh(broker: BrokerId, cluster_id: &str) -> (Mesh, Address) {
    mesh_with(broker, cluster_id, Config::default()).await
}

async fn mesh_with(broker: BrokerId, cluster_id: &str, config: Config) -> (Mesh, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("bound").port();
    let identity = Identity {
        broker,
        cluster_id: cluster_id.to_owned(),
        incarnation: Uuid::nil(),
    };
    let address = Address {
        host: "127.0.0.1".to_owned(),
        port,
    };
    (Mesh::start(identity, config, vec![listener]), address)
}

async fn await_alive(mesh: &Mesh, peer: BrokerId, expected: bool) {
    let mut alive = mesh.alive();
    timeout(LONG, alive.wait_for(|a| a.is_alive(peer) == expected))
        .await
        .expect("in time")
        .expect("mesh lives");
}

async fn pair() -> (Mesh, Mesh, mpsc::UnboundedReceiver<Bytes>) {
    let (a, _) = mesh(A, "c").await;
    let (b, address) = mesh(B, "c").await;
    let (heard, hearing) = mpsc::unbounded_channel();
    b.serve(Service::Queue, Arc::new(Echo(heard)));
    a.set_peers(BTreeMap::from([(B, address)]));
    await_alive(&a, B, true).await;
    (a, b, hearing)
}

#[tokio::test]
async fn a_call_is_answered_by_its_service() {
    let (a, _b, _) = pair().await;
    let large = Bytes::from(vec![7; 3 << 20]);
    let (one, two) = tokio::join!(
        a.call(B, Service::Queue, large.clone()),
        a.call(B, Service::Queue, Bytes::from_static(b"two")),
    );
    assert_eq!(one, Ok(large));
    assert_eq!(two, Ok(Bytes::from_static(b"two")));
    assert_eq!(
        a.call(B, Service::Replica, Bytes::new()).await,
        Err(Error::Refused(B))
    );
}

#[tokio::test]
async fn messages_arrive_in_order() {
    let (a, _b, mut hearing) = pair().await;
    for n in 0..1000_u32 {
        a.send(B, Service::Queue, n.to_be_bytes().to_vec().into())
            .expect("room");
    }
    for n in 0..1000_u32 {
        let heard = timeout(LONG, hearing.recv()).await.expect("in time");
        assert_eq!(heard.as_deref(), Some(n.to_be_bytes().as_slice()));
    }
}

#[tokio::test]
async fn a_handler_that_panics_fails_its_request_only() {
    let (a, _b, mut hearing) = pair().await;
    let panic = Bytes::from_static(b"panic");
    assert_eq!(
        a.call(B, Service::Queue, panic.clone()).await,
        Err(Error::Refused(B))
    );
    a.send(B, Service::Queue, panic).expect("room");
    a.send(B, Service::Queue, Bytes::from_static(b"next"))
        .expect("room");
    assert_eq!(hearing.recv().await, Some(Bytes::from_static(b"next")));
}

#[tokio::test]
async fn a_closed_peer_is_suspected_and_a_returned_one_is_alive() {
    let (a, _) = mesh(A, "c").await;
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = gone.local_addr().expect("bound").port();
    drop(gone);
    let nowhere = Address {
        host: "127.0.0.1".to_owned(),
        port,
    };
    a.set_peers(BTreeMap::from([(B, nowhere)]));
    assert_eq!(
        a.call(B, Service::Queue, Bytes::new()).await,
        Err(Error::Unreachable(B))
    );
    let (_b, address) = mesh(B, "c").await;
    a.set_peers(BTreeMap::from([(B, address)]));
    await_alive(&a, B, true).await;
}

/// A peer that greets and then says nothing, until it is aborted.
async fn mute() -> (Address, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("bound").port();
    let running = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a comes");
        super::connection::await_greeting(&mut stream)
            .await
            .expect("greeting");
        let ours = Greeting {
            version: frame::VERSION,
            from: B,
            to: A,
            incarnation: Uuid::nil(),
            cluster_id: "c".to_owned(),
        };
        tokio::io::AsyncWriteExt::write_all(&mut stream, &ours.encode())
            .await
            .expect("greet");
        std::future::pending::<()>().await;
    });
    let host = "127.0.0.1".to_owned();
    (Address { host, port }, running)
}

#[tokio::test]
async fn a_silent_peer_is_suspected() {
    let config = Config {
        suspect_after: Duration::from_millis(200),
        ..Config::default()
    };
    let (a, _) = mesh_with(A, "c", config).await;
    let (address, silent) = mute().await;
    a.set_peers(BTreeMap::from([(B, address)]));
    await_alive(&a, B, true).await;
    await_alive(&a, B, false).await;
    silent.abort();
}

/// A process that was killed leaves ended connections behind: no silence has to be waited for.
#[tokio::test]
async fn a_peer_whose_connection_ends_is_held_dead_without_a_silence() {
    let config = Config {
        suspect_after: LONG * 100,
        ..Config::default()
    };
    let (a, _) = mesh_with(A, "c", config).await;
    let (address, ending) = mute().await;
    a.set_peers(BTreeMap::from([(B, address)]));
    await_alive(&a, B, true).await;
    ending.abort();
    await_alive(&a, B, false).await;
}

#[tokio::test]
async fn a_broker_of_another_cluster_is_refused() {
    let (a, _) = mesh(A, "mine").await;
    let (b, address) = mesh(B, "theirs").await;
    let (heard, mut hearing) = mpsc::unbounded_channel();
    b.serve(Service::Queue, Arc::new(Echo(heard)));
    a.set_peers(BTreeMap::from([(B, address)]));
    assert_eq!(
        a.call(B, Service::Queue, Bytes::new()).await,
        Err(Error::Unreachable(B))
    );
    assert!(hearing.try_recv().is_err());
    assert!(!a.alive().borrow().is_alive(B));
}

#[test]
fn a_frame_is_taken_only_whole_and_its_length_is_bounded() {
    let header = Header {
        payload_len: 3,
        kind: Kind::Call,
        service: 4,
        correlation: 9,
    };
    let mut bytes = BytesMut::from(header.encode().as_slice());
    bytes.extend_from_slice(b"abc");
    for len in 0..bytes.len() {
        let mut part = BytesMut::from(&bytes[..len]);
        assert!(matches!(frame::take(&mut part, 100), Ok(Err(_))), "{len}");
        assert_eq!(part.len(), len);
    }
    assert_eq!(
        frame::take(&mut bytes.clone(), 2),
        Err(Malformed::TooLong { len: 3, max: 2 })
    );
    assert_eq!(
        frame::take(&mut bytes, 3),
        Ok(Ok((header, Bytes::from_static(b"abc"))))
    );
    assert_eq!(
        frame::take(
            &mut BytesMut::from([0, 0, 0, 0, 99].repeat(4).as_slice()),
            9
        ),
        Err(Malformed::Kind(99))
    );
}

#[test]
fn a_greeting_is_read_back_and_a_stranger_is_not_one() {
    let greeting = Greeting {
        version: 3,
        from: A,
        to: B,
        incarnation: Uuid::from_u128(5),
        cluster_id: "cluster".to_owned(),
    };
    let bytes = greeting.encode();
    assert_eq!(Greeting::decode(&bytes[2..]), Ok(greeting));
    assert_eq!(
        Greeting::decode(b"GET / HTTP/1.1\r\n"),
        Err(Malformed::Greeting)
    );
    for len in 0..30 {
        assert_eq!(
            Greeting::decode(&bytes[2..][..len]),
            Err(Malformed::Greeting),
            "{len}"
        );
    }
}
