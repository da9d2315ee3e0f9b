//! One client connection: one task that reads what the socket has, carries out all of it, and writes
//! all answers at once.
//!
//! What has to wait for a queue's host or the metadata group waits beside it ([`operation`]), so that one
//! channel never holds up another; an error that closes the connection waits for those before it, as in
//! RabbitMQ. Nothing is read while too much that the client published is under way,
//! while too much waits behind such methods, while it publishes and a broker is short of memory or disk,
//! or while too much output waits for a slow reader; nothing is taken from queues while output waits.

mod clock;
mod dispatch;
mod events;
mod handshake;
mod leaving;
mod operation;
mod pressure;
mod replies;
mod slow;
mod socket;
mod topology;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use amqp_wire::session::{Closed, Event as WireEvent, Session as Wire};
use amqp_wire::{Exception, ReplyCode};
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use machine::routing;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::Front;
use super::channel::Channel;
use super::direct_reply::{Inbox, Reply};
use super::metrics::Metrics;
use super::topology::Client;
use crate::net::Progress;
use crate::queue::{self, ChannelId, Events, Session};
use clock::Clock;
use events::Pending;
pub(super) use operation::Queued;
use operation::{Operation, Over, Waiting};
use slow::Contents;
use socket::{Read, Socket};

/// Output above which a connection stops reading and delivering until it has gone out.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// How long a client has to confirm a close, and how long one that closes, or has made an error, waits for
/// what it has under way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs one connection to its end.
pub(super) async fn run(
    stream: TcpStream,
    peer: SocketAddr,
    front: Arc<Front>,
    stop: CancellationToken,
) {
    let clock = Clock::start();
    let metrics = front.metrics.clone();
    let handshake = Box::pin(handshake::shake(
        Socket::new(stream),
        peer,
        front.clone(),
        &clock,
    ));
    let timeout = front.config.handshake_timeout;
    let opened = tokio::select! {
        opened = tokio::time::timeout(timeout, handshake) => opened,
        () = stop.cancelled() => return,
    };
    let opened = match opened {
        Ok(Ok(Some(opened))) => opened,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => {
            tracing::debug!(%peer, %error, "AMQP connection lost in its handshake");
            return;
        }
        Err(_elapsed) => {
            tracing::info!(%peer, ?timeout, "AMQP handshake took too long");
            return;
        }
    };
    metrics.connections_opened.inc();
    metrics.connections.inc();
    let (session, events) = front.queues.open();
    let contents = Contents::new(opened.client.front.contents.claim());
    let connection = Connection {
        wire: opened.wire,
        socket: opened.socket,
        contents,
        unread: Progress::default(),
        client: Arc::new(opened.client),
        session,
        routes: routing::Cache::default(),
        channels: HashMap::new(),
        numbers: HashMap::new(),
        pending: VecDeque::new(),
        replies: None,
        operations: FuturesUnordered::new(),
        declares: 0,
        waiting_bytes: 0,
        blocked: false,
        leaving: None,
        input_cut: false,
        metrics: metrics.clone(),
        clock,
        peer,
    };
    Box::pin(connection.run(events, stop)).await;
    metrics.connections.dec();
}

struct Connection {
    wire: Wire,
    socket: Socket,
    contents: Contents,
    /// How the client takes the output.
    unread: Progress,
    client: Arc<Client>,
    session: Session,
    routes: routing::Cache,
    channels: HashMap<u16, Channel>,
    /// Numbers of open channels, by the id under which queues know them.
    numbers: HashMap<ChannelId, u16>,
    /// What queues have said and is not in the output yet.
    pending: VecDeque<Pending>,
    /// Where direct replies wait; made with the first consumer of them.
    replies: Option<Arc<Inbox>>,
    /// One at most for a channel, and one for each channel that is leaving.
    operations: FuturesUnordered<Operation>,
    /// Operations that may make a queue of the connection's own.
    declares: usize,
    /// What waits behind operations, over all channels.
    waiting_bytes: usize,
    /// The client knows that it is blocked, or would if it wanted to.
    blocked: bool,
    /// The client has closed the connection.
    leaving: Option<Closed>,
    /// The input was left before its end, because too much output waited.
    input_cut: bool,
    metrics: Metrics,
    clock: Clock,
    peer: SocketAddr,
}

/// What woke the connection.
enum Woken {
    Readable(io::Result<()>),
    Writable(io::Result<()>),
    Queues(Vec<queue::Event>),
    Operation(Over),
    Replies(Vec<Reply>),
    /// There is room to read on.
    Capacity,
    Deadline,
    Stop,
}

// === impl Connection ===

impl Connection {
    async fn run(mut self, mut events: Events, stop: CancellationToken) {
        let reason = self.work(&mut events, &stop).await;
        match &reason {
            Ok(Closed::ByClient { .. }) => {}
            Ok(reason) => {
                self.metrics.connection_errors.inc();
                tracing::info!(peer = %self.peer, ?reason, "AMQP connection closed");
            }
            Err(error) => tracing::info!(peer = %self.peer, %error, "AMQP connection lost"),
        }
        self.leave(reason.is_ok()).await;
    }

    async fn work(&mut self, events: &mut Events, stop: &CancellationToken) -> io::Result<Closed> {
        let mut close_by = None;
        loop {
            if let Some(closed) = self.input() {
                return Ok(closed);
            }
            if self.operations.is_empty()
                && let Some(closed) = self.leaving.take()
            {
                return Ok(closed);
            }
            self.tell_pressure();
            self.session.flush();
            self.deliver_pending();
            self.session.flush();
            if self.operations.is_empty() && self.wire.is_failing() {
                if let Some(closed) = self.close() {
                    return Ok(closed);
                }
                close_by = None;
            }
            let before = self.wire.output().len();
            if self.socket.try_write(self.wire.output())? {
                self.wire.sent(self.clock.now_ms());
                let sent = before - self.wire.output().len();
                self.unread.moved(sent, tokio::time::Instant::now());
            }
            self.count_contents();
            if self.has_backlog() {
                // All output went out at once: there is room for more, and nothing else to wait for.
                tokio::task::yield_now().await;
                continue;
            }
            if self.is_ending() {
                close_by.get_or_insert_with(|| tokio::time::Instant::now() + CLOSE_TIMEOUT);
            }
            let deadline = self.wire.deadline_ms().map(|ms| self.clock.at(ms));
            let deadlines = [close_by, deadline, self.slow_deadline()];
            let deadline = deadlines.into_iter().flatten().min();
            match self.wait(events, stop, deadline).await {
                Woken::Readable(ready) => {
                    ready?;
                    match self.socket.try_read()? {
                        Read::Some => self.wire.received(self.clock.now_ms()),
                        Read::Nothing => {}
                        Read::End => {
                            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                        }
                    }
                    // What queues said meanwhile goes out with the answers.
                    if self.can_deliver() {
                        self.queue_events(events.try_recv());
                    }
                }
                Woken::Writable(ready) => ready?,
                Woken::Queues(happened) => self.queue_events(happened),
                Woken::Operation(over) => self.end(over),
                Woken::Replies(replies) => self.replies_arrived(replies),
                Woken::Capacity => {}
                Woken::Deadline => {
                    if let Some(error) = self.too_slow() {
                        return Err(error);
                    }
                    if !self.listens() {
                        // A client that is not listened to cannot show that it lives.
                        self.wire.received(self.clock.now_ms());
                    }
                    if let Some(WireEvent::Closed { reason, .. }) =
                        self.wire.tick(self.clock.now_ms())
                    {
                        return Ok(reason);
                    }
                    if close_by.is_some_and(|by| by <= tokio::time::Instant::now()) {
                        if self.wire.is_failing() {
                            if let Some(closed) = self.close() {
                                return Ok(closed);
                            }
                            close_by = None;
                            continue;
                        }
                        let late = io::Error::from(io::ErrorKind::TimedOut);
                        return self.leaving.take().ok_or(late);
                    }
                }
                Woken::Stop => {
                    let text = "broker forced connection closure with reason 'shutdown'";
                    let error = Exception::new(ReplyCode::ConnectionForced, text);
                    self.wire.fail(0, error);
                }
            }
        }
    }

    /// Is there something to do that only the bound of the output had put off?
    fn has_backlog(&mut self) -> bool {
        let put_off = self.input_cut || !self.pending.is_empty();
        put_off && self.wire.output().len() < OUTPUT_BYTES_MAX
    }

    /// Nothing waits for the socket, so queues may hand out more: asking them again states that
    /// everything they gave is written.
    fn can_deliver(&mut self) -> bool {
        self.pending.is_empty() && self.wire.output().is_empty()
    }

    /// Is the socket read, as far as that is not up to the client's own reading?
    fn listens(&self) -> bool {
        self.hears()
            && self.contents.has_room()
            && !self.waits_too_much()
            && self.session.capacity().now_or_never().is_some()
    }

    /// Is what the client says taken?
    fn hears(&self) -> bool {
        self.leaving.is_none() && !self.wire.is_failing()
    }

    /// Has either side closed, or is an error to be told?
    fn is_ending(&self) -> bool {
        !self.hears() || self.wire.is_closing()
    }

    /// Tells the error that closes the connection.
    fn close(&mut self) -> Option<Closed> {
        match self.wire.close() {
            Some(WireEvent::Closed { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    async fn wait(
        &mut self,
        events: &mut Events,
        stop: &CancellationToken,
        deadline: Option<tokio::time::Instant>,
    ) -> Woken {
        let output = !self.wire.output().is_empty();
        let deliver = self.can_deliver();
        let room = self.wire.output().len() < OUTPUT_BYTES_MAX;
        let capacity = self.session.capacity().now_or_never().is_some();
        let contents = self.contents.has_room();
        let read = room && capacity && contents && self.hears() && !self.waits_too_much();
        let ending = self.is_ending();
        let operations = !self.operations.is_empty();
        let replies = async {
            match &self.replies {
                Some(inbox) => inbox.take().await,
                None => std::future::pending().await,
            }
        };
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ready = self.socket.readable(), if read => Woken::Readable(ready),
            ready = self.socket.writable(), if output => Woken::Writable(ready),
            happened = events.recv(), if deliver => Woken::Queues(happened),
            Some(over) = self.operations.next(), if operations && room => Woken::Operation(over),
            arrived = replies, if deliver => Woken::Replies(arrived),
            () = self.session.capacity(), if !capacity => Woken::Capacity,
            () = self.contents.admit(), if !contents => Woken::Capacity,
            () = timer => Woken::Deadline,
            () = stop.cancelled(), if !ending => Woken::Stop,
        }
    }

    /// Carries out what is in the input, until it is used up or too much waits.
    fn input(&mut self) -> Option<Closed> {
        self.input_cut = false;
        loop {
            if self.wire.output().len() >= OUTPUT_BYTES_MAX {
                self.input_cut = true;
                return None;
            }
            if self.waits_too_much() {
                return None;
            }
            let before = self.socket.input.len();
            match self.wire.receive(&mut self.socket.input)? {
                WireEvent::ChannelOpened { channel } => {
                    let id = self.session.open_channel();
                    self.channels.insert(channel, Channel::new(id));
                    self.numbers.insert(id, channel);
                    self.metrics.channels.inc();
                }
                WireEvent::ChannelClose { channel } => match self.channels.get(&channel) {
                    Some(open) if open.queued.must_wait() => {
                        self.put_off(channel, Waiting::Close, 0);
                    }
                    _ => self.close_channel(channel),
                },
                WireEvent::ChannelError { channel, error } => match self.channels.get(&channel) {
                    Some(open) if open.queued.must_wait() => {
                        self.put_off(channel, Waiting::Error(error), 0);
                    }
                    _ => self.fail(channel, error),
                },
                WireEvent::ChannelClosed { channel } | WireEvent::ChannelFailed { channel, .. } => {
                    self.drop_channel(channel);
                }
                WireEvent::Publish {
                    channel,
                    publish,
                    content,
                } => self.take_publish(channel, publish, content),
                WireEvent::Method { channel, method } => {
                    let bytes = before - self.socket.input.len();
                    self.take_method(channel, method, bytes);
                }
                WireEvent::Close { code, text } => {
                    self.leaving = Some(Closed::ByClient { code, text });
                }
                WireEvent::Closed { reason, .. } => return Some(reason),
                WireEvent::Login(_) | WireEvent::Open { .. } | WireEvent::SecretUpdated { .. } => {}
            }
        }
    }

    /// An error of a channel, or on it: it does nothing more.
    fn fail(&mut self, number: u16, exception: Exception) {
        tracing::debug!(peer = %self.peer, channel = number, error = %exception, "AMQP error");
        match self.wire.fail(number, exception) {
            Some(WireEvent::ChannelFailed { channel, .. }) => {
                self.metrics.channel_errors.inc();
                self.drop_channel(channel);
            }
            _ => drop(self.drop_channel(number)),
        }
    }
}
