//! Our side of the way to one peer: keeps a connection open, sends calls and messages, matches
//! replies, and tells from the signs of life whether the peer answers.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use model::BrokerId;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use uuid::Uuid;

use super::connection::{self, Inbox, Outbox};
use super::frame::{Greeting, Kind, VERSION};
use super::{Address, Config, Error, Identity, Service};

/// Waits between attempts to connect, doubling from the first to the second.
const RECONNECT_AFTER: (Duration, Duration) =
    (Duration::from_millis(10), Duration::from_millis(320));

/// Told of each change in whether the peer answers.
pub(super) type Report = Box<dyn Fn(bool) + Send + Sync>;

pub(super) struct Link {
    to: BrokerId,
    config: Arc<Config>,
    connection: Mutex<Option<Connection>>,
    /// The peer has just connected to us: it is there.
    knocked: Notify,
    /// Of the process that answered last.
    incarnation: Mutex<Option<Uuid>>,
    next_correlation: AtomicU64,
}

/// Who waits for the reply to which correlation id; `None` when the connection has ended, so that
/// nobody begins to wait who would not be told.
type Calls = Option<HashMap<u64, oneshot::Sender<Result<Bytes, Error>>>>;

#[derive(Clone)]
struct Connection {
    outbox: Outbox,
    calls: Arc<Mutex<Calls>>,
}

impl Link {
    pub(super) fn new(to: BrokerId, config: Arc<Config>) -> Self {
        Self {
            to,
            config,
            connection: Mutex::new(None),
            knocked: Notify::new(),
            incarnation: Mutex::new(None),
            next_correlation: AtomicU64::new(1),
        }
    }

    pub(super) async fn call(&self, service: Service, request: Bytes) -> Result<Bytes, Error> {
        let connection = self.current()?;
        let correlation = self.next_correlation.fetch_add(1, Ordering::Relaxed);
        let answered = connection
            .expect(correlation)
            .ok_or(Error::Unreachable(self.to))?;
        let pending = Pending {
            connection: &connection,
            correlation,
        };
        let exchange = async {
            connection
                .outbox
                .put(Kind::Call, service as u8, correlation, request)
                .await
                .map_err(|_| Error::Unreachable(self.to))?;
            answered.await.unwrap_or(Err(Error::Unreachable(self.to)))
        };
        let outcome = timeout(self.config.call_timeout, exchange)
            .await
            .unwrap_or(Err(Error::Timeout(self.to)));
        drop(pending);
        outcome
    }

    pub(super) fn send(&self, service: Service, message: Bytes) -> Result<(), Error> {
        self.current()?
            .outbox
            .try_put(Kind::Message, service as u8, 0, message)
            .map_err(|rejected| {
                if rejected.full {
                    Error::Refused(self.to)
                } else {
                    Error::Unreachable(self.to)
                }
            })
    }

    /// Ends a pause before the next attempt to connect.
    pub(super) fn knock(&self) {
        self.knocked.notify_one();
    }

    pub(super) fn incarnation(&self) -> Option<Uuid> {
        *self.incarnation.lock()
    }

    fn current(&self) -> Result<Connection, Error> {
        self.connection
            .lock()
            .clone()
            .ok_or(Error::Unreachable(self.to))
    }

    /// Connects, serves and reconnects for as long as it is polled.
    pub(super) async fn run(
        self: Arc<Self>,
        identity: Arc<Identity>,
        mut address: watch::Receiver<Address>,
        report: Report,
    ) {
        let mut pause = RECONNECT_AFTER.0;
        loop {
            let target = address.borrow_and_update().clone();
            match self.open(&identity, &target).await {
                Ok((inbox, connection)) => {
                    tracing::debug!(peer = %self.to, "connected");
                    pause = RECONNECT_AFTER.0;
                    *self.connection.lock() = Some(connection.clone());
                    let closing = Closing {
                        link: &self,
                        connection: &connection,
                    };
                    report(true);
                    let moved = async {
                        // An address that no longer changes must not end the connection.
                        if address.changed().await.is_err() {
                            std::future::pending::<()>().await;
                        }
                    };
                    let ended = tokio::select! {
                        ended = self.receive(inbox, &connection) => ended,
                        () = moved => Ok(()),
                    };
                    drop(closing);
                    report(false);
                    if let Err(error) = ended {
                        tracing::info!(peer = %self.to, %error, "connection lost");
                    }
                }
                Err(error) => {
                    tracing::debug!(peer = %self.to, host = %target.host, port = target.port, %error, "cannot connect");
                    report(false);
                }
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(RECONNECT_AFTER.1),
                () = self.knocked.notified() => pause = RECONNECT_AFTER.0,
            }
        }
    }

    async fn open(&self, identity: &Identity, target: &Address) -> io::Result<(Inbox, Connection)> {
        let connect = TcpStream::connect((target.host.as_str(), target.port));
        let mut stream = timeout(self.config.suspect_after, connect)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let theirs = connection::greet(
            &mut stream,
            &Greeting {
                version: VERSION,
                from: identity.broker,
                to: self.to,
                incarnation: identity.incarnation,
                cluster_id: identity.cluster_id.clone(),
            },
        )
        .await?;
        if theirs.cluster_id != identity.cluster_id || theirs.from != self.to {
            return Err(io::Error::other(format!(
                "broker {} of cluster {} answers there, not broker {} of cluster {}",
                theirs.from, theirs.cluster_id, self.to, identity.cluster_id
            )));
        }
        *self.incarnation.lock() = Some(theirs.incarnation);
        let (reader, writer) = stream.into_split();
        let connection = Connection {
            outbox: Outbox::start(writer, self.config.queue_bytes_max),
            calls: Arc::new(Mutex::new(Some(HashMap::new()))),
        };
        Ok((Inbox::new(reader, self.config.frame_bytes_max), connection))
    }

    /// Matches replies and beats until the connection ends or the peer is silent for too long.
    async fn receive(&self, mut inbox: Inbox, connection: &Connection) -> io::Result<()> {
        let mut beat = interval(self.config.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let silent_max = self.config.silent_beats_max();
        let mut silent = 0;
        loop {
            while let Some((header, payload)) = inbox.buffered()? {
                let outcome = match header.kind {
                    Kind::Reply => Ok(payload),
                    Kind::Refused => Err(Error::Refused(self.to)),
                    Kind::Call | Kind::Message | Kind::Ping | Kind::Pong => continue,
                };
                let waiting = connection.forget(header.correlation);
                if let Some(reply) = waiting {
                    // The caller may have given up.
                    let _gone = reply.send(outcome);
                }
            }
            tokio::select! {
                // What has come is looked at before anybody is held dead: this broker may have stood still.
                biased;
                filled = inbox.fill() => {
                    filled?;
                    silent = 0;
                }
                _ = beat.tick() => {
                    if silent == silent_max {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, "no sign of life"));
                    }
                    silent += 1;
                    if connection.outbox.put_sign(Kind::Ping).is_err() {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                }
            }
        }
    }
}

impl Connection {
    /// Where the reply will come; `None` when the connection has ended.
    fn expect(&self, correlation: u64) -> Option<oneshot::Receiver<Result<Bytes, Error>>> {
        let (reply, answered) = oneshot::channel();
        self.calls.lock().as_mut()?.insert(correlation, reply);
        Some(answered)
    }

    fn forget(&self, correlation: u64) -> Option<oneshot::Sender<Result<Bytes, Error>>> {
        self.calls.lock().as_mut()?.remove(&correlation)
    }
}

/// Forgets a call whose caller is gone, so that lost replies cost no memory.
struct Pending<'a> {
    connection: &'a Connection,
    correlation: u64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.connection.forget(self.correlation);
    }
}

/// Fails what waits on a connection when it ends, also when nobody polls the link any more.
struct Closing<'a> {
    link: &'a Link,
    connection: &'a Connection,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        *self.link.connection.lock() = None;
        for (_, reply) in self.connection.calls.lock().take().unwrap_or_default() {
            let _gone = reply.send(Err(Error::Unreachable(self.link.to)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn call_that_meets_the_end_of_its_connection_does_not_wait_for_a_reply() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
        let connection = Connection {
            outbox: Outbox::start(stream.unwrap().into_split().1, 1024),
            calls: Arc::new(Mutex::new(Some(HashMap::new()))),
        };
        let link = Link::new(BrokerId(2), Arc::new(Config::default()));
        let before = connection.expect(1).unwrap();
        drop(Closing {
            link: &link,
            connection: &connection,
        });
        assert_eq!(before.await.unwrap(), Err(Error::Unreachable(BrokerId(2))));
        assert!(connection.expect(2).is_none());
    }
}
