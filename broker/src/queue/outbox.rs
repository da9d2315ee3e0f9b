//! What a host has to say to sessions after one wake-up, gathered so that each session hears it at once.

use std::collections::HashMap;

use machine::queue::ConsumerKey;

use super::host;
use super::protocol::{Delivered, Reply, Response, SessionKey};

/// Responses of one wake-up, by session, neighbours merged.
#[derive(Default)]
pub(crate) struct Outbox {
    by_session: HashMap<SessionKey, Vec<Response>>,
}

impl Outbox {
    pub(crate) fn confirm(&mut self, session: SessionKey, publish: u64) {
        let responses = self.by_session.entry(session).or_default();
        match responses.last_mut() {
            Some(Response::Confirmed { publishes }) => publishes.push(publish),
            _ => responses.push(Response::Confirmed {
                publishes: vec![publish],
            }),
        }
    }

    pub(crate) fn refuse(&mut self, session: SessionKey, publish: u64) {
        let responses = self.by_session.entry(session).or_default();
        match responses.last_mut() {
            Some(Response::Refused { publishes }) => publishes.push(publish),
            _ => responses.push(Response::Refused {
                publishes: vec![publish],
            }),
        }
    }

    pub(crate) fn deliver(&mut self, key: ConsumerKey, delivered: Delivered) {
        let responses = self.by_session.entry(host::session_of(key)).or_default();
        match responses.last_mut() {
            Some(Response::Deliver {
                consumer,
                deliveries,
            }) if *consumer == key.number => deliveries.push(delivered),
            _ => responses.push(Response::Deliver {
                consumer: key.number,
                deliveries: vec![delivered],
            }),
        }
    }

    pub(crate) fn push(&mut self, session: SessionKey, response: Response) {
        self.by_session.entry(session).or_default().push(response);
    }

    pub(crate) fn call(&mut self, session: SessionKey, call: u64, reply: Reply) {
        self.push(session, Response::Called { call, reply });
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (SessionKey, Vec<Response>)> + '_ {
        self.by_session.drain()
    }
}
