//! Where hosts put what a session has to hear. One lock and one wake-up per batch, not per message.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::protocol::{Reply, Response};

/// Bounded by what the session asked for: confirms by its publishes in flight, deliveries by the
/// windows of its consumers.
#[derive(Default)]
pub(crate) struct Mailbox {
    waiting: Mutex<Vec<Response>>,
    arrived: Notify,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    open: HashMap<u64, oneshot::Sender<Reply>>,
}

impl Mailbox {
    /// Replies of calls go straight to their callers; the rest waits for the events' reader.
    pub(crate) fn put(&self, responses: impl IntoIterator<Item = Response>) {
        let mut waiting = self.waiting.lock();
        for response in responses {
            match response {
                Response::Called { call, reply } => self.answer(call, reply),
                other => waiting.push(other),
            }
        }
        if !waiting.is_empty() {
            drop(waiting);
            self.arrived.notify_one();
        }
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
    pub(crate) async fn take(&self) -> Vec<Response> {
        loop {
            let waiting = std::mem::take(&mut *self.waiting.lock());
            if !waiting.is_empty() {
                return waiting;
            }
            self.arrived.notified().await;
        }
    }

    pub(crate) fn try_take(&self) -> Vec<Response> {
        std::mem::take(&mut *self.waiting.lock())
    }
}
