//! One client connection: one task that reads what the socket has, carries out all of it, and writes
//! all answers at once.
//!
//! Nothing is read while too much that the client published is under way, or while too much output
//! waits for a slow reader; nothing is taken from queues while output waits.

mod clock;
mod dispatch;
mod handshake;
mod socket;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use amqp_wire::method::basic;
use amqp_wire::session::{Closed, Event as WireEvent, Session as Wire};
use amqp_wire::{Exception, ReplyCode};
use futures::FutureExt as _;
use machine::routing;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::Front;
use super::channel::{Answer, Channel, Mode};
use super::confirms::Told;
use super::reply_code::Error;
use super::topology::{self, Client};
use super::transaction::{self, Committed};
use super::{consume, metrics::Metrics};
use crate::queue::{self, ChannelId, Confirm, Consumer, Delivery, Events, Session};
use clock::Clock;
use socket::{Read, Socket};

/// Output above which a connection stops reading and delivering until it has gone out.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// How long a client has to confirm a close.
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
    let connection = Connection {
        wire: opened.wire,
        socket: opened.socket,
        client: opened.client,
        session,
        routes: routing::Cache::default(),
        channels: HashMap::new(),
        numbers: HashMap::new(),
        pending: VecDeque::new(),
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
    client: Client,
    session: Session,
    routes: routing::Cache,
    channels: HashMap<u16, Channel>,
    /// Numbers of open channels, by the id under which queues know them.
    numbers: HashMap<ChannelId, u16>,
    /// What queues have said and is not in the output yet.
    pending: VecDeque<Pending>,
    /// The input was left before its end, because too much output waited.
    input_cut: bool,
    metrics: Metrics,
    clock: Clock,
    peer: SocketAddr,
}

enum Pending {
    Confirmed(ChannelId, Vec<Confirm>),
    Delivery(ChannelId, Consumer, Delivery),
    Cancelled {
        channel: ChannelId,
        consumer: Consumer,
        by_client: bool,
    },
}

/// What woke the connection.
enum Woken {
    Readable(io::Result<()>),
    Writable(io::Result<()>),
    Queues(Vec<queue::Event>),
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
        for number in self.channels.keys().copied().collect::<Vec<_>>() {
            self.drop_channel(number);
        }
        self.session.flush();
        let Self {
            socket,
            mut wire,
            client,
            session,
            ..
        } = self;
        // Consumers leave before the queues that only this connection could use go away.
        drop(session);
        for name in topology::queue::exclusive_queues(&client) {
            if let Err(error) = topology::queue::delete_now(&client, &name).await {
                tracing::warn!(queue = %name, %error, "cannot delete an exclusive queue");
            }
        }
        if reason.is_ok() {
            socket.finish(wire.output().split()).await;
        }
    }

    async fn work(&mut self, events: &mut Events, stop: &CancellationToken) -> io::Result<Closed> {
        let mut close_by = None;
        loop {
            if let Some(closed) = self.input().await {
                return Ok(closed);
            }
            self.session.flush();
            self.deliver_pending();
            self.session.flush();
            if self.socket.try_write(self.wire.output())? {
                self.wire.sent(self.clock.now_ms());
            }
            if self.has_backlog() {
                // All output went out at once: there is room for more, and nothing else to wait for.
                tokio::task::yield_now().await;
                continue;
            }
            if self.wire.is_closing() {
                close_by.get_or_insert_with(|| tokio::time::Instant::now() + CLOSE_TIMEOUT);
            }
            let deadline = self.wire.deadline_ms().map(|ms| self.clock.at(ms));
            let deadline = [close_by, deadline].into_iter().flatten().min();
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
                Woken::Capacity => {}
                Woken::Deadline => {
                    if let Some(WireEvent::Closed { reason, .. }) =
                        self.wire.tick(self.clock.now_ms())
                    {
                        return Ok(reason);
                    }
                    if close_by.is_some_and(|by| by <= tokio::time::Instant::now()) {
                        return Err(io::Error::from(io::ErrorKind::TimedOut));
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
        let stopping = self.wire.is_closing();
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ready = self.socket.readable(), if room && capacity => Woken::Readable(ready),
            ready = self.socket.writable(), if output => Woken::Writable(ready),
            happened = events.recv(), if deliver => Woken::Queues(happened),
            () = self.session.capacity(), if !capacity => Woken::Capacity,
            () = timer => Woken::Deadline,
            () = stop.cancelled(), if !stopping => Woken::Stop,
        }
    }

    /// Carries out what is in the input, until it is used up or too much output waits.
    async fn input(&mut self) -> Option<Closed> {
        self.input_cut = false;
        loop {
            if self.wire.output().len() >= OUTPUT_BYTES_MAX {
                self.input_cut = true;
                return None;
            }
            match self.wire.receive(&mut self.socket.input)? {
                WireEvent::ChannelOpened { channel } => {
                    let id = self.session.open_channel();
                    self.channels.insert(channel, Channel::new(id));
                    self.numbers.insert(id, channel);
                    self.metrics.channels.inc();
                }
                WireEvent::ChannelClosed { channel } | WireEvent::ChannelFailed { channel, .. } => {
                    self.drop_channel(channel);
                }
                WireEvent::Publish {
                    channel,
                    publish,
                    content,
                } => {
                    if let Err(error) = self.publish(channel, &publish, content) {
                        let exception = error.exception();
                        self.fail(channel, exception.caused_by_ids(basic::CLASS_ID, 40));
                    }
                }
                WireEvent::Method { channel, method } => {
                    if let Err(error) = self.method(channel, &method).await {
                        self.fail(channel, error.exception().caused_by(&method));
                    }
                }
                WireEvent::Closed { reason, .. } => return Some(reason),
                WireEvent::Login(_) | WireEvent::Open { .. } | WireEvent::SecretUpdated { .. } => {}
            }
        }
    }

    fn fail(&mut self, number: u16, exception: Exception) {
        tracing::debug!(peer = %self.peer, channel = number, error = %exception, "AMQP error");
        if let Some(WireEvent::ChannelFailed { channel, .. }) = self.wire.fail(number, exception) {
            self.metrics.channel_errors.inc();
            self.drop_channel(channel);
        }
    }

    /// The channel's consumers leave, and what it holds goes back to the queues.
    fn drop_channel(&mut self, number: u16) {
        let Some(channel) = self.channels.remove(&number) else {
            return;
        };
        self.numbers.remove(&channel.id);
        self.session.close_channel(channel.id);
        self.metrics.channels.dec();
        let consumers = i64::try_from(channel.consumers.len()).unwrap_or_default();
        self.metrics.consumers.dec_by(consumers);
    }

    fn queue_events(&mut self, events: Vec<queue::Event>) {
        for event in events {
            match event {
                queue::Event::Confirmed { channel, confirms } => {
                    self.pending
                        .push_back(Pending::Confirmed(channel, confirms));
                }
                queue::Event::Delivered {
                    channel,
                    consumer,
                    deliveries,
                } => {
                    let deliveries = deliveries.into_iter();
                    self.pending.extend(
                        deliveries.map(|delivery| Pending::Delivery(channel, consumer, delivery)),
                    );
                }
                queue::Event::Cancelled {
                    channel,
                    consumer,
                    by_client,
                } => self.pending.push_back(Pending::Cancelled {
                    channel,
                    consumer,
                    by_client,
                }),
            }
        }
    }

    /// Moves what queues said into the output, up to its bound.
    fn deliver_pending(&mut self) {
        while self.wire.output().len() < OUTPUT_BYTES_MAX {
            let Some(pending) = self.pending.pop_front() else {
                return;
            };
            match pending {
                Pending::Confirmed(channel, confirms) => self.confirmed(channel, &confirms),
                Pending::Delivery(channel, consumer, delivery) => {
                    self.deliver(channel, consumer, delivery);
                }
                Pending::Cancelled {
                    channel,
                    consumer,
                    by_client,
                } => self.cancelled(channel, consumer, by_client),
            }
        }
    }

    fn deliver(&mut self, id: ChannelId, consumer: Consumer, delivery: Delivery) {
        let Some((&number, channel)) = self.numbers.get(&id).and_then(|number| {
            let channel = self.channels.get_mut(number)?;
            Some((number, channel))
        }) else {
            return;
        };
        let metrics = &self.metrics;
        let sent = consume::deliver(&mut self.wire, number, channel, consumer, delivery, metrics);
        if let Err(error) = sent {
            self.fail(number, Error::from(error).exception());
        }
    }

    fn confirmed(&mut self, id: ChannelId, confirms: &[Confirm]) {
        let Some(&number) = self.numbers.get(&id) else {
            return;
        };
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        match &mut channel.mode {
            Mode::Plain => {}
            Mode::Confirm(open) => {
                for told in open.settle(confirms) {
                    match told {
                        Told::Ack(ack) => self.wire.send(number, &ack),
                        Told::Nack(nack) => self.wire.send(number, &nack),
                    }
                }
                let refused = confirms.iter().filter(|confirm| !confirm.ack).count() as u64;
                self.metrics.messages_refused.inc_by(refused);
                self.metrics
                    .messages_confirmed
                    .inc_by(confirms.len() as u64 - refused);
            }
            Mode::Transaction(transaction) => {
                let answered = confirms
                    .iter()
                    .filter_map(|confirm| transaction.answered(confirm.seq, confirm.ack));
                if let Some(committed) = answered.last() {
                    self.committed(number, committed);
                }
            }
        }
    }

    /// Ends a commit: its settlements are carried out and the client is told.
    fn committed(&mut self, number: u16, committed: Committed) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let Mode::Transaction(transaction) = &mut channel.mode else {
            return;
        };
        consume::settle_committed(&mut self.session, transaction, &self.metrics);
        match committed {
            Committed::Done => {
                let ok = amqp_wire::method::tx::CommitOk {};
                self.wire.send(number, &ok);
                consume::deliver_held(&mut self.wire, number, channel, &self.metrics);
            }
            Committed::Partly => {
                let error = Error::from(transaction::Error::Partial).exception();
                self.fail(number, error.caused_by_ids(90, 20));
            }
        }
    }

    fn cancelled(&mut self, id: ChannelId, consumer: Consumer, by_client: bool) {
        let Some(&number) = self.numbers.get(&id) else {
            return;
        };
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let Some(known) = channel.consumers.remove(&consumer) else {
            return;
        };
        consume::give_back_held(&mut self.session, channel, consumer);
        self.metrics.consumers.dec();
        let consumer_tag = amqp_wire::ShortStr::from(&*known.tag);
        if by_client {
            if known.cancel == Some(Answer::Wanted) {
                self.wire.send(number, &basic::CancelOk { consumer_tag });
            }
        } else if self.wire.client_can("consumer_cancel_notify") {
            let cancel = basic::Cancel {
                consumer_tag,
                no_wait: true,
            };
            self.wire.send(number, &cancel);
        }
    }
}
