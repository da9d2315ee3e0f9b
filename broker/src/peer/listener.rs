//! The serving side: accepts brokers of this cluster, runs the handlers, answers.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use model::BrokerId;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::connection::{self, Inbox, Outbox};
use super::frame::{Greeting, Header, Kind, VERSION};
use super::{Config, Handlers, Identity, Service};

/// Told who has connected.
pub(super) type Knock = Arc<dyn Fn(BrokerId) + Send + Sync>;

/// Accepts for as long as it is polled.
pub(super) async fn accept(
    listener: TcpListener,
    identity: Arc<Identity>,
    config: Arc<Config>,
    handlers: Arc<Handlers>,
    knock: Knock,
) {
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => {
                let serving = serve(
                    stream,
                    Arc::clone(&identity),
                    Arc::clone(&config),
                    Arc::clone(&handlers),
                    Arc::clone(&knock),
                );
                tokio::spawn(async move {
                    if let Err(error) = serving.await {
                        tracing::debug!(%remote, %error, "peer connection closed");
                    }
                });
            }
            Err(error) => {
                // Out of descriptors, most likely: give others time to close some.
                tracing::warn!(%error, "cannot accept a peer");
                tokio::time::sleep(config.heartbeat).await;
            }
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    identity: Arc<Identity>,
    config: Arc<Config>,
    handlers: Arc<Handlers>,
    knock: Knock,
) -> io::Result<()> {
    let theirs = connection::await_greeting(&mut stream).await?;
    let refusal = if theirs.cluster_id != identity.cluster_id {
        Some("it belongs to another cluster")
    } else if theirs.to != identity.broker {
        Some("it looks for another broker")
    } else if theirs.version != VERSION {
        Some("it speaks another version")
    } else {
        None
    };
    // Answered either way: the other side reports what it found here.
    let ours = Greeting {
        version: VERSION,
        from: identity.broker,
        to: theirs.from,
        incarnation: identity.incarnation,
        cluster_id: identity.cluster_id.clone(),
    };
    tokio::io::AsyncWriteExt::write_all(&mut stream, &ours.encode()).await?;
    if let Some(reason) = refusal {
        tracing::warn!(peer = %theirs.from, cluster = %theirs.cluster_id, reason, "peer refused");
        return Ok(());
    }
    knock(theirs.from);
    let (reader, writer) = stream.into_split();
    let outbox = Outbox::start(writer, config.queue_bytes_max);
    let mut inbox = Inbox::new(reader, config.frame_bytes_max);
    let calls = Arc::new(Semaphore::new(config.calls_max));
    loop {
        while let Some((header, payload)) = inbox.buffered()? {
            match header.kind {
                Kind::Call => {
                    let Ok(slot) = Arc::clone(&calls).acquire_owned().await else {
                        return Ok(());
                    };
                    let answering = answer(theirs.from, header, payload, &handlers, outbox.clone());
                    tokio::spawn(async move {
                        answering.await;
                        drop(slot);
                    });
                }
                Kind::Message => deliver(theirs.from, header.service, payload, &handlers),
                Kind::Ping => {
                    if outbox.put_sign(Kind::Pong).is_err() {
                        return Ok(());
                    }
                }
                Kind::Reply | Kind::Refused | Kind::Pong => {}
            }
        }
        inbox.fill().await?;
    }
}

/// Starts the handler at once, so that calls begin in order; the future waits for its answer.
fn answer(
    from: BrokerId,
    header: Header,
    request: Bytes,
    handlers: &Handlers,
    outbox: Outbox,
) -> impl Future<Output = ()> + Send + 'static {
    let started = call(handlers, from, header.service, request);
    async move {
        let (kind, payload) = match started {
            Some(reply) => match reply.await {
                Some(reply) => (Kind::Reply, reply),
                None => (Kind::Refused, Bytes::new()),
            },
            None => (Kind::Refused, Bytes::new()),
        };
        // The caller's connection may be gone.
        let _gone = outbox
            .put(kind, header.service, header.correlation, payload)
            .await;
    }
}

/// Runs a handler; `None` inside = it panicked, `None` outside = there is none or it panicked at once.
pub(super) fn call(
    handlers: &Handlers,
    from: BrokerId,
    service: u8,
    request: Bytes,
) -> Option<impl Future<Output = Option<Bytes>> + Send + 'static> {
    let handler = handlers.get(Service::from_byte(service)?)?;
    let future = std::panic::catch_unwind(AssertUnwindSafe(|| handler.call(from, request)))
        .inspect_err(|_| tracing::error!(peer = %from, service, "handler panicked"))
        .ok()?;
    Some(async move {
        AssertUnwindSafe(future)
            .catch_unwind()
            .await
            .inspect_err(|_| tracing::error!(peer = %from, service, "handler panicked"))
            .ok()
    })
}

/// Hands a one-way message over; whether anyone took it.
pub(super) fn deliver(from: BrokerId, service: u8, message: Bytes, handlers: &Handlers) {
    let Some(handler) = Service::from_byte(service).and_then(|s| handlers.get(s)) else {
        return;
    };
    if std::panic::catch_unwind(AssertUnwindSafe(|| handler.message(from, message))).is_err() {
        tracing::error!(peer = %from, service, "handler panicked");
    }
}
