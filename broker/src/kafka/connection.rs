//! One client connection: requests in, replies out in the order of the requests.
//!
//! A client that is over a quota gets its reply at once and is not read for the time that the reply names
//! (KIP-219).
//!
//! Produce requests are served while earlier ones wait for their replicas, in order. Any other
//! request waits until all before it are answered and holds back those behind it, which is what a
//! Kafka broker does with every request: clients count on it.

mod frames;
mod outbox;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use kafka_wire::frame::RequestHeader;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use self::frames::{Frame, FrameError, Frames};
use self::outbox::Outbox;
use super::Front;
use super::dispatch::{self, Client, Outcome, Ready, Served};

/// Reply bytes that may wait for the socket before another request is begun.
const OUTBOX_BYTES_MAX: usize = 1 << 20;

/// Why a connection ended before the client closed it.
#[derive(Debug, thiserror::Error)]
enum Closed {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Refused(#[from] dispatch::Refused),
    #[error("socket: {0}")]
    Socket(#[from] std::io::Error),
    #[error("the request leaves no way to answer")]
    Unanswerable,
    #[error("idle")]
    Idle,
    #[error("the client does not take its replies, and other clients wait for the memory")]
    Unread,
}

/// Serves one client until either side is done.
pub(super) async fn serve(mut stream: TcpStream, peer: SocketAddr, front: Arc<Front>) {
    let address = peer.ip();
    if let Some(wait) = front.quotas.connection(&front.metadata.image(), address) {
        // Closed late, so that who comes again at once comes no faster.
        tracing::debug!(%peer, "connection is one too many by quota");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = front.stop.cancelled() => {}
        }
        return;
    }
    // Replies are written whole, so waiting for more to send only adds delay.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "connection lost at once");
        return;
    }
    match converse(&mut stream, peer, &front).await {
        Ok(()) => tracing::trace!(%peer, "connection closed by the client"),
        Err(reason) => tracing::debug!(%peer, %reason, "connection closed"),
    }
}

async fn converse(
    stream: &mut TcpStream,
    peer: SocketAddr,
    front: &Arc<Front>,
) -> Result<(), Closed> {
    let (reading, mut writing) = stream.split();
    let limits = front.limits.load_full();
    let mut frames = Frames::new(reading, &front.requests, &limits);
    let mut pipeline = Pipeline::new(front.clone(), peer);
    let mut outbox = Outbox::new(&front.replies);
    let mut draining = false;
    let mut muted_until = None;
    let mut last_active = Instant::now();
    let idle = sleep_until(last_active + limits.idle);
    tokio::pin!(idle);
    let mut unread = tokio::time::interval(limits.full_stall);
    unread.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let may_read = !draining
            && muted_until.is_none()
            && pipeline.takes_more()
            && outbox.len() < OUTBOX_BYTES_MAX;
        if !may_read {
            frames.rest();
        }
        tokio::select! {
            // Replies first: whatever is ready by now leaves in the same write.
            biased;
            served = pipeline.next(), if !pipeline.is_empty() => {
                if !served.mute.is_zero() {
                    // A time beyond what the clock can name is for ever.
                    let until = Instant::now().checked_add(served.mute);
                    muted_until = muted_until.max(until.or_else(|| Some(Instant::now() + limits.idle)));
                }
                match served.outcome {
                    Outcome::Reply(pieces, claim) => outbox.push(pieces, claim),
                    Outcome::Last(pieces) => {
                        outbox.push(pieces, None);
                        draining = true;
                    }
                    Outcome::Silent => {}
                    Outcome::Close => return Err(Closed::Unanswerable),
                }
            },
            written = outbox.write(&mut writing), if !outbox.is_empty() => written?,
            () = heard_again(muted_until), if muted_until.is_some() => muted_until = None,
            frame = frames.next(), if may_read => match frame? {
                Some(frame) => pipeline.take(frame)?,
                None => return Ok(()),
            },
            () = front.stop.cancelled(), if !draining => draining = true,
            _ = unread.tick(), if !outbox.is_empty() => {
                // What it has begun to send holds memory too while it does not read.
                let in_the_way =
                    front.replies.is_full() || (front.requests.is_full() && frames.holds_room());
                if in_the_way && outbox.is_unread_for(limits.full_stall) {
                    return Err(Closed::Unread);
                }
                continue;
            }
            () = &mut idle => {
                let due = last_active + limits.idle;
                if due <= Instant::now() && pipeline.is_empty() {
                    return Err(Closed::Idle);
                }
                idle.as_mut().reset(due.max(Instant::now() + limits.stall));
                continue;
            }
        }
        last_active = Instant::now();
        if draining && pipeline.is_empty() && outbox.is_empty() {
            return Ok(());
        }
    }
}

/// Waits for the end of a pause.
async fn heard_again(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// The requests of one connection that are being served, and the one that waits for them.
struct Pipeline {
    front: Arc<Front>,
    client: Client,
    serving: FuturesOrdered<BoxFuture<'static, (Served, usize)>>,
    /// Everything in `serving` may run beside the next produce request.
    concurrent: bool,
    waiting: Option<(Ready, Frame)>,
    inflight_bytes: usize,
}

impl Pipeline {
    fn new(front: Arc<Front>, peer: SocketAddr) -> Self {
        Self {
            front,
            client: Client {
                peer,
                request_bytes: 0,
            },
            serving: FuturesOrdered::new(),
            concurrent: true,
            waiting: None,
            inflight_bytes: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.serving.is_empty()
    }

    fn takes_more(&self) -> bool {
        let limits = self.front.limits.load();
        self.waiting.is_none()
            && self.serving.len() < limits.connection_requests_max
            && (self.inflight_bytes < limits.connection_inflight_bytes_max || self.is_empty())
    }

    /// Begins a request, or keeps it until those before it are answered.
    fn take(&mut self, frame: Frame) -> Result<(), Closed> {
        let (header, body) =
            RequestHeader::parse(frame.bytes.clone()).map_err(dispatch::Refused::Header)?;
        let ready = dispatch::decode(header, body)?;
        if self.is_empty() || (self.concurrent && ready.is_concurrent()) {
            self.begin(ready, frame);
        } else {
            self.waiting = Some((ready, frame));
        }
        Ok(())
    }

    fn begin(&mut self, ready: Ready, frame: Frame) {
        self.concurrent = ready.is_concurrent();
        let len = frame.bytes.len();
        self.inflight_bytes += len;
        let client = Client {
            request_bytes: len,
            ..self.client.clone()
        };
        // The request's bytes count until its reply exists, unless others decide when that is.
        let frame = (!ready.is_parked()).then_some(frame);
        let serving = ready.serve(self.front.clone(), client);
        self.serving.push_back(
            async move {
                let served = serving.await;
                drop(frame);
                (served, len)
            }
            .boxed(),
        );
    }

    /// The next outcome in order; waits for ever when nothing is served. Safe to cancel.
    async fn next(&mut self) -> Served {
        let Some((served, len)) = self.serving.next().await else {
            return std::future::pending().await;
        };
        self.inflight_bytes -= len;
        if self.serving.is_empty()
            && let Some((ready, frame)) = self.waiting.take()
        {
            self.begin(ready, frame);
        }
        served
    }
}

#[cfg(test)]
mod tests;
