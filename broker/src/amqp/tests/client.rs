//! A client that says exactly what a test wants said.

use std::net::SocketAddr;

use amqp_wire::content::{self, Header};
use amqp_wire::frame::{self, Frame, Kind};
use amqp_wire::method::{Method, basic, channel, connection};
use amqp_wire::{Content, Properties};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(super) struct Client {
    stream: TcpStream,
    input: BytesMut,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        let mut client = Self::log_in(address, "guest", true).await;
        let Method::Connection(connection::Method::Tune(_)) = client.hear().await else {
            panic!("expected tune");
        };
        let tune_ok = connection::TuneOk {
            channel_max: 2047,
            frame_max: 131_072,
            heartbeat: 0,
        };
        client.say(0, tune_ok).await;
        let open = connection::Open {
            virtual_host: "/".into(),
            ..connection::Open::default()
        };
        client.say(0, open).await;
        client.hear().await;
        client.open(1).await;
        client
    }

    /// Up to the answer to start-ok.
    pub(super) async fn log_in(address: SocketAddr, password: &str, notified: bool) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut client = Self {
            stream,
            input: BytesMut::new(),
        };
        client.raw(&frame::PROTOCOL_HEADER).await;
        client.hear().await;
        let capabilities = [
            "authentication_failure_close",
            "consumer_cancel_notify",
            "connection.blocked",
        ]
        .map(|name| (name.into(), amqp_wire::Value::Bool(notified)));
        let capabilities = amqp_wire::Table(capabilities.to_vec());
        let start_ok = connection::StartOk {
            client_properties: amqp_wire::Table(vec![(
                "capabilities".into(),
                amqp_wire::Value::Table(capabilities),
            )]),
            mechanism: "PLAIN".into(),
            response: Bytes::from(format!("\0guest\0{password}")),
            locale: "en_US".into(),
        };
        client.say(0, start_ok).await;
        client
    }

    pub(super) async fn open(&mut self, number: u16) {
        self.say(number, channel::Open::default()).await;
        self.hear().await;
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(super) async fn say(&mut self, channel: u16, method: impl Into<Method>) {
        let mut out = BytesMut::new();
        method.into().write(&mut out, channel);
        self.raw(&out).await;
    }

    /// Says something on channel 1 and hears the answer.
    pub(super) async fn ask(&mut self, method: impl Into<Method>) -> Method {
        self.say(1, method).await;
        self.hear().await
    }

    pub(super) async fn publish(
        &mut self,
        publish: basic::Publish,
        properties: &Properties,
        body: &[u8],
    ) {
        let mut out = BytesMut::new();
        let properties = properties.to_bytes();
        content::write(&mut out, 1, 131_072, &publish, &properties, body);
        self.raw(&out).await;
    }

    /// The next frame; `None` at the end of the stream.
    pub(super) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = frame::split(&mut self.input, 1 << 20).unwrap() {
                return Some(frame);
            }
            if self.stream.read_buf(&mut self.input).await.unwrap() == 0 {
                return None;
            }
        }
    }

    pub(super) async fn hear(&mut self) -> Method {
        let frame = self.frame().await.unwrap();
        assert_eq!(frame.kind, Kind::Method);
        Method::parse(frame.payload).unwrap()
    }

    /// The content that follows a method.
    pub(super) async fn content(&mut self) -> Content {
        let header = Header::parse(self.frame().await.unwrap().payload).unwrap();
        let mut body = BytesMut::new();
        while (body.len() as u64) < header.body_size {
            body.extend_from_slice(&self.frame().await.unwrap().payload);
        }
        Content {
            properties: header.properties,
            body: body.freeze(),
        }
    }

    /// The next delivery and its body.
    pub(super) async fn delivery(&mut self) -> (basic::Deliver, Content) {
        match self.hear().await {
            Method::Basic(basic::Method::Deliver(deliver)) => (deliver, self.content().await),
            other => panic!("expected a delivery, got {other:?}"),
        }
    }
}
