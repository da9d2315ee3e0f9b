//! What a session hears, and what it has to say about having heard it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Consumer, Event, Shared, delivery};
use crate::queue::budget::Share;
use crate::queue::links::{Batch, Host, Links};
use crate::queue::mailbox::Waiting;
use crate::queue::protocol::{Delivered, Op, Outcome, Request, Response};

/// The hearing half.
pub struct Events {
    shared: Arc<Shared>,
    links: Arc<Links>,
    /// What the front was given last and is now on its socket.
    unwritten: BTreeMap<u32, Unwritten>,
}

#[derive(Default)]
struct Unwritten {
    positions: Vec<u64>,
    count: u32,
}

impl Events {
    pub(super) fn new(shared: Arc<Shared>, links: Arc<Links>) -> Self {
        Self {
            shared,
            links,
            unwritten: BTreeMap::new(),
        }
    }

    /// What has happened since the last call, in order; waits for the first event. Calling it again
    /// states that everything given before is on the socket: that opens the windows of consumers and
    /// settles what `no_ack` consumers got. Cancel-safe.
    pub async fn recv(&mut self) -> Vec<Event> {
        self.written();
        loop {
            let responses = self.shared.mailbox.take().await;
            let events = self.translate(responses);
            if !events.is_empty() {
                return events;
            }
        }
    }

    /// As [`Self::recv`] without waiting.
    pub fn try_recv(&mut self) -> Vec<Event> {
        self.written();
        let responses = self.shared.mailbox.try_take();
        self.translate(responses)
    }

    /// States that everything given so far is on the socket.
    pub fn written(&mut self) {
        let mut batches: Vec<(Host, Vec<Request>)> = Vec::new();
        for (consumer, unwritten) in std::mem::take(&mut self.unwritten) {
            let (queue, op) = if unwritten.positions.is_empty() {
                let consumers = self.shared.consumers.lock();
                let queue = consumers.get(&consumer).map(|c| c.queue.clone());
                let count = unwritten.count;
                (queue, Op::Written { consumer, count })
            } else {
                let queue = self.shared.settled(consumer, &unwritten.positions);
                let op = Op::Settle {
                    consumer,
                    positions: unwritten.positions,
                    outcome: Outcome::Ack,
                };
                (queue, op)
            };
            let Some(queue) = queue else { continue };
            let host = self.links.host(&queue);
            let request = Request {
                queue: queue.id,
                op,
            };
            match batches.iter_mut().find(|(of, _)| *of == host) {
                Some((_, requests)) => requests.push(request),
                None => batches.push((host, vec![request])),
            }
        }
        for (host, requests) in batches {
            let permit = self.shared.inflight.take(0);
            let session = self.shared.key;
            self.links.send(
                host,
                Batch {
                    session,
                    requests,
                    permit,
                },
            );
        }
    }

    fn translate(&mut self, responses: Vec<Waiting>) -> Vec<Event> {
        let mut events = Vec::new();
        for Waiting { response, share } in responses {
            match response {
                Response::Confirmed { publishes } => {
                    self.shared
                        .publishes
                        .lock()
                        .close(&publishes, true, &mut events);
                }
                Response::Refused { publishes } => {
                    self.shared
                        .publishes
                        .lock()
                        .close(&publishes, false, &mut events);
                }
                Response::Deliver {
                    consumer,
                    deliveries,
                } => events.extend(self.deliver(consumer, deliveries, share.as_ref())),
                Response::Cancelled {
                    consumer,
                    by_client,
                } => events.extend(self.shared.cancelled(consumer, by_client)),
                // Taken out by the mailbox already.
                Response::Called { .. } => {}
            }
        }
        events
    }

    fn deliver(
        &mut self,
        consumer: u32,
        deliveries: Vec<Delivered>,
        share: Option<&Arc<Share>>,
    ) -> Option<Event> {
        let positions = deliveries.iter().map(|d| d.position);
        let served = self.shared.delivered(consumer, positions)?;
        let unwritten = self.unwritten.entry(consumer).or_default();
        unwritten.count += u32::try_from(deliveries.len()).unwrap_or(u32::MAX);
        if served.no_ack {
            let positions = deliveries.iter().map(|d| d.position);
            unwritten.positions.extend(positions);
        }
        let deliveries = deliveries.into_iter();
        Some(Event::Delivered {
            channel: served.channel,
            consumer: Consumer(consumer),
            deliveries: deliveries
                .map(|delivered| delivery(Consumer(consumer), delivered, share.cloned()))
                .collect(),
        })
    }
}
