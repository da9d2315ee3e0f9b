//! The way to the classic queues of another broker. When it does not answer, what was published to it
//! and not confirmed is refused: a nack says "unknown", and the publisher sends it again.

use std::collections::BTreeSet;
use std::sync::Arc;

use machine::metadata::image::QueueKind;
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::frame::Frame;
use super::{Remote, gather, respond};
use crate::peer::Service;
use crate::queue::links::{Batch, Links, unavailable};
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
    mut waiting: mpsc::UnboundedReceiver<Batch>,
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
        let (gathered, permits) = gather(first, &mut waiting);
        batches.extend(gathered);
        if batches.is_empty() {
            continue;
        }
        open.lock().add(&batches);
        let frame = Frame::Classic(batches);
        let sent = remote.0.mesh.call(broker, Service::Queue, frame.encode());
        if let Err(error) = sent.await {
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
        }
        drop(permits);
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
