//! The way to the classic queues of another broker. When it does not answer, what was published to it
//! and not confirmed is refused: a nack says "unknown", and the publisher sends it again.

use std::collections::BTreeSet;
use std::sync::Arc;

use machine::metadata::image::QueueKind;
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};

use super::frame::Frame;
use super::{Remote, Sent, gather, respond};
use crate::peer::{self, Mesh, Service};
use crate::queue::links::{Links, unavailable};
use crate::queue::outbox::Outbox;
use crate::queue::protocol::{Op, Response, SessionKey};
use crate::queue::quorum::command::Batches;

/// Publishes sent and not answered, by session and number.
#[derive(Default)]
pub(super) struct Open(BTreeSet<(u64, u64)>);

impl Open {
    fn add(&mut self, batches: &Batches) {
        for (session, requests) in batches {
            for request in requests {
                if let Op::Publish { publish, .. } = &request.op {
                    self.0.insert((*session, *publish));
                }
            }
        }
    }

    pub(super) fn close(&mut self, session: u64, responses: &[Response]) {
        for response in responses {
            if let Response::Confirmed { publishes } | Response::Refused { publishes } = response {
                for publish in publishes {
                    self.0.remove(&(session, *publish));
                }
            }
        }
    }
}

pub(super) async fn run(
    remote: Remote,
    broker: BrokerId,
    mut waiting: mpsc::UnboundedReceiver<Sent>,
    resume: Arc<Notify>,
    open: Arc<Mutex<Open>>,
) {
    let links = remote.0.links.clone();
    loop {
        let mut batches: Batches = Vec::new();
        let first = tokio::select! {
            biased;
            () = resume.notified() => {
                // Confirms may be among what was lost.
                refuse_open(&links, &open);
                batches = resumes(&links, broker);
                None
            }
            batch = waiting.recv() => match batch {
                Some(batch) => Some(batch),
                None => return,
            },
        };
        let gathered = gather(first, &mut waiting);
        batches.extend(gathered.batches);
        if batches.is_empty() {
            continue;
        }
        open.lock().add(&batches);
        let frame = Frame::Classic(batches);
        let since = gathered.since.unwrap_or_else(Instant::now);
        if let Err(error) = call(&remote.0.mesh, broker, &frame, since).await {
            tracing::debug!(%broker, %error, "requests to a broker may be lost");
            if let Frame::Classic(batches) = frame {
                for (number, requests) in batches {
                    let key = SessionKey {
                        broker: links.broker(),
                        number,
                    };
                    let requests = requests.into_iter();
                    let calls = requests.filter(|r| !matches!(r.op, Op::Publish { .. }));
                    links.respond(key, unavailable(calls.collect()));
                }
            }
            refuse_open(&links, &open);
            if error == peer::Error::Timeout(broker) {
                // A peer that answers heartbeats goes on: it has to hear what it may have missed.
                resume.notify_one();
            }
        }
        drop(gathered.permits);
    }
}

/// The answer to a frame whose oldest batch was sent at `since`: that may have waited behind other frames,
/// and waits no longer than one call in all. What is late already is not sent.
pub(super) async fn call(
    mesh: &Mesh,
    broker: BrokerId,
    frame: &Frame,
    since: Instant,
) -> Result<(), peer::Error> {
    let late = Err(peer::Error::Timeout(broker));
    let left = mesh.call_timeout().saturating_sub(since.elapsed());
    if left.is_zero() {
        return late;
    }
    let answer = mesh.call(broker, Service::Queue, frame.encode());
    match timeout(left, answer).await {
        Ok(answer) => answer.map(drop),
        Err(_elapsed) => late,
    }
}

pub(super) fn refuse_open(links: &Links, open: &Mutex<Open>) {
    let open = std::mem::take(&mut open.lock().0);
    let mut outbox = Outbox::default();
    for (number, publish) in open {
        let session = SessionKey {
            broker: links.broker(),
            number,
        };
        outbox.refuse(session, publish);
    }
    respond(links, &mut outbox);
}

fn resumes(links: &Links, broker: BrokerId) -> Batches {
    let home = QueueKind::Classic { home: broker };
    let sessions = links.sessions();
    let batches = sessions.iter().map(|session| {
        let requests = session.resumes(|queue| queue.kind == home);
        (session.key().number, requests)
    });
    batches
        .filter(|(_, requests)| !requests.is_empty())
        .collect()
}

/// The home broker is gone: consumers of its queues are cancelled, as RabbitMQ does.
pub(super) fn lost(links: &Links, broker: BrokerId) {
    let home = QueueKind::Classic { home: broker };
    for session in links.sessions() {
        for request in session.resumes(|queue| queue.kind == home) {
            if let Op::Resume(attached, _) = request.op
                && !attached.holding
            {
                let cancelled = Response::Cancelled {
                    consumer: attached.consumer,
                    by_client: false,
                };
                links.respond(session.key(), vec![cancelled]);
            }
        }
    }
}
