//! A client that sends one frame and reads one.

use bytes::{Bytes, BytesMut};
use kafka_wire::frame::{RequestHeader, parse_response_header};
use kafka_wire::messages::produce;
use kafka_wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, TopicProduceData,
};
use kafka_wire::{Message, Records, Request, Str, Writer};
use machine::metadata::image::Listener;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cluster::{Cluster, LONG};

/// Codes of a replica that is not open yet, or of a follower.
const NOT_LEADER: i16 = 6;

pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) async fn connect(cluster: &Cluster, broker: usize) -> Self {
        let address = cluster.address(broker, Listener::Kafka);
        Self(TcpStream::connect(address).await.unwrap())
    }

    /// As [`Self::connect`], to a broker that may be gone.
    pub(crate) async fn try_connect(address: &str) -> std::io::Result<Self> {
        TcpStream::connect(address).await.map(Self)
    }

    pub(crate) async fn send<R: Request>(&mut self, version: i16, request: &R) {
        self.try_send(version, request).await.unwrap();
    }

    /// As [`Self::send`]; an error when the broker has closed the connection.
    pub(crate) async fn try_send<R: Request>(
        &mut self,
        version: i16,
        request: &R,
    ) -> std::io::Result<()> {
        let mut w = Writer::frame();
        let header = RequestHeader {
            key: R::KEY,
            version,
            correlation_id: 7,
            client_id: Some(Str::from_static("it")),
        };
        header.encode(&mut w);
        request.encode(&mut w, version);
        let frame = w.finish_frame().unwrap().concat();
        self.0.write_all(&frame).await
    }

    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> R::Response {
        let received = timeout(LONG, self.try_receive::<R>(version)).await;
        received.unwrap().unwrap()
    }

    /// As [`Self::receive`]; an error when the broker has closed the connection.
    async fn try_receive<R: Request>(&mut self, version: i16) -> std::io::Result<R::Response> {
        let length = self.0.read_i32().await?;
        let mut frame = BytesMut::zeroed(usize::try_from(length).unwrap());
        self.0.read_exact(&mut frame).await?;
        let (id, mut body) = parse_response_header(frame.freeze(), R::KEY, version).unwrap();
        assert_eq!(id, 7);
        Ok(R::Response::decode(&mut body, version).unwrap())
    }

    /// As [`Self::call`]; an error when the broker has closed the connection.
    pub(crate) async fn try_call<R: Request>(
        &mut self,
        version: i16,
        request: &R,
    ) -> std::io::Result<R::Response> {
        self.try_send(version, request).await?;
        self.try_receive::<R>(version).await
    }

    pub(crate) async fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        self.send(version, request).await;
        self.receive::<R>(version).await
    }

    /// Waits until the broker closes the connection.
    pub(crate) async fn closed(&mut self) {
        let read = timeout(LONG, self.0.read(&mut [0])).await.unwrap();
        assert_eq!(read.unwrap_or_default(), 0);
    }

    /// Produces to partition 0 with acks=all, again while the replica is only being opened.
    pub(crate) async fn produce(
        &mut self,
        topic: &str,
        records: Bytes,
    ) -> PartitionProduceResponse {
        let request = produce(topic, -1, Some(records));
        loop {
            let mut response = self.call(9, &request).await;
            let partition = response.responses.remove(0).partition_responses.remove(0);
            if partition.error_code != NOT_LEADER {
                return partition;
            }
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn produce(topic: &str, acks: i16, records: Option<Bytes>) -> produce::Request {
    produce::Request {
        acks,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData {
            name: Str::from(topic),
            partition_data: vec![PartitionProduceData {
                index: 0,
                records: records.map(Records::from),
            }],
            ..TopicProduceData::default()
        }],
        ..produce::Request::default()
    }
}
