//! A front on a loopback port over metadata in memory, and a client that speaks frames.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use kafka_wire::frame::{RequestHeader, parse_response_header};
use kafka_wire::{ApiKey, Message, Request, Str, Writer};
use machine::metadata::image::{Broker, Endpoint, Image, Listener};
use model::BrokerId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Front;
use crate::partition::Roster;
use crate::{Config, coordinator, metadata, net};

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) front: Arc<Front>,
}

/// One broker, number 1, alone in its cluster.
pub(super) async fn serve(settings: &str) -> Server {
    let base = "node.id=1\ncluster.id=test\nlisteners=KAFKA://127.0.0.1:0,PEER://127.0.0.1:0\n\
                log.dirs=/nonexistent\ncontroller.quorum.voters=1@127.0.0.1:1\n";
    let config = Config::parse(&format!("{base}{settings}"), &[]).unwrap();
    let listener = net::bind("127.0.0.1", 0).await.unwrap().remove(0);
    let address = listener.local_addr().unwrap();
    let metadata = metadata::Handle::in_memory(BrokerId(1), image(address.port()));
    let front = Front::new(
        Arc::new(config),
        metadata.clone(),
        Roster::default(),
        coordinator::testing::coordinators(metadata).await,
        CancellationToken::new(),
    );
    tokio::spawn(super::serve(listener, front.clone()));
    Server { address, front }
}

fn image(port: u16) -> Image {
    let mut image = Image::default();
    let broker = Broker {
        id: BrokerId(1),
        epoch: 1,
        incarnation: Uuid::nil(),
        rack: Some("a".into()),
        endpoints: vec![Endpoint {
            listener: Listener::Kafka,
            host: "127.0.0.1".to_owned(),
            port,
        }],
        fenced: false,
        in_controlled_shutdown: false,
        levels: machine::metadata::feature::Levels::BUILD,
    };
    image.brokers.insert(broker.id, Arc::new(broker));
    image
}

pub(super) struct Client(TcpStream);

impl Client {
    pub(super) async fn connect(server: &Server) -> Self {
        Self(TcpStream::connect(server.address).await.unwrap())
    }

    pub(super) async fn send<R: Request>(
        &mut self,
        version: i16,
        correlation_id: i32,
        request: &R,
    ) {
        self.send_bytes(&frame(R::KEY, version, correlation_id, |w| {
            request.encode(w, version);
        }))
        .await;
    }

    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Correlation id and body of the next response to a request of `key` and `version`.
    pub(super) async fn receive<M: Message>(&mut self, key: ApiKey, version: i16) -> (i32, M) {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).await.unwrap();
        let mut frame = BytesMut::zeroed(i32::from_be_bytes(length) as usize);
        self.0.read_exact(&mut frame).await.unwrap();
        let (id, mut body) = parse_response_header(frame.freeze(), key, version).unwrap();
        let message = M::decode(&mut body, version).unwrap();
        body.finish().unwrap();
        (id, message)
    }

    pub(super) async fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        self.send(version, 9, request).await;
        let (id, response) = self.receive(R::KEY, version).await;
        assert_eq!(id, 9);
        response
    }

    /// As [`Self::call`]; `None` when the broker closes the connection instead.
    pub(super) async fn try_call<R: Request>(
        &mut self,
        version: i16,
        request: &R,
    ) -> Option<R::Response> {
        let bytes = frame(R::KEY, version, 9, |w| request.encode(w, version));
        self.0.write_all(&bytes).await.ok()?;
        self.0.readable().await.ok()?;
        if self.0.peek(&mut [0]).await.unwrap_or_default() == 0 {
            return None;
        }
        Some(self.receive(R::KEY, version).await.1)
    }

    /// Waits until the broker closes the connection, which it must do without a reply.
    pub(super) async fn closed(&mut self) {
        assert_eq!(self.0.read(&mut [0]).await.unwrap_or_default(), 0);
    }
}

pub(super) fn frame(
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    body: impl FnOnce(&mut Writer),
) -> Bytes {
    let mut w = Writer::frame();
    let header = RequestHeader {
        key,
        version,
        correlation_id,
        client_id: Some(Str::from_static("test")),
    };
    header.encode(&mut w);
    body(&mut w);
    w.finish_frame().unwrap().concat().into()
}
