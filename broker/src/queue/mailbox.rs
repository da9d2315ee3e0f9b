//! Where hosts put what a session has to hear. One lock and one wake-up per batch, not per message.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::budget::{Budget, Share};
use super::protocol::{Reply, Response};

/// Bounded by what the session asked for: confirms by its publishes in flight, deliveries by the
/// windows of its consumers. Deliveries count in the budget until they are written.
pub(crate) struct Mailbox {
    budget: Arc<Budget>,
    waiting: Mutex<Vec<Waiting>>,
    arrived: Notify,
    calls: Mutex<Calls>,
}

pub(crate) struct Waiting {
    pub(crate) response: Response,
    /// What its messages take, if it has any.
    pub(crate) share: Option<Arc<Share>>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    open: HashMap<u64, oneshot::Sender<Reply>>,
}

impl Mailbox {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self {
            budget,
            waiting: Mutex::default(),
            arrived: Notify::new(),
            calls: Mutex::default(),
        }
    }

    /// Replies of calls go straight to their callers; the rest waits for the events' reader.
    pub(crate) fn put(&self, responses: impl IntoIterator<Item = Response>) {
        let mut waiting = self.waiting.lock();
        for response in responses {
            match response {
                Response::Called { call, reply } => self.answer(call, reply),
                response => {
                    let share = self.share_of(&response);
                    waiting.push(Waiting { response, share });
                }
            }
        }
        if !waiting.is_empty() {
            drop(waiting);
            self.arrived.notify_one();
        }
    }

    fn share_of(&self, response: &Response) -> Option<Arc<Share>> {
        let Response::Deliver { deliveries, .. } = response else {
            return None;
        };
        let mut share = Share::of(&self.budget);
        share.set(deliveries.iter().map(|d| d.message.memory_bytes()).sum());
        Some(Arc::new(share))
    }

    /// Number for a new call and where its reply arrives.
    pub(crate) fn call(&self) -> (u64, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        let mut calls = self.calls.lock();
        calls.last += 1;
        let call = calls.last;
        calls.open.insert(call, sender);
        (call, receiver)
    }

    /// Nobody waits for that reply any more.
    pub(crate) fn forget(&self, call: u64) {
        self.calls.lock().open.remove(&call);
    }

    fn answer(&self, call: u64, reply: Reply) {
        if let Some(caller) = self.calls.lock().open.remove(&call) {
            // A caller that stopped waiting is a closed connection.
            drop(caller.send(reply));
        }
    }

    /// Everything that waits; waits for the first. Cancel-safe.
    pub(crate) async fn take(&self) -> Vec<Waiting> {
        loop {
            let waiting = std::mem::take(&mut *self.waiting.lock());
            if !waiting.is_empty() {
                return waiting;
            }
            self.arrived.notified().await;
        }
    }

    pub(crate) fn try_take(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.waiting.lock())
    }
}

#[cfg(test)]
mod tests;
